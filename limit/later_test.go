package limit

import (
	"testing"
	"time"
)

func (tl *timeline) ask(a Ask) Proposal {
	tl.t.Helper()
	p := tl.limit.Propose(tl.state, a)
	if len(p.Changes) > 0 {
		if !tl.state.Holds(p.Guards) {
			tl.t.Fatalf("%s: the proposal %+v does not apply to %+v", a.Now.Sub(noon), p, tl.state)
		}
		tl.state = tl.state.After(p.Changes)
	}
	return p
}

func (tl *timeline) passes(a Ask) Charge {
	tl.t.Helper()
	if p := tl.ask(a); p.Refusal != nil {
		tl.t.Fatalf("%s: %+v is refused: %+v", a.Now.Sub(noon), a, *p.Refusal)
	}
	return Charge{Cost: a.Cost, Mark: tl.limit.Mark(a, tl.state)}
}

func (tl *timeline) keptOut(a Ask, retry time.Duration) {
	tl.t.Helper()
	if p := tl.ask(a); p.Refusal == nil || p.Refusal.RetryAfter != retry {
		tl.t.Fatalf("%s: %+v says %+v; want retry after %s", a.Now.Sub(noon), a, p.Refusal, retry)
	}
}

func (tl *timeline) settles(c Charge, cost int64, now time.Time, want bool) {
	tl.t.Helper()
	w, ok := tl.limit.Settle(c, cost, tl.state, now)
	if ok != want {
		tl.t.Fatalf("%s: settling %+v to %d: %v, want %v", now.Sub(noon), c, cost, ok, want)
	}
	if ok {
		tl.state = tl.state.After(w.Changes)
	}
}

func TestTokenBucketBooksALaterPermit(t *testing.T) {
	b := timelineOf(t, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second, Burst: 2})
	b.passes(Ask{Now: at(0), Cost: 2})
	b.keptOut(Ask{Now: at(0), Cost: 1, Wait: ms(99)}, ms(100))
	b.passes(Ask{Now: at(0), Cost: 1, Wait: ms(100)})
	b.keptOut(Ask{Now: at(ms(100)), Cost: 1}, ms(100)) // the permit of now is taken
	b.passes(Ask{Now: at(ms(200)), Cost: 1})
}

func TestLogBooksALaterPermit(t *testing.T) {
	l := timelineOf(t, Policy{Algorithm: "sliding_window_log", Quota: 1, Period: time.Second})
	l.passes(Ask{Now: at(0), Cost: 1})
	booked := l.passes(Ask{Now: at(ms(400)), Cost: 1, Wait: ms(600)})
	l.keptOut(Ask{Now: at(ms(1500)), Cost: 1}, ms(500))
	l.settles(booked, 0, at(ms(500)), true)
	l.keptOut(Ask{Now: at(ms(999)), Cost: 1}, ms(1)) // the first still counts
	l.passes(Ask{Now: at(ms(1000)), Cost: 1})
}

func TestWindowsBookNothingAhead(t *testing.T) {
	for _, algorithm := range []string{"fixed_window", "sliding_window_counter", "interval_refill"} {
		w := timelineOf(t, Policy{Algorithm: algorithm, Quota: 2, Period: time.Second})
		w.passes(Ask{Now: at(0), Cost: 2})
		p := w.ask(Ask{Now: at(ms(900)), Cost: 1, Wait: ms(500)})
		if p.Refusal == nil {
			t.Errorf("%s gave a permit of a window that has not begun", algorithm)
		}
	}
}

// A lease of 3 that lasts 300 ms takes the room of 6 from a bucket of 10 a second: none
// of what it promised comes back before it ends.
func TestLeaseTakesAsMuchRoomAsItLasts(t *testing.T) {
	b := timelineOf(t, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second})
	lease := b.passes(Ask{Now: at(0), Cost: 3, Span: ms(300)})
	b.leaves(at(0), 4, ms(600))
	b.settles(lease, 1, at(ms(300)), true)
	b.leaves(at(ms(300)), 9, ms(100))
	b.settles(lease, 1, at(ms(400)), false)
	if p := b.ask(Ask{Now: at(time.Second), Cost: 5, Span: ms(501)}); p.Refusal == nil || !p.Refusal.Never {
		t.Errorf("a lease longer than the bucket is deep: %+v", p)
	}
}

