package limit

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// gcra is the generic cell rate algorithm, the token bucket and the leaky bucket.
//
// Its state is one time, the theoretical arrival time (tat): the moment at which
// the bucket would be full again. Beside it stands the interval the tat was counted
// in (t), because a tat means nothing without: a customer who used up 10 an hour
// and moves to 10 a second must not wait for the hour.
//
// All times are nanoseconds since 1970, all registers integers.
type gcra struct {
	interval int64 // ns in which one permit comes back: T = ceil(period/quota)
	depth    int64 // ns a full bucket holds: burst·T
	queue    bool  // leaky bucket: an admitted call waits for its turn
}

const (
	tat      = "tat" // register: when the bucket is full again
	interval = "t"   // register: the T that tat was counted in
)

// The branches of a bucket.
const (
	rested  Branch = iota // full, or never used: tat < now or absent
	busy                  // filling up: now ≤ tat
	convert               // busy, counted in another interval
)

func newTokenBucket(p Policy) (algorithm, time.Duration, int64, error) { return newGCRA(p, false) }
func newLeakyBucket(p Policy) (algorithm, time.Duration, int64, error) { return newGCRA(p, true) }

func newGCRA(p Policy, queue bool) (algorithm, time.Duration, int64, error) {
	const perSecond = 1_000_000
	if p.Quota > perSecond && float64(p.Quota)/p.Period.Seconds() > perSecond {
		return nil, 0, 0, &FieldError{"quota", fmt.Sprintf("%s is more than %d a second, finer than this limit can count; lease permits in batches from a smaller one", p, perSecond)}
	}
	burst := p.Burst
	if burst == 0 {
		burst = p.Quota
	}
	t := (int64(p.Period) + p.Quota - 1) / p.Quota
	if burst > int64(maxDepth)/t {
		return nil, 0, 0, &FieldError{"burst", fmt.Sprintf("%d takes more than %s to come back at %d per %s; use a smaller burst", burst, maxDepth, p.Quota, p.Period)}
	}
	return gcra{interval: t, depth: burst * t, queue: queue}, time.Duration(burst * t), burst, nil
}

const maxDepth = 10 * 366 * 24 * time.Hour

func (g gcra) propose(seen State, now time.Time, cost int64) Proposal {
	at, n := now.UnixNano(), cost*g.interval
	last, t, ok := g.registers(seen)
	if !ok || last < at {
		return Proposal{Branch: rested, Write: Write{
			Guards:  []Guard{{Kind: RegisterInOrAbsent, Register: tat, Min: math.MinInt64, Max: at - 1}},
			Changes: []Change{{Kind: Set, Register: tat, Value: at + n}, {Kind: Set, Register: interval, Value: g.interval}},
		}}
	}
	latest := at + g.depth - n
	if t != g.interval {
		return g.convert(last, t, at, latest, n)
	}
	if last > latest {
		return Proposal{Refusal: &Refusal{RetryAfter: time.Duration(last - latest)}}
	}
	return Proposal{Branch: busy, Sure: true, Write: Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: tat, Min: at, Max: latest},
			{Kind: RegisterIn, Register: interval, Min: g.interval, Max: g.interval},
		},
		Changes: []Change{{Kind: Add, Register: tat, Value: n}},
	}}
}

// convert proposes to count in this limit's interval from now on. That is written
// down even when the call is refused: else the bucket would go on filling at the old rate.
func (g gcra) convert(last, t, at, latest, n int64) Proposal {
	p := Proposal{Branch: convert, Sure: true}
	counted := g.counted(last, t, at)
	charged := counted + n
	if counted > latest {
		p.Refusal = &Refusal{RetryAfter: time.Duration(counted - latest)}
		charged = counted
	}
	p.Guards = []Guard{
		{Kind: RegisterIn, Register: tat, Min: last, Max: last},
		{Kind: RegisterIn, Register: interval, Min: t, Max: t},
	}
	p.Changes = []Change{
		{Kind: Set, Register: tat, Value: charged},
		{Kind: Set, Register: interval, Value: g.interval},
	}
	return p
}

// counted returns the tat as of this limit's interval: permits in use stay in use.
func (g gcra) counted(last, t, at int64) int64 {
	if t == g.interval || last <= at {
		return last
	}
	// ⌈(last−at)·T/t⌉ in 128 bits; beyond the depth the bucket is used up, no more.
	hi, lo := bits.Mul64(uint64(last-at), uint64(g.interval))
	lo, carry := bits.Add64(lo, uint64(t-1), 0)
	hi += carry
	if t <= 0 || hi >= uint64(t) {
		return at + g.depth
	}
	inUse, _ := bits.Div64(hi, lo, uint64(t))
	return at + int64(min(inUse, uint64(g.depth)))
}

func (g gcra) registers(s State) (last, t int64, ok bool) {
	last, ok = s.Register(tat)
	t, known := s.Register(interval)
	if !known {
		t = g.interval
	}
	return last, t, ok
}

func (g gcra) assume(b Branch, now time.Time) State {
	if b != busy {
		return State{}
	}
	return State{Registers: []Register{{tat, now.UnixNano()}, {interval, g.interval}}}
}

func (g gcra) standing(s State, now time.Time, charged int64) Standing {
	at := now.UnixNano()
	last, t, ok := g.registers(s)
	full := max(g.counted(last, t, at), at)
	if !ok {
		full = at
	}
	st := Standing{
		Remaining:  max(0, at+g.depth-full) / g.interval,
		RetryAfter: time.Duration(max(0, full+g.interval-g.depth-at)),
		ResetAfter: time.Duration(full - at),
	}
	if g.queue && charged > 0 {
		st.Wait = time.Duration(max(0, full-charged*g.interval-at))
	}
	return st
}

// giveBack moves the tat back by what is left of the charge: what the bucket has
// filled up since is nobody's to give.
func (g gcra) giveBack(c Charge, _ State, now time.Time) (Write, bool) {
	left, ok := c.Left.Register(tat)
	n := min(c.Cost*g.interval, left-now.UnixNano())
	if !ok || n <= 0 {
		return Write{}, false
	}
	return Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: tat, Min: left, Max: math.MaxInt64},
			{Kind: RegisterIn, Register: interval, Min: g.interval, Max: g.interval},
		},
		Changes: []Change{{Kind: Add, Register: tat, Value: -n}},
	}, true
}
