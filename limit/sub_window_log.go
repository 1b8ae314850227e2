package limit

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// subWindowLog is the sliding window log in parts: it counts calls in sub-windows, so
// many to a period, where the exact log keeps the time of each. The current sub-window
// and as many before it as there are to a period reach back a period or more, whatever
// moment of the current one it is. So never more than the quota pass in any window of one
// period; and as a call counts for one sub-window longer than the period at most, at
// least parts/(parts+1) of the quota can be used.
//
// Its state is the number of the newest sub-window (i), the list of the counts, of which
// the last is that one's, and their sum. Beside them stands what sub-windows they count
// (p). An exact list has no registers; that is how the two are told apart.
//
// A call in the newest sub-window adds to its count and to the sum: calls do that together,
// and so does one whose clock is behind. The first of a later one takes the counts that are
// a period old out of the list. Nobody adds to those any more while i stands, so what they
// come to is known; what others add to the newest meanwhile is guarded by the sum.
type subWindowLog struct {
	quota  int64
	parts  int64 // sub-windows in a period
	length int64 // ns of one, rounded up
}

const (
	newest = "i"   // register: the number of the newest sub-window, 0 began with 1970
	inUse  = "sum" // register: of the counts

	maxParts = 100
	// maxSteps is how many counts are taken out one by one. After a pause that is longer the
	// list is replaced if it is as it was seen: the names of a hundred elements are long.
	maxSteps = 8
	// minLength is of a sub-window: one begins by a write that only one caller can win, so it
	// must last longer than a write takes. Were it shorter, callers would lose to one after another.
	minLength = 10 * time.Millisecond
)

// The branches of a log in parts.
const (
	begins    Branch = iota // a sub-window begins: the first, or one after the newest
	goesOn                  // the newest sub-window
	recounted               // an exact list, or sub-windows of another length
	later                   // as begins, but after the newest
)

func newSubWindowLog(p Policy) (made, error) {
	if most := int64((p.Period + p.Slack) / minLength); p.Resolution > most {
		return made{}, &FieldError{"resolution", fmt.Sprintf("%d parts of %s are shorter than %s, about what a write takes: use at most %d", p.Resolution, p.Period+p.Slack, minLength, most)}
	}
	l := subWindowLog{quota: p.soft(p.Quota), parts: p.Resolution}
	l.length = (int64(p.Period+p.Slack) + l.parts - 1) / l.parts
	return made{l, time.Duration((l.parts + 1) * l.length), l.quota}, nil
}

// number returns the sub-window that a time lies in, start when one begins.
func (l subWindowLog) number(at int64) int64 { return floorDiv(at, l.length) }
func (l subWindowLog) start(w int64) int64   { return w * l.length }

// subCounts is what a state comes to for a call at one time.
type subCounts struct {
	own    int64   // the sub-window of the call's clock
	newest int64   // the one it counts in: its own, or a later one that has begun
	counts []int64 // of newest, which is the last, and of as many before as are in a period
	sum    int64
	begun  int64 // how many sub-windows begin with the call
	branch Branch
}

func (l subWindowLog) count(s State, at int64) subCounts {
	c := subCounts{own: l.number(at)}
	stored, inParts := s.Register(shape)
	switch i, _ := s.Register(newest); {
	case len(s.Log) == 0:
		c.newest, c.counts = c.own, make([]int64, l.parts+1)
	case !inParts:
		l.countTimes(s, &c)
	case stored != l.shape() || len(s.Log) != int(l.parts)+1:
		l.countOthers(s, stored, &c)
	default:
		c.newest = max(c.own, i)
		c.begun = c.newest - i
		if c.begun == 0 {
			c.branch = goesOn
		}
		c.counts = make([]int64, l.parts+1)
		copy(c.counts, s.Log[min(c.begun, l.parts+1):])
	}
	for _, n := range c.counts {
		c.sum += n
	}
	return c
}

// propose counts in the sub-window that lasts now. Nobody is promised permits of a later
// one: it would begin for those who may still count in this one.
func (l subWindowLog) propose(seen State, a Ask) Proposal {
	now, cost := a.Now.UnixNano(), a.Cost
	c := l.count(seen, now)
	p := Proposal{Branch: c.branch, Sure: c.branch != begins}
	switch {
	case a.until() >= l.start(c.newest+1):
		p.Refusal = &Refusal{RetryAfter: time.Duration(l.start(c.newest+1) - now)}
		cost = 0
	case c.sum+cost > l.quota:
		p.Refusal = &Refusal{RetryAfter: time.Duration(l.passes(c, cost) - now)}
		cost = 0
	}
	if p.Refusal == nil || c.branch == recounted {
		p.Write = l.charge(seen, c, cost, l.quota)
	}
	return p
}