func TestLeaseOfALogCountsUntilItEnds(t *testing.T) {
	l := timelineOf(t, Policy{Algorithm: "sliding_window_log", Quota: 5, Period: time.Second})
	lease := l.passes(Ask{Now: at(0), Cost: 5, Span: ms(400)})
	l.keptOut(Ask{Now: at(ms(1399)), Cost: 1}, ms(1))
	l.settles(lease, 3, at(ms(100)), true)
	l.passes(Ask{Now: at(ms(100)), Cost: 2})
	l.keptOut(Ask{Now: at(ms(100)), Cost: 1}, ms(1300)) // behind those of the lease
}

func TestLeaseOfAWindowEndsWithIt(t *testing.T) {
	w := timelineOf(t, Policy{Algorithm: "fixed_window", Quota: 5, Period: time.Second})
	a := Ask{Now: at(ms(700)), Cost: 2}
	if got := w.limit.Span(w.state, a); got != ms(300)-1 {
		t.Errorf("a lease may last %s", got)
	}
	a.Span = ms(300)
	w.keptOut(a, ms(300))
}

func TestConcurrency(t *testing.T) {
	c := timelineOf(t, Policy{Algorithm: "concurrency", Quota: 2, Period: 30 * time.Second})
	first := c.passes(Ask{Now: at(0), Cost: 1})
	c.passes(Ask{Now: at(10 * time.Second), Cost: 1})
	c.keptOut(Ask{Now: at(11 * time.Second), Cost: 1}, time.Second) // someone may be done before
	if r := c.ask(Ask{Now: at(11 * time.Second), Cost: 1}).Refusal; !r.Open {
		t.Error("a refusal that a release can undo is said to be final")
	}
	c.settles(first, 0, at(12*time.Second), true)
	c.passes(Ask{Now: at(12 * time.Second), Cost: 1})
	c.settles(first, 0, at(12*time.Second), false) // released already
	c.keptOut(Ask{Now: at(39*time.Second + ms(500)), Cost: 1}, ms(500))
	c.passes(Ask{Now: at(40 * time.Second), Cost: 1}) // the second never came back
}

func TestConcurrencyKeepsTheEndsThatWerePromised(t *testing.T) {
	long := timelineOf(t, Policy{Algorithm: "concurrency", Quota: 1, Period: 30 * time.Second})
	long.passes(Ask{Now: at(0), Cost: 1})
	short := &timeline{t: t, limit: mustNew(t, Policy{Algorithm: "concurrency", Quota: 1, Period: time.Second}), state: long.state}
	short.keptOut(Ask{Now: at(29 * time.Second), Cost: 1}, time.Second)
	short.passes(Ask{Now: at(30 * time.Second), Cost: 1})
}

func TestSoftPercentLetsMorePassAndSaysSo(t *testing.T) {
	for _, p := range []Policy{
		{Algorithm: "token_bucket", Quota: 10, Period: time.Second, SoftPercent: 50},
		{Algorithm: "sliding_window_log", Quota: 10, Period: time.Second, SoftPercent: 50},
		{Algorithm: "fixed_window", Quota: 10, Period: time.Second, SoftPercent: 50},
	} {
		s := timelineOf(t, p)
		s.passes(Ask{Now: at(0), Cost: 10})
		if st := s.limit.Standing(s.state, at(0), 10); st.Over || st.Remaining != 0 {
			t.Errorf("%s: after its quota %+v", p.Algorithm, st)
		}
		s.passes(Ask{Now: at(0), Cost: 5})
		if st := s.limit.Standing(s.state, at(0), 5); !st.Over || st.Remaining != 0 {
			t.Errorf("%s: after half as much again %+v", p.Algorithm, st)
		}
		if s.ask(Ask{Now: at(0), Cost: 1}).Refusal == nil {
			t.Errorf("%s: more than was to pass passed", p.Algorithm)
		}
	}
	bucket := timelineOf(t, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second, SoftPercent: 50})
	bucket.passes(Ask{Now: at(0), Cost: 15})
	bucket.keptOut(Ask{Now: at(0), Cost: 1}, ms(100)) // the rate is what it was
}

