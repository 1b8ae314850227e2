package limit

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// A Calendar names a period whose windows the calendar gives, not the clock.
type Calendar string

const (
	// Week begins on Monday, in UTC.
	Week Calendar = "week"
	// Month begins on the first, or on the policy's anchor day, in UTC.
	Month Calendar = "month"
)

const (
	day = 24 * time.Hour
	// The longest windows there are of a calendar: what a policy has as its period.
	week         = 7 * day
	longestMonth = 31 * day
	// maxAnchor is the last day that every month has.
	maxAnchor = 28
)

// Longest returns the length of the longest window of the calendar.
func (c Calendar) Longest() time.Duration {
	switch c {
	case Week:
		return week
	case Month:
		return longestMonth
	}
	return 0
}

// period says the period of a policy as an operator would: "month from day 15", "1m0s".
func (p Policy) period() string {
	switch {
	case p.Calendar == "":
		return p.Period.String()
	case p.AnchorDay > 1:
		return fmt.Sprintf("%s from day %d", p.Calendar, p.AnchorDay)
	}
	return string(p.Calendar)
}

// checkCalendar reports what of a policy's calendar cannot be; follows tells whether
// its algorithm can have one.
func (p Policy) checkCalendar(follows bool) error {
	longest := p.Calendar.Longest()
	switch {
	case p.Calendar != "" && longest == 0:
		return &FieldError{"period", fmt.Sprintf("%q is no period of the calendar; use %s or %s", p.Calendar, Week, Month)}
	case p.Calendar != "" && !follows:
		return &FieldError{"period", fmt.Sprintf("a %s of the calendar is for fixed_window and sliding_window_counter; write a duration such as %dh", p.Calendar, longest/time.Hour)}
	case p.Calendar != "" && p.Period != longest:
		return &FieldError{"period", fmt.Sprintf("of a %s is %s, not %s", p.Calendar, longest, p.Period)}
	case p.AnchorDay < 0 || p.AnchorDay > maxAnchor:
		return &FieldError{"anchor_day", fmt.Sprintf("must be 1 to %d, days that every month has, not %d", maxAnchor, p.AnchorDay)}
	case p.AnchorDay > 1 && p.Calendar != Month:
		return &FieldError{"anchor_day", fmt.Sprintf("only the period %s begins on a day of its own: remove it", Month)}
	}
	return nil
}

// windows numbers the windows of one period, one after the other and without gaps:
// window w lasts from start(w) until start(w+1). Those of a length of time begin at
// its multiples since 1970, so that those of a minute, an hour and a day begin as the
// clock's in UTC do.
type windows struct {
	length int64 // ns; the longest, where they differ
	// monthDay is the day on which months begin; 0 for windows that are all of one length.
	monthDay int64
	// offset is how long before 1970 window 0 began.
	offset int64
	// stride is above any count within a window: a power of two, such that the number of
	// any window that a clock can show times stride is below 2⁶².
	stride int64
}

// mondayOffset is from Monday, 29 December 1969, until 1970.
const mondayOffset = int64(3 * day)

func windowsOf(p Policy) windows {
	v := windows{length: int64(p.Period)}
	switch p.Calendar {
	case Month:
		v.monthDay = int64(max(1, p.AnchorDay))
	case Week:
		v.offset = mondayOffset
	}
	const all, most = 62, 31
	v.stride = 1 << min(most, all-bits.Len64(uint64(v.number(math.MaxInt64-v.offset))))
	return v
}

// number returns the window that a time in nanoseconds since 1970 lies in.
func (v windows) number(at int64) int64 {
	if v.monthDay == 0 {
		return floorDiv(at+v.offset, v.length)
	}
	year, month, dayOfMonth := time.Unix(0, at).UTC().Date()
	w := int64(year-1970)*12 + int64(month) - 1
	if int64(dayOfMonth) < v.monthDay {
		w--
	}
	return w
}

// start returns when a window begins.
func (v windows) start(w int64) int64 {
	if v.monthDay == 0 {
		return w*v.length - v.offset
	}
	return time.Date(1970, time.Month(1+w), int(v.monthDay), 0, 0, 0, 0, time.UTC).UnixNano()
}

// shape is what is stored beside counts, to tell what windows they are of: the length,
// and for the calendar's a number that is no length.
func (v windows) shape() int64 {
	switch {
	case v.monthDay > 0:
		return -v.monthDay
	case v.offset > 0:
		return weekShape
	}
	return v.length
}

const weekShape = -100

// windowsOfShape is the inverse of shape. ok is false for one that is not known.
func windowsOfShape(shape int64) (v windows, ok bool) {
	switch {
	case shape > 0:
		return windowsOf(Policy{Period: time.Duration(shape)}), true
	case shape == weekShape:
		return windowsOf(Policy{Calendar: Week, Period: week}), true
	case -maxAnchor <= shape && shape < 0:
		return windowsOf(Policy{Calendar: Month, Period: longestMonth, AnchorDay: int(-shape)}), true
	}
	return windows{}, false
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }
