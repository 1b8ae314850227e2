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
	// register, absent until something is given back: how much ever was, in ns. The charges
	// of a bucket drain one after the other, and what was given back of one lets the others
	// drain sooner.
	back = "back"
	// register, absent until something is promised for later: until when. A charge for
	// later takes nothing from what drains before.
	ahead = "ahead"
)

// The branches of a bucket.
const (
	rested  Branch = iota // full, or never used: tat < now or absent
	busy                  // filling up: now ≤ tat
	convert               // busy, counted in another interval
)

func newTokenBucket(p Policy) (made, error) { return newGCRA(p, false) }
func newLeakyBucket(p Policy) (made, error) { return newGCRA(p, true) }

func newGCRA(p Policy, queue bool) (made, error) {
	burst := p.Burst
	if burst == 0 {
		burst = p.Quota
	}
	burst = p.soft(burst)
	period := int64(p.Period + p.Slack)
	t := (period + p.Quota - 1) / p.Quota
	if lost := t*p.Quota - period; lost > period/maxLoss {
		return made{}, &FieldError{"quota", fmt.Sprintf("%s would be one permit in %.1f ns, and intervals are whole nanoseconds: use %d", p, float64(period)/float64(p.Quota), period/t)}
	}
	if burst > int64(maxDepth)/t {
		return made{}, &FieldError{"burst", fmt.Sprintf("%d takes more than %s to come back at %d per %s; use a smaller burst", burst, maxDepth, p.Quota, p.Period)}
	}
	return made{gcra{interval: t, depth: burst * t, queue: queue}, time.Duration(burst * t), burst}, nil
}

// maxLoss is the part of a rate that may be lost as the interval is rounded up: a thousandth.
const maxLoss = 1000

const maxDepth = 10 * 366 * 24 * time.Hour

// propose charges permits as of the last time they may be used, and lets pass what there
// is room for at the first. So those of a wait are taken from the bucket as it will be then,
// and those of a lease are kept out for as long as it lasts.
func (g gcra) propose(seen State, a Ask) Proposal {
	at, n := a.until(), a.Cost*g.interval
	if n+int64(a.Span) > g.depth {
		return Proposal{Refusal: &Refusal{Never: true}} // no such span: see span
	}
	latest := g.latest(a, n)
	last, t, ok := g.registers(seen)
	p := Proposal{Branch: rested}
	switch {
	case !ok || last < at:
		p.Write = g.start(at, n)
	case t != g.interval:
		p = g.convert(seen, a, latest)
	case last > latest:
		return Proposal{Refusal: g.refusal(a, last-latest)}
	default:
		p = Proposal{Branch: busy, Sure: true, Write: g.add(at, latest, n)}
	}
	if a.Wait+a.Span > 0 && p.Refusal == nil {
		g.promise(&p.Write, seen, a)
	}
	return p
}

// start charges a bucket that is full.
func (g gcra) start(at, n int64) Write {
	return Write{
		Guards:  []Guard{{Kind: RegisterInOrAbsent, Register: tat, Min: math.MinInt64, Max: at - 1}},
		Changes: []Change{{Kind: Set, Register: tat, Value: at + n}, {Kind: Set, Register: interval, Value: g.interval}},
	}
}

// add charges a bucket that fills up.
func (g gcra) add(at, latest, n int64) Write {
	return Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: tat, Min: at, Max: latest},
			{Kind: RegisterIn, Register: interval, Min: g.interval, Max: g.interval},
		},
		Changes: []Change{{Kind: Add, Register: tat, Value: n}},
	}
}

// promise writes down until when permits are promised: a little more, so that those who
// promise at the same time write the same.
func (g gcra) promise(w *Write, seen State, a Ask) {
	coarse := max(int64(a.Wait+a.Span)/8, 1)
	to := (a.until()/coarse + 1) * coarse
	if other, ok := seen.Register(ahead); ok {
		to = max(to, other)
	}
	w.Guards = append(w.Guards, Guard{Kind: RegisterInOrAbsent, Register: ahead, Min: math.MinInt64, Max: to})
	w.Changes = append(w.Changes, Change{Kind: Set, Register: ahead, Value: to})
}