func TestSlackWidensTheWindow(t *testing.T) {
	l := timelineOf(t, Policy{Algorithm: "sliding_window_log", Quota: 1, Period: time.Second, Slack: ms(50)})
	l.passes(Ask{Now: at(0), Cost: 1})
	l.keptOut(Ask{Now: at(ms(1000)), Cost: 1}, ms(50))
	l.passes(Ask{Now: at(ms(1050)), Cost: 1})
}

func TestSettlingToMoreIsOwed(t *testing.T) {
	for algorithm, retry := range map[string]time.Duration{
		"token_bucket":    ms(400),
		"interval_refill": ms(1000),
	} {
		b := timelineOf(t, Policy{Algorithm: algorithm, Quota: 10, Period: time.Second})
		charge := b.passes(Ask{Now: at(0), Cost: 10})
		b.settles(charge, 13, at(0), true)
		b.keptOut(Ask{Now: at(0), Cost: 1}, retry)
	}
	l := timelineOf(t, Policy{Algorithm: "sliding_window_log", Quota: 10, Period: time.Second})
	charge := l.passes(Ask{Now: at(0), Cost: 10})
	l.settles(charge, 13, at(ms(500)), true)
	l.keptOut(Ask{Now: at(ms(1000)), Cost: 8}, ms(500)) // three more of the last second
	l.passes(Ask{Now: at(ms(1000)), Cost: 7})
}

// Two calls reserve ten each and use four. Where the later one gives back first, nobody
// knows any more that the first drained before it: that gives back less, never more.
func TestChargesGiveBackInAnyOrder(t *testing.T) {
	for _, c := range []struct {
		order     [2]int
		remaining int64
		reset     time.Duration
	}{
		{[2]int{0, 1}, 24, ms(600)},
		{[2]int{1, 0}, 20, ms(1000)},
	} {
		b := timelineOf(t, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second, Burst: 30})
		charges := [2]Charge{b.passes(Ask{Now: at(0), Cost: 10}), b.passes(Ask{Now: at(0), Cost: 10})}
		for _, i := range c.order {
			b.settles(charges[i], 4, at(ms(200)), true)
		}
		b.leaves(at(ms(200)), c.remaining, c.reset)
	}
}

// What a charge kept out comes back with time; giving it back later must not do so again.
func TestWhatDrainedIsNotGivenBack(t *testing.T) {
	b := timelineOf(t, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second})
	first, second := b.passes(Ask{Now: at(0), Cost: 9}), b.passes(Ask{Now: at(0), Cost: 1})
	b.settles(first, 0, at(0), true) // the second drains at once after that
	b.passes(Ask{Now: at(ms(200)), Cost: 5})
	b.settles(second, 0, at(ms(200)), false)
}

// The third call was promised a time at which the bucket would have been a third fuller
// without the second: what drained before that time is not given back.
func TestGivingBackTakesNothingFromWhatIsPromised(t *testing.T) {
	b := timelineOf(t, Policy{Algorithm: "token_bucket", Quota: 2, Period: time.Second, Burst: 3})
	b.passes(Ask{Now: at(0), Cost: 1})
	second := b.passes(Ask{Now: at(0), Cost: 1})
	b.passes(Ask{Now: at(0), Cost: 1, Wait: ms(800)})
	b.settles(second, 0, at(0), true)
	// It is charged from 0.8 s on, and what it needs is there until 1.3 s.
	if left, _ := b.state.Register(tat); left < at(ms(1300)).UnixNano() {
		t.Fatalf("full again at %s", time.Unix(0, left).Sub(noon))
	}
}
