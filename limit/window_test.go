package limit

import (
	"testing"
	"time"
)

func fixed(quota int64, period time.Duration) Policy {
	return Policy{Algorithm: "fixed_window", Quota: quota, Period: period}
}

func monthly(quota int64, anchor int) Policy {
	return Policy{Algorithm: "fixed_window", Quota: quota, Period: Month.Longest(), Calendar: Month, AnchorDay: anchor}
}

func TestFixedWindow(t *testing.T) {
	w := timelineOf(t, fixed(5, time.Second))
	w.leaves(at(ms(250)), 5, 0)
	w.admitted(at(ms(250)), 2, 3, ms(750))
	w.refused(at(ms(300)), 4, ms(700))
	w.admitted(at(ms(900)), 3, 0, ms(100))
	w.refused(at(ms(999)), 1, ms(1))
	w.never(at(ms(999)), 6)
	w.admitted(at(ms(1000)), 5, 0, ms(1000)) // the next window, at once and whole
	w.refused(at(ms(1999)+999999*time.Nanosecond), 1, 1)
	w.leaves(at(ms(2000)), 5, 0)
}

func TestFixedWindowTakesOneWriteInAWindowNewOrBegunOrTheNext(t *testing.T) {
	w := timelineOf(t, fixed(5, time.Second))
	first := w.limit.Propose(State{}, Ask{Now: at(ms(2000)), Cost: 1})
	for name, s := range map[string]State{
		"never used":        {},
		"begun":             w.state.After(w.limit.Propose(State{}, Ask{Now: at(ms(2000)), Cost: 4}).Changes),
		"the window before": w.state.After(w.limit.Propose(State{}, Ask{Now: at(ms(1000)), Cost: 5}).Changes),
		"three windows ago": w.state.After(w.limit.Propose(State{}, Ask{Now: at(ms(-1000)), Cost: 5}).Changes),
	} {
		if !s.Holds(first.Guards) {
			t.Errorf("%s: %+v does not apply to %+v", name, first, s)
		}
	}
}

func TestFixedWindowReplacesWhatAGapLeft(t *testing.T) {
	w := timelineOf(t, fixed(5, time.Second))
	w.admitted(at(0), 5, 0, ms(1000))
	blind := w.limit.Propose(State{}, Ask{Now: at(ms(2000)), Cost: 1})
	if w.state.Holds(blind.Guards) {
		t.Fatal("counted on from a window long past")
	}
	p := w.apply(at(ms(2000)), 1)
	if p.Branch != leftover {
		t.Fatalf("branch %d", p.Branch)
	}
	empty := State{}.After(w.limit.Propose(State{}, Ask{Now: at(ms(2000)), Cost: 1}).Changes).After([]Change{{Kind: Add, Register: "r0", Value: -1}})
	if empty.Holds(p.Guards) {
		t.Fatalf("%+v replaces the window itself, all of which was given back: %+v", p, empty)
	}
	w.leaves(at(ms(2000)), 4, ms(1000))
	w.admitted(at(ms(2500)), 4, 0, ms(500))
	w.refused(at(ms(2500)), 1, ms(500))
}

// What is seen tells for sure that no other write is right only as long as nobody can
// have left something in the register since.
func TestWindowIsSureOfWhatIsRecent(t *testing.T) {
	l := mustNew(t, fixed(5, time.Second))
	s := State{}.After(l.Propose(State{}, Ask{Now: at(0), Cost: 1}).Changes)
	for seconds, want := range []bool{true, true, false, false} { // 3: somebody may have used 1
		if p := l.Propose(s, Ask{Now: at(ms(1000 * seconds)), Cost: 1}); p.Sure != want {
			t.Errorf("%d s later: sure is %t", seconds, p.Sure)
		}
	}
}