// latest returns the last tat from which n may be taken. A queue is as long for those who
// would wait before they join it: it is a wait already.
func (g gcra) latest(a Ask, n int64) int64 {
	if !g.queue {
		return a.from() + g.depth - n
	}
	latest := a.Now.UnixNano() + g.depth - n
	if a.MaxWait > 0 {
		latest = min(latest, a.Now.UnixNano()+int64(a.MaxWait))
	}
	return latest
}

// refusal is until the tat is not late any more, which is so much now. In a queue it is by now.
func (g gcra) refusal(a Ask, late int64) *Refusal {
	if g.queue {
		return &Refusal{RetryAfter: time.Duration(late)}
	}
	return &Refusal{RetryAfter: a.Wait + time.Duration(late)}
}

// convert proposes to count in this limit's interval from now on. That is written
// down even when the call is refused: else the bucket would go on filling at the old rate.
// Charges that were made in the old interval cannot be given back any more.
func (g gcra) convert(seen State, a Ask, latest int64) Proposal {
	p := Proposal{Branch: convert, Sure: true}
	at := a.until()
	last, t, _ := g.registers(seen)
	counted := g.counted(last, t, at)
	charged := counted + a.Cost*g.interval
	if counted > latest {
		p.Refusal = g.refusal(a, counted-latest)
		charged = counted
	}
	p.Write = g.rewrite(seen, charged, last-a.Now.UnixNano())
	return p
}

// rewrite replaces a tat of another interval, and voids what was charged in it and
// drains within so long.
func (g gcra) rewrite(seen State, to, void int64) Write {
	last, t, _ := g.registers(seen)
	return Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: tat, Min: last, Max: last},
			{Kind: RegisterIn, Register: interval, Min: t, Max: t},
		},
		Changes: []Change{
			{Kind: Set, Register: tat, Value: to},
			{Kind: Set, Register: interval, Value: g.interval},
			{Kind: AddFrom, Register: back, Value: min(void, maxDebt)},
		},
	}
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
	if b != busy && b != convert {
		return State{}
	}
	t := g.interval
	if b == convert {
		t++
	}
	return State{Registers: []Register{{tat, now.UnixNano()}, {interval, t}}}
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

// span leaves room for one permit, and for more where the bucket holds more: a lease
// takes as much room as it lasts. Queues lease nothing: their permits have a time each.
func (g gcra) span(State, Ask) time.Duration {
	if g.queue {
		return 0
	}
	return time.Duration(min(g.depth/2, g.depth-g.interval))
}

// mark is until when the charge drains, and what was given back before.
func (g gcra) mark(_ Ask, left State) int64 {
	last, _ := left.Register(tat)
	given, _ := left.Register(back)
	return last + given
}

// giveBack moves the tat back by what is left of the charge: what the bucket has
// filled up since, or fills up before what is promised, is nobody's to give.
func (g gcra) giveBack(c Charge, n int64, seen State, now time.Time) (Write, bool) {
	given, _ := seen.Register(back)
	promised, ok := seen.Register(ahead)
	if !ok {
		promised = math.MinInt64
	}
	drained := c.Mark - given // when all of the charge has
	d := min(n*g.interval, drained-max(now.UnixNano(), promised))
	return Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: tat, Min: drained, Max: math.MaxInt64},
			{Kind: RegisterIn, Register: interval, Min: g.interval, Max: g.interval},
			{Kind: RegisterInOrAbsent, Register: back, Min: math.MinInt64, Max: given},
			{Kind: RegisterInOrAbsent, Register: ahead, Min: math.MinInt64, Max: promised},
		},
		Changes: []Change{{Kind: Add, Register: tat, Value: -d}, {Kind: AddFrom, Register: back, Value: d}},
	}, d > 0
}

// maxDebt is how far a tat may be taken, in ns.
const maxDebt = int64(maxDepth)

// owe may take the tat further than the bucket is deep.
func (g gcra) owe(n int64, seen State, now time.Time) (Write, bool) {
	at := now.UnixNano()
	n = min(n, maxDebt/g.interval) * g.interval
	last, t, ok := g.registers(seen)
	switch {
	case !ok || last < at:
		return g.start(at, n), true
	case t != g.interval:
		return g.rewrite(seen, g.counted(last, t, at)+n, last-at), true
	}
	return g.add(at, at+maxDebt, n), last <= at+maxDebt
}
