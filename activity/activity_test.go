package activity

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestActivityIsTheLastHour(t *testing.T) {
	a := New()
	start := time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)
	add := func(after time.Duration, allowed bool) { a.Add(start.Add(after), "acme", "hourly", allowed) }
	add(0, true)
	add(9*time.Second, false)
	add(25*time.Second, true)
	a.Add(start, "globex", "hourly", true)
	check := func(after time.Duration, steps int, allowed, refused []uint32) {
		t.Helper()
		got := a.Recent("acme", start.Add(after), steps)
		if len(got) != 1 || got[0].Limit != "hourly" || !slices.Equal(got[0].Allowed, allowed) || !slices.Equal(got[0].Refused, refused) {
			t.Fatalf("%+v; want %v, %v", got, allowed, refused)
		}
	}
	check(29*time.Second, 4, []uint32{0, 1, 0, 1}, []uint32{0, 1, 0, 0})
	check(time.Hour, 2, []uint32{0, 0}, []uint32{0, 0})
	add(time.Hour+5*time.Second, true) // takes the place of the first
	check(time.Hour+5*time.Second, 3, []uint32{0, 0, 1}, []uint32{0, 0, 0})
	check(5*time.Second, 1, []uint32{0}, []uint32{0}) // a clock set back finds nothing of another time
	add(0, true)                                      // too late to be counted
	check(time.Hour+5*time.Second, 3, []uint32{0, 0, 1}, []uint32{0, 0, 0})
}

func TestTheMemoryIsBounded(t *testing.T) {
	a := New()
	for i := range 2 * maxSeries {
		a.Add(time.Now(), fmt.Sprint("tenant", i), "hourly", true)
	}
	if n := a.series.Len(); n != maxSeries {
		t.Errorf("%d series are remembered", n)
	}
}