// charge counts in the newest sub-window as long as the sum is at most most.
func (l subWindowLog) charge(seen State, c subCounts, cost, most int64) Write {
	i := c.newest - c.begun
	switch {
	case c.branch == goesOn:
		return Write{
			Guards: []Guard{
				{Kind: RegisterIn, Register: newest, Min: c.own, Max: math.MaxInt64},
				{Kind: RegisterIn, Register: shape, Min: l.shape(), Max: l.shape()},
				{Kind: RegisterIn, Register: inUse, Min: math.MinInt64, Max: most - cost},
			},
			Changes: []Change{{Kind: AddAt, From: int(l.parts), Value: cost}, {Kind: Add, Register: inUse, Value: cost}},
		}
	case 0 < c.begun && c.begun <= min(maxSteps, l.parts):
		return l.advance(seen, c, cost, most)
	}
	var guards []Guard
	switch {
	case len(seen.Log) == 0:
		guards = []Guard{{Kind: SizeInOrAbsent}}
	case c.begun > l.parts: // whatever is there is a period old
		guards = []Guard{
			{Kind: RegisterIn, Register: newest, Min: math.MinInt64, Max: i + c.begun - l.parts - 1},
			{Kind: RegisterIn, Register: shape, Min: l.shape(), Max: l.shape()},
		}
	default:
		guards = asSeen(seen)
	}
	return rewrite(seen, l.state(c, cost), guards)
}

// advance begins a sub-window that is not far after the newest.
func (l subWindowLog) advance(seen State, c subCounts, cost, most int64) Write {
	i := c.newest - c.begun
	w := Write{Guards: []Guard{
		{Kind: RegisterIn, Register: newest, Min: i, Max: i},
		{Kind: RegisterIn, Register: shape, Min: l.shape(), Max: l.shape()},
	}}
	gone := int64(0)
	for at, n := range seen.Log[:c.begun] {
		w.Guards = append(w.Guards, Guard{Kind: ElementsIn, From: at, N: 1, Min: n, Max: n}) // none was given back
		gone += n
	}
	w.Guards = append(w.Guards, Guard{Kind: RegisterIn, Register: inUse, Min: math.MinInt64, Max: most - cost + gone})
	w.Changes = []Change{{Kind: Remove, N: int(c.begun)}}
	if c.begun > 1 {
		w.Changes = append(w.Changes, Change{Kind: Append, N: int(c.begun - 1)})
	}
	w.Changes = append(
		w.Changes,
		Change{Kind: Append, N: 1, Value: cost},
		Change{Kind: Add, Register: inUse, Value: cost - gone},
		Change{Kind: Set, Register: newest, Value: c.newest},
	)
	return w
}

// state is what is stored of counts, with so many more in the newest sub-window.
func (l subWindowLog) state(c subCounts, more int64) State {
	counts := slices.Clone(c.counts)
	counts[l.parts] += more
	return State{
		Registers: []Register{{newest, c.newest}, {inUse, c.sum + more}, {shape, l.shape()}},
		Log:       counts,
	}
}

// passes returns when a call that is refused would pass if nobody else came: when
// enough of the oldest counts have left.
func (l subWindowLog) passes(c subCounts, cost int64) int64 {
	over := c.sum + cost - l.quota
	for at, n := range c.counts {
		if over -= n; over <= 0 {
			return l.leaves(c, at)
		}
	}
	return l.leaves(c, int(l.parts))
}

// leaves returns when a count does not count any more.
func (l subWindowLog) leaves(c subCounts, at int) int64 { return l.start(c.newest + 1 + int64(at)) }

func (l subWindowLog) assume(b Branch, now time.Time) State {
	if b == begins {
		return State{}
	}
	if b == recounted { // of an exact list whose times are too old to count
		return State{Log: []int64{logBegan(now.UnixNano() - (l.parts+2)*l.length)}}
	}
	if b == later {
		now = now.Add(-time.Duration(min(maxSteps, l.parts) * l.length))
	}
	return l.state(l.count(State{}, now.UnixNano()), 0)
}

func (l subWindowLog) standing(s State, now time.Time, _ int64) Standing {
	at := now.UnixNano()
	c := l.count(s, at)
	st := Standing{Remaining: max(0, l.quota-c.sum)}
	if st.Remaining == 0 {
		st.RetryAfter = time.Duration(l.passes(c, 1) - at)
	}
	for i, n := range c.counts {
		if n > 0 {
			st.ResetAfter = time.Duration(l.leaves(c, i) - at)
		}
	}
	return st
}

// span is what is left of the sub-window.
func (l subWindowLog) span(seen State, a Ask) time.Duration {
	c := l.count(seen, a.Now.UnixNano())
	return time.Duration(max(0, l.start(c.newest+1)-1-a.from()))
}

// mark is the sub-window that the charge was counted in.
func (l subWindowLog) mark(_ Ask, left State) int64 {
	w, _ := left.Register(newest)
	return w
}

// giveBack counts off, in the sub-window the charge was counted in and while that counts.
func (l subWindowLog) giveBack(c Charge, n int64, seen State, now time.Time) (Write, bool) {
	i, _ := seen.Register(newest)
	if c.Mark > i || c.Mark < max(i, l.number(now.UnixNano()))-l.parts {
		return Write{}, false
	}
	at := int(l.parts - (i - c.Mark))
	return Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: newest, Min: i, Max: i},
			{Kind: RegisterIn, Register: shape, Min: l.shape(), Max: l.shape()},
			{Kind: ElementsIn, From: at, N: 1, Min: n, Max: math.MaxInt64},
		},
		Changes: []Change{{Kind: AddAt, From: at, Value: -n}, {Kind: Add, Register: inUse, Value: -n}},
	}, true
}

// owe counts beyond the quota, until it is twice as much.
func (l subWindowLog) owe(n int64, seen State, now time.Time) (Write, bool) {
	c := l.count(seen, now.UnixNano())
	n = min(n, 2*l.quota-c.sum)
	if n <= 0 {
		return Write{}, false
	}
	return l.charge(seen, c, n, 2*l.quota), true
}