// A clock ahead has begun the next window. Whoever comes late counts there.
func TestFixedWindowFollowsTheClockThatIsAhead(t *testing.T) {
	for _, ahead := range []time.Duration{ms(100), ms(1100), ms(2100)} {
		w := timelineOf(t, fixed(3, time.Second))
		w.admitted(at(ms(950)), 3, 0, ms(50))
		w.apply(at(ms(950)+ahead), 2)
		for _, blind := range []State{{}, {Registers: []Register{{"r0", 0}}}} {
			if p := w.limit.Propose(blind, Ask{Now: at(ms(960)), Cost: 1}); w.state.Holds(p.Guards) {
				t.Fatalf("%s ahead: the window that was used up began anew: %+v to %+v", ahead, p, w.state)
			}
		}
		end := (ahead + ms(950)).Truncate(time.Second) + time.Second
		w.admitted(at(ms(960)), 1, 0, end-ms(960))
		w.refused(at(ms(970)), 1, end-ms(970))
		w.admitted(at(end), 1, 2, time.Second)
	}
}

func TestFixedWindowFollowsItsQuota(t *testing.T) {
	ten := timelineOf(t, fixed(10, time.Second))
	ten.admitted(at(0), 7, 3, time.Second)
	five := &timeline{t: t, limit: mustNew(t, fixed(5, time.Second)), state: ten.state}
	five.refused(at(ms(100)), 1, ms(900))
	eight := &timeline{t: t, limit: mustNew(t, fixed(8, time.Second)), state: five.state}
	eight.admitted(at(ms(100)), 1, 0, ms(900))
}

func TestFixedWindowKeepsWhatWasUsedWhenThePeriodChanges(t *testing.T) {
	hourly := timelineOf(t, fixed(10, time.Hour))
	hourly.admitted(at(ms(300)), 10, 0, time.Hour-ms(300))
	hourly.refused(at(ms(400)), 1, time.Hour-ms(400))

	perSecond := &timeline{t: t, limit: mustNew(t, fixed(10, time.Second)), state: hourly.state}
	perSecond.leaves(at(ms(400)), 0, ms(600))
	perSecond.refused(at(ms(400)), 1, ms(600))        // the hour's ten may have been in this second
	perSecond.admitted(at(ms(1000)), 10, 0, ms(1000)) // not in the next

	back := &timeline{t: t, limit: hourly.limit, state: perSecond.state}
	back.refused(at(ms(1500)), 1, time.Hour-ms(1500)) // the second's ten were in this hour
	back.admitted(at(time.Hour), 1, 9, time.Hour)
}

func TestFixedWindowForgetsWindowsOverWhenThePeriodChanges(t *testing.T) {
	perSecond := timelineOf(t, fixed(10, time.Second))
	perSecond.admitted(at(-ms(500)), 10, 0, ms(500))
	hourly := &timeline{t: t, limit: mustNew(t, fixed(10, time.Hour)), state: perSecond.state}
	hourly.admitted(at(ms(1)), 4, 6, time.Hour-ms(1))
	raised := &timeline{t: t, limit: mustNew(t, fixed(100, 90*time.Minute)), state: hourly.state}
	raised.admitted(at(ms(2)), 6, 90, 90*time.Minute-ms(2)) // 12:00 is a multiple of 90 minutes
}

func TestConversionLosesToWhoeverCountedMeanwhile(t *testing.T) {
	old := timelineOf(t, fixed(10, time.Minute))
	old.admitted(at(0), 4, 6, time.Minute)
	seen := old.state
	perHour := mustNew(t, fixed(10, time.Hour)).Propose(seen, Ask{Now: at(ms(10)), Cost: 1})
	old.apply(at(time.Minute), 1) // in the next minute, in another register
	if old.state.Holds(perHour.Guards) {
		t.Fatalf("%+v forgets what was counted meanwhile in %+v", perHour, old.state)
	}
}

func TestMonthsEndWithTheCalendar(t *testing.T) {
	w := timelineOf(t, monthly(100, 0))
	feb := time.Date(2028, time.February, 28, 23, 0, 0, 0, time.UTC)
	w.apply(feb, 100)
	w.refused(feb, 1, 25*time.Hour) // a leap year
	w.admitted(feb.Add(25*time.Hour), 100, 0, 31*day)

	billing := &timeline{t: t, limit: mustNew(t, monthly(100, 15)), state: w.state}
	billing.refused(time.Date(2028, time.March, 2, 0, 0, 0, 0, time.UTC), 1, 13*day)
	billing.admitted(time.Date(2028, time.March, 15, 0, 0, 0, 0, time.UTC), 1, 99, 31*day)
}

