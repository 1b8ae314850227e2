package limit

import (
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

func newIntervalRefill(p Policy) (made, error) {
	quota, period := p.soft(p.Quota), p.Period+p.Slack
	return made{intervalRefill{quota: quota, period: int64(period)}, period, quota}, nil
}

// propose charges the interval that lasts now, or begins a new one with the time the
// permits are for. Nobody is promised permits of an interval to come: when it begins is
// not known before the one that lasts has ended.
func (r intervalRefill) propose(seen State, a Ask) Proposal {
	at := a.Now.UnixNano()
	began, n, lasts := r.interval(seen, at)
	switch {
	case a.Span >= time.Duration(r.period):
		return Proposal{Refusal: &Refusal{Never: true}} // no such span: see span
	case !lasts:
		return Proposal{Branch: refill, Write: Write{
			Guards:  []Guard{{Kind: RegisterInOrAbsent, Register: start, Min: math.MinInt64, Max: at - r.period}},
			Changes: []Change{{Kind: Set, Register: start, Value: a.from()}, {Kind: Set, Register: given, Value: a.Cost}},
		}}
	case n+a.Cost > r.quota, a.until() >= began+r.period:
		return Proposal{Refusal: &Refusal{RetryAfter: time.Duration(began + r.period - at)}}
	}
	return Proposal{Branch: ongoing, Sure: true, Write: Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: start, Min: a.until() - r.period + 1, Max: math.MaxInt64},
			{Kind: RegisterIn, Register: given, Min: math.MinInt64, Max: r.quota - a.Cost},
		},
		Changes: []Change{{Kind: Add, Register: given, Value: a.Cost}},
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

// span is what is left of the interval.
func (r intervalRefill) span(seen State, a Ask) time.Duration {
	began, _, lasts := r.interval(seen, a.Now.UnixNano())
	if !lasts {
		began = a.from()
	}
	return time.Duration(max(0, began+r.period-1-a.from()))
}

func (r intervalRefill) mark(_ Ask, left State) int64 {
	began, _ := left.Register(start)
	return began
}

// giveBack counts off, while the interval lasts in which the charge was counted.
func (r intervalRefill) giveBack(c Charge, n int64, _ State, now time.Time) (Write, bool) {
	if c.Mark <= now.UnixNano()-r.period {
		return Write{}, false
	}
	return Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: start, Min: c.Mark, Max: c.Mark},
			{Kind: RegisterIn, Register: given, Min: n, Max: math.MaxInt64},
		},
		Changes: []Change{{Kind: Add, Register: given, Value: -n}},
	}, true
}

// owe counts in the interval that lasts, or begins one.
func (r intervalRefill) owe(n int64, seen State, now time.Time) (Write, bool) {
	at := now.UnixNano()
	if _, _, lasts := r.interval(seen, at); !lasts {
		return Write{
			Guards:  []Guard{{Kind: RegisterInOrAbsent, Register: start, Min: math.MinInt64, Max: at - r.period}},
			Changes: []Change{{Kind: Set, Register: start, Value: at}, {Kind: Set, Register: given, Value: n}},
		}, true
	}
	return Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: start, Min: at - r.period + 1, Max: math.MaxInt64},
			{Kind: RegisterIn, Register: given, Min: math.MinInt64, Max: math.MaxInt64 / 2},
		},
		Changes: []Change{{Kind: Add, Register: given, Value: n}},
	}, true
}
