package limit

import (
	"fmt"
	"testing"
	"time"
)

// A timeline plays calls against one limit as a single store would see them.
type timeline struct {
	t     *testing.T
	limit *Limit
	state State
}

var noon = time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func timelineOf(t *testing.T, p Policy) *timeline {
	t.Helper()
	return &timeline{t: t, limit: mustNew(t, p)}
}

func mustNew(t interface {
	Helper()
	Fatalf(string, ...any)
}, p Policy,
) *Limit {
	t.Helper()
	l, err := New(p)
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	return l
}

// apply makes a call with whatever was seen, and gives back the proposal.
func (tl *timeline) apply(now time.Time, cost int64) Proposal {
	p := tl.limit.Propose(tl.state, Ask{Now: now, Cost: cost})
	if len(p.Changes) > 0 {
		if !tl.state.Holds(p.Guards) {
			tl.t.Fatalf("%s: the proposal %+v does not apply to the state it was made from, %+v", now.Sub(noon), p, tl.state)
		}
		tl.state = tl.state.After(p.Changes)
	}
	return p
}

func (tl *timeline) admitted(now time.Time, cost, remaining int64, reset time.Duration) {
	tl.t.Helper()
	if p := tl.apply(now, cost); p.Refusal != nil {
		tl.t.Fatalf("%s: %d refused, retry after %s; want admitted", now.Sub(noon), cost, p.Refusal.RetryAfter)
	}
	tl.leaves(now, remaining, reset)
}

func (tl *timeline) leaves(now time.Time, remaining int64, reset time.Duration) {
	tl.t.Helper()
	s := tl.limit.Standing(tl.state, now, 0)
	if s.Remaining != remaining || s.ResetAfter != reset {
		tl.t.Fatalf("%s: leaves %d, reset after %s; want %d, %s", now.Sub(noon), s.Remaining, s.ResetAfter, remaining, reset)
	}
}

func (tl *timeline) refused(now time.Time, cost int64, retry time.Duration) {
	tl.t.Helper()
	p := tl.apply(now, cost)
	if p.Refusal == nil {
		tl.t.Fatalf("%s: %d admitted; want refused", now.Sub(noon), cost)
	}
	if p.Refusal.Never || p.Refusal.RetryAfter != retry {
		tl.t.Fatalf("%s: %+v; want retry after %s", now.Sub(noon), *p.Refusal, retry)
	}
}

func (tl *timeline) never(now time.Time, cost int64) {
	tl.t.Helper()
	if p := tl.apply(now, cost); p.Refusal == nil || !p.Refusal.Never {
		tl.t.Fatalf("%s: %d is not refused for ever: %+v", now.Sub(noon), cost, p)
	}
}

func TestTokenBucket(t *testing.T) {
	b := timelineOf(t, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second, Burst: 5})
	b.leaves(at(0), 5, 0)
	b.admitted(at(0), 1, 4, ms(100))
	b.admitted(at(ms(10)), 4, 0, ms(490))
	b.refused(at(ms(20)), 1, ms(80))
	b.refused(at(ms(20)), 2, ms(180))
	b.admitted(at(ms(100)), 1, 0, ms(500))
	b.never(at(ms(100)), 6)
	b.leaves(at(ms(600)), 5, 0)
	b.admitted(at(time.Hour), 5, 0, ms(500))
}

func TestTokenBucketWithoutBurstHoldsItsQuota(t *testing.T) {
	b := timelineOf(t, Policy{Algorithm: "token_bucket", Quota: 3, Period: time.Second})
	for left := int64(2); left >= 0; left-- {
		b.apply(at(0), 1)
		if s := b.limit.Standing(b.state, at(0), 1); s.Remaining != left {
			t.Fatalf("%d remaining, want %d", s.Remaining, left)
		}
	}
	b.refused(at(0), 1, 333333334) // a third of a second, rounded up
}

func TestLeakyBucketMakesCallersWaitTheirTurn(t *testing.T) {
	b := timelineOf(t, Policy{Algorithm: "leaky_bucket", Quota: 10, Period: time.Second, Burst: 3})
	for _, wait := range []time.Duration{0, ms(100), ms(200)} {
		b.apply(at(0), 1)
		if s := b.limit.Standing(b.state, at(0), 1); s.Wait != wait {
			t.Fatalf("waits %s, want %s", s.Wait, wait)
		}
	}
	b.refused(at(0), 1, ms(100))
	b.apply(at(ms(150)), 1)
	if s := b.limit.Standing(b.state, at(ms(150)), 1); s.Wait != ms(150) {
		t.Fatalf("waits %s, want 150ms", s.Wait)
	}
}