func TestCountOfAShapeThatIsNotKnownIsUsedUp(t *testing.T) {
	w := timelineOf(t, fixed(10, time.Second))
	w.state = State{Registers: []Register{{"r0", 12345}, {shape, -77}}}
	w.refused(at(ms(100)), 1, ms(900))
	w.admitted(at(ms(1000)), 10, 0, ms(1000))
}

func TestWindowGivesBackInTheSameWindowOnly(t *testing.T) {
	w := timelineOf(t, fixed(5, time.Second))
	w.apply(at(ms(100)), 3)
	charge := Charge{Cost: 3, Mark: w.limit.Mark(Ask{Now: at(ms(100)), Cost: 3}, w.state)}
	w.apply(at(ms(200)), 2)
	got, ok := w.limit.Settle(charge, 0, w.state, at(ms(999)))
	if !ok || !w.state.Holds(got.Guards) {
		t.Fatalf("nothing to give back: %+v", got)
	}
	after := &timeline{t: t, limit: w.limit, state: w.state.After(got.Changes)}
	after.leaves(at(ms(999)), 3, ms(1))
	if after.state.Holds(got.Guards) {
		t.Error("given back twice")
	}
	if _, ok := w.limit.Settle(charge, 0, w.state, at(ms(1000))); ok {
		t.Error("given back to a window that is over")
	}
	w.apply(at(ms(1000)), 1)
	if w.state.Holds(got.Guards) {
		t.Error("given back to another window")
	}
	if _, ok := w.limit.Settle(charge, 0, w.state, at(ms(999))); ok {
		t.Error("given back to a window that another clock has left")
	}
}

func TestSlidingWindowCounter(t *testing.T) {
	w := timelineOf(t, Policy{Algorithm: "sliding_window_counter", Quota: 10, Period: time.Second})
	w.leaves(at(ms(500)), 10, 0)
	w.admitted(at(ms(500)), 8, 2, ms(1500))
	w.admitted(at(ms(600)), 2, 0, ms(1400))
	w.refused(at(ms(600)), 1, ms(500))   // at 1.1 s a tenth of the ten is over a second ago
	w.refused(at(ms(1000)), 1, ms(100))  // all ten count in full
	w.refused(at(ms(1050)), 10, ms(950)) // only when none of them counts
	w.admitted(at(ms(1250)), 2, 0, ms(1750))
	w.refused(at(ms(1250)), 1, ms(50))
	w.admitted(at(ms(1300)), 1, 0, ms(1700))
	w.never(at(ms(1300)), 11)
	w.refused(at(ms(1900)), 8, ms(100)+333333334) // with three in this window: after a third of the next, rounded up
	w.admitted(at(ms(2000)), 7, 0, ms(2000))
	w.leaves(at(ms(3000)), 3, ms(1000))
	w.leaves(at(ms(4000)), 10, 0)
}

func TestSlidingWindowCounterFollowsTheClockThatIsAhead(t *testing.T) {
	counter := Policy{Algorithm: "sliding_window_counter", Quota: 10, Period: time.Second}
	w := timelineOf(t, counter)
	w.admitted(at(ms(900)), 9, 1, ms(1100))
	w.apply(at(ms(1000)), 1) // its clock is 100 ms ahead
	w.admitted(at(ms(1112)), 1, 0, ms(1888))
	w.refused(at(ms(910)), 1, ms(90)+222222223) // two in the window, and all nine count: not more

	for _, ahead := range []time.Duration{ms(1000), ms(2000), ms(3000)} {
		w := timelineOf(t, counter)
		w.admitted(at(ms(900)), 10, 0, ms(1100))
		w.apply(at(ms(900)+ahead), 10)
		for _, blind := range []State{{}, {Registers: []Register{{"r0", 0}}}} {
			if p := w.limit.Propose(blind, Ask{Now: at(ms(910)), Cost: 1}); w.state.Holds(p.Guards) {
				t.Fatalf("%s ahead: a window that was left began anew: %+v to %+v", ahead, p, w.state)
			}
		}
	}
}

