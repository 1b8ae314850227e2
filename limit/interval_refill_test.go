package limit

import (
	"testing"
	"time"
)

func azuga(quota int64, period time.Duration) Policy {
	return Policy{Algorithm: "interval_refill", Quota: quota, Period: period}
}

func TestIntervalRefill(t *testing.T) {
	b := timelineOf(t, azuga(10, time.Minute))
	b.leaves(at(0), 10, 0)
	b.admitted(at(7*time.Second), 4, 6, time.Minute) // the interval begins here
	b.admitted(at(50*time.Second), 6, 0, 17*time.Second)
	b.refused(at(60*time.Second), 1, 7*time.Second) // the clock's minute means nothing
	b.refused(at(67*time.Second-1), 10, 1)
	b.admitted(at(67*time.Second), 10, 0, time.Minute) // whole again at once
	b.refused(at(68*time.Second), 1, 59*time.Second)
	b.never(at(68*time.Second), 11)
	b.leaves(at(time.Hour), 10, 0)
	b.admitted(at(time.Hour), 1, 9, time.Minute) // after a rest an interval of its own
	b.refused(at(time.Hour+59*time.Second), 10, time.Second)
}

func TestIntervalRefillTakesItsNewPeriodAtOnce(t *testing.T) {
	hourly := timelineOf(t, azuga(10, time.Hour))
	hourly.admitted(at(0), 10, 0, time.Hour)
	perSecond := &timeline{t: t, limit: mustNew(t, azuga(10, time.Second)), state: hourly.state}
	perSecond.refused(at(ms(999)), 1, ms(1))
	perSecond.admitted(at(ms(1000)), 5, 5, time.Second)
	back := &timeline{t: t, limit: hourly.limit, state: perSecond.state}
	back.admitted(at(ms(2500)), 5, 0, time.Hour-ms(1500)) // the five are of this interval
	lower := &timeline{t: t, limit: mustNew(t, azuga(3, time.Hour)), state: back.state}
	lower.refused(at(ms(2600)), 1, time.Hour-ms(1600))
}

// A clock that is behind does not begin an interval that began already, and one that
// lasts for it may be over for another.
func TestIntervalRefillFollowsTheClockThatIsAhead(t *testing.T) {
	b := timelineOf(t, azuga(3, time.Second))
	b.admitted(at(ms(150)), 3, 0, ms(1000))
	b.refused(at(0), 1, ms(1150))
	b.admitted(at(ms(1150)), 2, 1, ms(1000)) // its clock is ahead
	b.admitted(at(ms(1000)), 1, 0, ms(1150))
	b.refused(at(ms(1001)), 1, ms(1149))
}

func TestIntervalRefillGivesBackInTheSameIntervalOnly(t *testing.T) {
	b := timelineOf(t, azuga(5, time.Second))
	b.apply(at(0), 3)
	charge := Charge{Cost: 3, Mark: b.limit.Mark(Ask{Now: at(0), Cost: 3}, b.state)}
	b.apply(at(ms(100)), 2)
	w, ok := b.limit.Settle(charge, 0, b.state, at(ms(999)))
	if !ok || !b.state.Holds(w.Guards) {
		t.Fatalf("nothing to give back: %+v", w)
	}
	after := b.state.After(w.Changes)
	if n, _ := after.Register(given); n != 2 {
		t.Errorf("%d are left, want 2", n)
	}
	if after.Holds(w.Guards) {
		t.Error("given back twice")
	}
	if _, ok := b.limit.Settle(charge, 0, b.state, at(ms(1000))); ok {
		t.Error("given back to an interval that is over")
	}
	b.apply(at(ms(1000)), 5)
	if b.state.Holds(w.Guards) {
		t.Error("given back to another interval")
	}
}

func TestIntervalRefillGuardsItsEnds(t *testing.T) {
	l := mustNew(t, azuga(10, time.Minute))
	began := func(d time.Duration, n int64) State {
		return State{Registers: []Register{{start, at(d).UnixNano()}, {given, n}}}
	}
	anew := l.Propose(State{}, Ask{Now: at(0), Cost: 4})
	goesOn := l.Propose(l.Assume(ongoing, at(0)), Ask{Now: at(0), Cost: 4})
	for _, c := range []struct {
		state        State
		anew, goesOn bool
	}{
		{State{}, true, false},
		{began(-time.Minute, 0), true, false},
		{began(1-time.Minute, 6), false, true},
		{began(1-time.Minute, 7), false, false},
		{began(ms(75), 6), false, true},
	} {
		if got := c.state.Holds(anew.Guards); got != c.anew {
			t.Errorf("an interval begins after %+v: %t", c.state, got)
		}
		if got := c.state.Holds(goesOn.Guards); got != c.goesOn {
			t.Errorf("an interval goes on after %+v: %t", c.state, got)
		}
	}
}
