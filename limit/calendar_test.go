package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func utc(year int, month time.Month, day, hour int) time.Time {
	return time.Date(year, month, day, hour, 0, 0, 0, time.UTC)
}

func TestWindowsOfTheCalendar(t *testing.T) {
	month := func(anchor int) Policy { return monthly(1, anchor) }
	weekly := Policy{Period: week, Calendar: Week}
	for _, c := range []struct {
		name       string
		policy     Policy
		at         time.Time
		start, end time.Time
	}{
		{"a month of 31 days", month(0), utc(2026, 3, 14, 12), utc(2026, 3, 1, 0), utc(2026, 4, 1, 0)},
		{"its last nanosecond", month(1), utc(2026, 4, 1, 0).Add(-1), utc(2026, 3, 1, 0), utc(2026, 4, 1, 0)},
		{"its first", month(1), utc(2026, 3, 1, 0), utc(2026, 3, 1, 0), utc(2026, 4, 1, 0)},
		{"a month of 30 days", month(1), utc(2026, 4, 30, 23), utc(2026, 4, 1, 0), utc(2026, 5, 1, 0)},
		{"February", month(1), utc(2026, 2, 28, 23), utc(2026, 2, 1, 0), utc(2026, 3, 1, 0)},
		{"a leap day", month(1), utc(2028, 2, 29, 23), utc(2028, 2, 1, 0), utc(2028, 3, 1, 0)},
		{"a century that is no leap year", month(1), utc(2100, 2, 28, 23), utc(2100, 2, 1, 0), utc(2100, 3, 1, 0)},
		{"the end of a year", month(1), utc(2026, 12, 31, 23), utc(2026, 12, 1, 0), utc(2027, 1, 1, 0)},
		{"before the anchor day", month(15), utc(2026, 3, 14, 23), utc(2026, 2, 15, 0), utc(2026, 3, 15, 0)},
		{"on the anchor day", month(15), utc(2026, 3, 15, 0), utc(2026, 3, 15, 0), utc(2026, 4, 15, 0)},
		{"an anchored month over the year's end", month(28), utc(2027, 1, 5, 0), utc(2026, 12, 28, 0), utc(2027, 1, 28, 0)},
		{"an anchored month over a leap day", month(28), utc(2028, 2, 29, 0), utc(2028, 2, 28, 0), utc(2028, 3, 28, 0)},
		{"a Monday", weekly, utc(2026, 3, 9, 0), utc(2026, 3, 9, 0), utc(2026, 3, 16, 0)},
		{"a Sunday", weekly, utc(2026, 3, 15, 23), utc(2026, 3, 9, 0), utc(2026, 3, 16, 0)},
		{"a week over the year's end", weekly, utc(2027, 1, 1, 0), utc(2026, 12, 28, 0), utc(2027, 1, 4, 0)},
		{"seven days by the clock begin on a Thursday", Policy{Period: week}, utc(2026, 3, 14, 0), utc(2026, 3, 12, 0), utc(2026, 3, 19, 0)},
		{"a day", Policy{Period: day}, utc(2028, 2, 29, 13), utc(2028, 2, 29, 0), utc(2028, 3, 1, 0)},
		{"an hour", Policy{Period: time.Hour}, utc(2026, 3, 29, 2).Add(time.Minute), utc(2026, 3, 29, 2), utc(2026, 3, 29, 3)},
	} {
		v := windowsOf(c.policy)
		w := v.number(c.at.UnixNano())
		start, end := time.Unix(0, v.start(w)).UTC(), time.Unix(0, v.start(w+1)).UTC()
		if !start.Equal(c.start) || !end.Equal(c.end) {
			t.Errorf("%s, %s: from %s until %s", c.name, c.at, start, end)
		}
		if v.number(v.start(w)) != w || v.number(v.start(w+1)) != w+1 || v.number(v.start(w)-1) != w-1 {
			t.Errorf("%s: window %d is not between the one before and the next", c.name, w)
		}
	}
}

// All windows follow each other without a gap, over all the time there is a clock for.
func TestWindowsAreWithoutGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicyOf(t, "fixed_window")
		v := windowsOf(p)
		at := rapid.Int64Range(0, utc(2250, 1, 1, 0).UnixNano()).Draw(t, "at")
		w := v.number(at)
		start, end := v.start(w), v.start(w+1)
		if start > at || at >= end {
			t.Fatalf("%d is not in window %d, from %d until %d", at, w, start, end)
		}
		if length := time.Duration(end - start); length > p.Period || length < shortest(p) {
			t.Fatalf("window %d lasts %s", w, length)
		}
		first, last := time.Unix(0, start).UTC(), time.Unix(0, end).UTC()
		switch p.Calendar {
		case Week:
			if first.Weekday() != time.Monday || last.Sub(first) != week || first.Truncate(day) != first {
				t.Fatalf("a week from %s until %s", first, last)
			}
		case Month:
			if first.AddDate(0, 1, 0) != last || first.Day() != max(1, p.AnchorDay) || first.Truncate(day) != first {
				t.Fatalf("a month from %s until %s", first, last)
			}
		default:
			if start%int64(p.Period) != 0 {
				t.Fatalf("a window of %s from %d", p.Period, start)
			}
		}
		if known, ok := windowsOfShape(v.shape()); !ok || known != v {
			t.Fatalf("shape %d is %+v, want %+v", v.shape(), known, v)
		}
	})
}

func TestNumberAndCountFitIntoARegister(t *testing.T) {
	last := time.Unix(0, 1<<63-1)
	for _, c := range []struct {
		policy Policy
		most   int64
	}{
		{fixed(1, time.Millisecond), 1<<18 - 1},
		{fixed(1, time.Second), 1<<28 - 1},
		{fixed(1, time.Minute), maxQuota},
		{fixed(1, maxPeriod), maxQuota},
		{monthly(1, 28), maxQuota},
	} {
		v := windowsOf(c.policy)
		if v.stride-1 != c.most {
			t.Errorf("%s: up to %d in a window, want %d", c.policy, v.stride-1, c.most)
		}
		if largest := (v.number(last.UnixNano()) + 1) * v.stride; largest <= 0 || largest >= 1<<62+v.stride {
			t.Errorf("%s: the last register is %d", c.policy, largest)
		}
	}
}