func TestSlidingWindowCounterForgetsAllButTheWindowBefore(t *testing.T) {
	w := timelineOf(t, Policy{Algorithm: "sliding_window_counter", Quota: 10, Period: time.Second})
	for i := range 4 {
		w.admitted(at(ms(2000*i)), 10, 0, ms(2000))
	}
	for _, gap := range []int{3, 4, 5, 6} {
		w.admitted(at(ms(60_000*gap)), 10, 0, ms(2000))
		w.admitted(at(ms(61_000*gap)), 10, 0, ms(2000))
	}
}

// A call that has seen nothing yet of a window leaves room for calls in the one
// before, and for calls in this one.
func TestSlidingWindowCounterAllowsForOthers(t *testing.T) {
	l := mustNew(t, Policy{Algorithm: "sliding_window_counter", Quota: 100, Period: time.Second})
	seen := State{}.After(l.Propose(State{}, Ask{Now: at(ms(900)), Cost: 20}).Changes)
	since := seen.After(l.Propose(seen, Ask{Now: at(ms(990)), Cost: 30}).Changes)
	begun := since.After(l.Propose(since, Ask{Now: at(ms(1001)), Cost: 20}).Changes)
	p := l.Propose(seen, Ask{Now: at(ms(1001)), Cost: 1})
	for _, s := range []State{seen, since, begun} {
		if !s.Holds(p.Guards) {
			t.Errorf("%+v does not apply to %+v", p, s)
		}
	}
	// As many may have come as before that.
	usual := State{}.After(l.Propose(State{}, Ask{Now: at(ms(-500)), Cost: 90}).Changes)
	usual = usual.After(l.Propose(usual, Ask{Now: at(ms(900)), Cost: 5}).Changes)
	filled := usual.After(l.Propose(usual, Ask{Now: at(ms(950)), Cost: 84}).Changes)
	if p := l.Propose(usual, Ask{Now: at(ms(1300)), Cost: 1}); !filled.Holds(p.Guards) {
		t.Errorf("%+v does not apply to %+v", p, filled)
	}
	full := begun.After(l.Propose(begun, Ask{Now: at(ms(1001)), Cost: 30}).Changes)
	if full.Holds(p.Guards) {
		t.Errorf("%+v applies to %+v", p, full)
	}
}

func TestSlidingWindowCounterKeepsWhatWasUsedWhenThePeriodChanges(t *testing.T) {
	perSecond := Policy{Algorithm: "sliding_window_counter", Quota: 10, Period: time.Second}
	slow := timelineOf(t, Policy{Algorithm: "sliding_window_counter", Quota: 10, Period: time.Hour})
	slow.apply(at(ms(300)), 10)
	fast := &timeline{t: t, limit: mustNew(t, perSecond), state: slow.state}
	fast.refused(at(ms(400)), 1, ms(700)) // its ten are of this second, and the next weighs them
	fast.admitted(at(ms(1500)), 5, 0, ms(1500))

	minute := &timeline{t: t, limit: mustNew(t, Policy{Algorithm: "sliding_window_counter", Quota: 20, Period: time.Minute}), state: fast.state}
	minute.refused(at(ms(1600)), 6, 64*time.Second-ms(1600)) // 15 are in use: of the next minute, 4 s must be over
	minute.admitted(at(ms(1600)), 5, 0, 2*time.Minute-ms(1600))

	// The second before the minute is of the minute before.
	last := timelineOf(t, perSecond)
	last.admitted(at(-ms(500)), 10, 0, ms(1500))
	next := &timeline{t: t, limit: minute.limit, state: last.state}
	next.admitted(at(0), 10, 0, 2*time.Minute)
}