func TestBucketKeepsWhatWasUsedWhenTheRateChanges(t *testing.T) {
	hourly := timelineOf(t, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Hour})
	hourly.admitted(at(0), 10, 0, time.Hour)
	hourly.refused(at(time.Second), 1, 6*time.Minute-time.Second)

	perSecond := &timeline{t: t, limit: mustNew(t, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second}), state: hourly.state}
	// 9.997 permits are still in use: 0.9997 s at the new rate, and one more needs 0.1.
	perSecond.refused(at(time.Second), 1, 99722223*time.Nanosecond)
	perSecond.admitted(at(time.Second+99722223), 1, 0, time.Second)

	back := &timeline{t: t, limit: hourly.limit, state: perSecond.state}
	back.refused(at(time.Second+99722223), 1, 6*time.Minute) // all 10 are in use, at the old rate again
}

func TestBucketThatWasLoweredHoldsNoMoreThanItsNewBurst(t *testing.T) {
	wide := timelineOf(t, Policy{Algorithm: "token_bucket", Quota: 100, Period: time.Second})
	wide.admitted(at(0), 100, 0, time.Second)
	narrow := &timeline{t: t, limit: mustNew(t, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second}), state: wide.state}
	narrow.refused(at(0), 1, ms(100)) // full, not ten times over
	narrow.refused(at(ms(99)), 1, ms(1))
	narrow.admitted(at(ms(100)), 1, 0, time.Second)
}

func TestSlidingWindowLog(t *testing.T) {
	l := timelineOf(t, Policy{Algorithm: "sliding_window_log", Quota: 3, Period: time.Second})
	l.leaves(at(0), 3, 0)
	l.admitted(at(0), 1, 2, ms(1000))
	l.admitted(at(ms(300)), 2, 0, ms(1000))
	l.refused(at(ms(400)), 1, ms(600))
	l.refused(at(ms(400)), 2, ms(900))
	l.refused(at(ms(999)+999*time.Microsecond), 1, time.Microsecond)
	l.admitted(at(ms(1000)), 1, 0, ms(1000))
	l.refused(at(ms(1000)), 1, ms(300))
	l.never(at(ms(1000)), 4)
	l.leaves(at(ms(2000)), 3, 0)
	l.admitted(at(ms(2000)), 3, 0, ms(1000))
	if len(l.state.Log) != 3 {
		t.Fatalf("the log has %d times, want 3", len(l.state.Log))
	}
}

func TestSlidingWindowLogStaysSmallForRareCalls(t *testing.T) {
	l := timelineOf(t, Policy{Algorithm: "sliding_window_log", Quota: 1000, Period: time.Minute})
	for hour := range 50 {
		l.admitted(at(time.Duration(hour)*time.Hour), 1, 999, time.Minute)
	}
	if len(l.state.Log) != 1 {
		t.Fatalf("the log has %d times, want 1", len(l.state.Log))
	}
}

func TestSlidingWindowLogFollowsItsQuota(t *testing.T) {
	five := timelineOf(t, Policy{Algorithm: "sliding_window_log", Quota: 5, Period: time.Second})
	for i := range 5 {
		five.apply(at(ms(100*i)), 1)
	}
	two := &timeline{t: t, limit: mustNew(t, Policy{Algorithm: "sliding_window_log", Quota: 2, Period: time.Second}), state: five.state}
	two.refused(at(ms(1000)), 1, ms(300)) // 0, 100, 200 and 300 must go first
	two.admitted(at(ms(1300)), 1, 0, ms(1000))
	if len(two.state.Log) != 2 {
		t.Fatalf("the log has %d times, want 2", len(two.state.Log))
	}
	three := &timeline{t: t, limit: mustNew(t, Policy{Algorithm: "sliding_window_log", Quota: 3, Period: time.Second}), state: two.state}
	three.admitted(at(ms(1300)), 1, 0, ms(1000))
}

func TestSlidingWindowLogGuardsEveryElementItReplaces(t *testing.T) {
	l := mustNew(t, Policy{Algorithm: "sliding_window_log", Quota: 3, Period: time.Second})
	p := l.Propose(l.Assume(replace, at(0)), Ask{Now: at(0), Cost: 2})
	began := logBegan(at(0).UnixNano())
	old, young := began-1000, began-999
	for _, c := range []struct {
		log  []int64
		want bool
	}{
		{[]int64{old, old, young}, true},
		{[]int64{old, old}, true},
		{[]int64{old, young, young}, false},
		{[]int64{young, old, old}, false},
		{[]int64{old}, false},
		{[]int64{old, old, old, old}, false}, // the quota was lowered: more must go
		{nil, false},
	} {
		if got := (State{Log: c.log}).Holds(p.Guards); got != c.want {
			t.Errorf("replacing two of %v: %v, want %v", c.log, got, c.want)
		}
	}
}

