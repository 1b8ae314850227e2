package limit

import (
	"fmt"
	"math"
	"time"
)

// intervalRefill is a bucket that is refilled whole, once in an interval. An interval
// begins with the first call after the last one ended, not with the clock: whoever comes
// after a rest has a whole bucket for a whole interval.
//
// Its state is when the interval began and how many permits it gave. What the beginning
// means does not depend on how long an interval is, so a changed period is a guard like
// a changed quota, and takes effect at once.
type intervalRefill struct {
	quota  int64
	period int64 // ns
}

const (
	start = "start" // register: when the interval began, in ns since 1970
	given = "n"     // register: permits given in it
)

// The branches of an interval.
const (
	refill  Branch = iota // the last interval is over, or there was none
	ongoing               // an interval lasts
)

func newIntervalRefill(p Policy) (algorithm, time.Duration, int64, error) {
	if p.Burst > 0 {
		return nil, 0, 0, &FieldError{"burst", fmt.Sprintf("an %s has none: remove it, or use token_bucket", p.Algorithm)}
	}
	return intervalRefill{quota: p.Quota, period: int64(p.Period)}, p.Period, p.Quota, nil
}

func (r intervalRefill) propose(seen State, now time.Time, cost int64) Proposal {
	at := now.UnixNano()
	began, n, lasts := r.interval(seen, at)
	switch {
	case !lasts:
		return Proposal{Branch: refill, Write: Write{
			Guards:  []Guard{{Kind: RegisterInOrAbsent, Register: start, Min: math.MinInt64, Max: at - r.period}},
			Changes: []Change{{Kind: Set, Register: start, Value: at}, {Kind: Set, Register: given, Value: cost}},
		}}
	case n+cost > r.quota:
		return Proposal{Refusal: &Refusal{RetryAfter: time.Duration(began + r.period - at)}}
	}
	return Proposal{Branch: ongoing, Sure: true, Write: Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: start, Min: at - r.period + 1, Max: math.MaxInt64},
			{Kind: RegisterIn, Register: given, Min: math.MinInt64, Max: r.quota - cost},
		},
		Changes: []Change{{Kind: Add, Register: given, Value: cost}},
	}}
}

// interval returns when the last interval began, what it gave, and whether it lasts.
func (r intervalRefill) interval(s State, at int64) (began, n int64, lasts bool) {
	began, ok := s.Register(start)
	n, _ = s.Register(given)
	return began, n, ok && began > at-r.period
}

func (r intervalRefill) assume(b Branch, now time.Time) State {
	if b != ongoing {
		return State{}
	}
	return State{Registers: []Register{{start, now.UnixNano()}, {given, 0}}}
}

func (r intervalRefill) standing(s State, now time.Time, _ int64) Standing {
	at := now.UnixNano()
	began, n, lasts := r.interval(s, at)
	if !lasts || n <= 0 {
		return Standing{Remaining: r.quota}
	}
	st := Standing{Remaining: max(0, r.quota-n), ResetAfter: time.Duration(began + r.period - at)}
	if st.Remaining == 0 {
		st.RetryAfter = st.ResetAfter
	}
	return st
}

// giveBack counts the charge off, while the interval lasts in which it was counted.
func (r intervalRefill) giveBack(c Charge, _ State, now time.Time) (Write, bool) {
	began, _, lasts := r.interval(c.Left, now.UnixNano())
	if !lasts {
		return Write{}, false
	}
	return Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: start, Min: began, Max: began},
			{Kind: RegisterIn, Register: given, Min: c.Cost, Max: math.MaxInt64},
		},
		Changes: []Change{{Kind: Add, Register: given, Value: -c.Cost}},
	}, true
}