func TestGivingBackUndoesACharge(t *testing.T) {
	for _, p := range []Policy{
		{Algorithm: "token_bucket", Quota: 5, Period: time.Second},
		{Algorithm: "sliding_window_log", Quota: 5, Period: time.Second},
	} {
		t.Run(p.Algorithm, func(t *testing.T) {
			tl := timelineOf(t, p)
			tl.apply(at(0), 2)
			tl.apply(at(ms(10)), 3)
			charge := Charge{Cost: 3, Mark: tl.limit.Mark(Ask{Now: at(ms(10)), Cost: 3}, tl.state)}
			w, ok := tl.limit.Settle(charge, 0, tl.state, at(ms(10)))
			if !ok || !tl.state.Holds(w.Guards) {
				t.Fatalf("nothing to give back: %+v", w)
			}
			tl.state = tl.state.After(w.Changes)
			if s := tl.limit.Standing(tl.state, at(ms(10)), 0); s.Remaining != 3 {
				t.Fatalf("%d remaining, want 3", s.Remaining)
			}
			if _, ok := tl.limit.Settle(charge, 0, tl.state, at(time.Hour)); ok && p.Algorithm == "token_bucket" {
				t.Fatal("a bucket gave back what it had filled up itself")
			}
		})
	}
}

func TestPolicyThatCannotBe(t *testing.T) {
	second := time.Second
	for _, c := range []struct {
		policy Policy
		want   string
	}{
		{Policy{Algorithm: "token_buckets", Quota: 1, Period: second}, `algorithm: "token_buckets" is unknown; use one of concurrency, fixed_window, interval_refill, leaky_bucket, sliding_window_counter, sliding_window_log, token_bucket`},
		{Policy{Algorithm: "token_bucket", Quota: 0, Period: second}, "quota: must be at least 1, not 0"},
		{Policy{Algorithm: "token_bucket", Quota: 1 << 31, Period: second}, "quota: must be at most 2147483647, not 2147483648"},
		{Policy{Algorithm: "token_bucket", Quota: 1, Period: 0}, "period: must be at least 1ms, not 0s"},
		{Policy{Algorithm: "token_bucket", Quota: 1, Period: 1 << 62}, "period: must be at most 8784h0m0s, not 1281023h53m38.427387904s"},
		{Policy{Algorithm: "token_bucket", Quota: 1, Period: second, Burst: -1}, "burst: must not be negative, but is -1"},
		{Policy{Algorithm: "leaky_bucket", Quota: 2_100_000, Period: second}, "quota: 2100000 per 1s would be one permit in 476.2 ns, and intervals are whole nanoseconds: use 2096436"},
		{Policy{Algorithm: "token_bucket", Quota: 1, Period: 24 * time.Hour, Burst: 1 << 30}, "burst: 1073741824 takes more than 87840h0m0s to come back at 1 per 24h0m0s; use a smaller burst"},
		{Policy{Algorithm: "sliding_window_log", Quota: 1001, Period: time.Hour}, "quota: an exact log holds at most 1000 times, not 1001; use resolution: 60"},
		{Policy{Algorithm: "sliding_window_log", Quota: 10, Period: second, Burst: 10}, "burst: sliding_window_log has none: remove it, or use token_bucket"},
		{Policy{Algorithm: "sliding_window_log", Quota: 10, Period: second + 1}, "period: of a sliding_window_log is in whole milliseconds, not 1.000000001s"},
		{Policy{Algorithm: "sliding_window_log", Quota: 1000, Period: second}, "quota: 1000 per 1s as an exact log writes 9000 units a second, above 500; use resolution: 60"},
		{Policy{Algorithm: "sliding_window_log", Quota: 10, Period: second, Resolution: 1}, "resolution: must be from 2 to 100, or 0 for an exact list, not 1"},
		{Policy{Algorithm: "sliding_window_log", Quota: 10, Period: second, Resolution: 101}, "resolution: must be from 2 to 100, or 0 for an exact list, not 101"},
		{Policy{Algorithm: "sliding_window_log", Quota: 10, Period: second, Resolution: -60}, "resolution: must be from 2 to 100, or 0 for an exact list, not -60"},
		{Policy{Algorithm: "sliding_window_log", Quota: 10, Period: 500 * time.Millisecond, Resolution: 60}, "resolution: 60 parts of 500ms are shorter than 10ms, about what a write takes: use at most 50"},
		{Policy{Algorithm: "fixed_window", Quota: 10, Period: second, Resolution: 60}, "resolution: fixed_window has none: remove it, or use sliding_window_log"},
		{Policy{Algorithm: "fixed_window", Quota: 10, Period: second, Burst: 10}, "burst: fixed_window has none: remove it, or use token_bucket"},
		{Policy{Algorithm: "interval_refill", Quota: 10, Period: second, Burst: 10}, "burst: interval_refill has none: remove it, or use token_bucket"},
		{Policy{Algorithm: "interval_refill", Quota: 1, Period: week, Calendar: Week}, "period: a week of the calendar is for fixed_window and sliding_window_counter; write a duration such as 168h"},
		{Policy{Algorithm: "sliding_window_counter", Quota: 1 << 18, Period: time.Millisecond}, "quota: 262144 per 1ms is more than the 262143 that a window this short can count; use a longer period"},
		{Policy{Algorithm: "token_bucket", Quota: 1, Period: longestMonth, Calendar: Month}, "period: a month of the calendar is for fixed_window and sliding_window_counter; write a duration such as 744h"},
		{Policy{Algorithm: "sliding_window_log", Quota: 1, Period: week, Calendar: Week}, "period: a week of the calendar is for fixed_window and sliding_window_counter; write a duration such as 168h"},
		{Policy{Algorithm: "fixed_window", Quota: 1, Period: second, Calendar: "year"}, `period: "year" is no period of the calendar; use week or month`},
		{Policy{Algorithm: "fixed_window", Quota: 1, Period: 30 * day, Calendar: Month}, "period: of a month is 744h0m0s, not 720h0m0s"},
		{monthly(1, 29), "anchor_day: must be 1 to 28, days that every month has, not 29"},
		{monthly(1, -1), "anchor_day: must be 1 to 28, days that every month has, not -1"},
		{Policy{Algorithm: "fixed_window", Quota: 1, Period: week, Calendar: Week, AnchorDay: 2}, "anchor_day: only the period month begins on a day of its own: remove it"},
	} {
		if _, err := New(c.policy); fmt.Sprint(err) != c.want {
			t.Errorf("%+v:\n got %v\nwant %s", c.policy, err, c.want)
		}
	}
}

func TestSharesTogetherHoldNoMoreThanTheWhole(t *testing.T) {
	for _, c := range []struct {
		whole Policy
		n     int
		share Policy
	}{
		{Policy{Algorithm: "token_bucket", Quota: 100, Period: time.Second, Burst: 200}, 10, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second, Burst: 20}},
		{Policy{Algorithm: "token_bucket", Quota: 100, Period: time.Second, Burst: 5}, 10, Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second, Burst: 1}},
		{Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second}, 20, Policy{Algorithm: "token_bucket", Quota: 1, Period: 2 * time.Second}},
		{Policy{Algorithm: "leaky_bucket", Quota: 3, Period: time.Second, Burst: 9}, 10, Policy{Algorithm: "leaky_bucket", Quota: 1, Period: 3334 * time.Millisecond, Burst: 1}},
		{Policy{Algorithm: "sliding_window_log", Quota: 100, Period: time.Minute}, 8, Policy{Algorithm: "sliding_window_log", Quota: 12, Period: time.Minute}},
		{Policy{Algorithm: "sliding_window_log", Quota: 5, Period: time.Minute}, 10, Policy{Algorithm: "sliding_window_log", Quota: 1, Period: 2 * time.Minute}},
		{fixed(100, time.Minute), 8, fixed(12, time.Minute)},
		{fixed(5, time.Minute), 10, fixed(1, 2*time.Minute)},
		{azuga(10, time.Minute), 3, azuga(3, time.Minute)},
		{azuga(1, time.Minute), 3, azuga(1, 3*time.Minute)},
		{monthly(100, 15), 10, monthly(10, 15)},
		{monthly(1, 15), 2, fixed(1, 62*day)},
	} {
		share, err := mustNew(t, c.whole).Share(c.n)
		if err != nil || share.Policy() != c.share {
			t.Errorf("an instance of %d has %v of %v (%v), want %v", c.n, share.Policy(), c.whole, err, c.share)
		}
	}
}
