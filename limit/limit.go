package limit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Policy is what one limit allows: a value, compared with ==.
type Policy struct {
	Algorithm string // one of Algorithms
	Quota     int64  // permits per period; of concurrency, how many at once
	// Period of the quota; with a Calendar its longest window; of concurrency, how
	// long a slot is held at most.
	Period time.Duration
	Burst  int64 // permits: size of the token bucket, queue length of the leaky bucket; 0 means quota
	// Calendar makes the windows of a fixed_window or sliding_window_counter those of
	// the calendar. Without one they begin at the multiples of Period since 1970.
	Calendar  Calendar
	AnchorDay int // the day on which a month begins, 1 to 28; 0 means 1
	// SoftPercent is by how much more than the burst, or where there is none the quota,
	// a limit lets pass. What is over is marked so. The rate at which permits come back stays.
	SoftPercent int64
	// Slack is what is added to the period: of a limit that somebody else counts too, who
	// sees calls by so much closer together than they were made.
	Slack time.Duration
	// Resolution makes a sliding_window_log count in so many sub-windows of a period, 2 to
	// 100, for quotas that an exact list of times is too long for. 0 is the exact list.
	Resolution int64
}

// String says the policy as an operator would: "10 per 1s, burst 20".
func (p Policy) String() string {
	if algorithms[p.Algorithm].slots {
		return fmt.Sprintf("%d at once, for %s at most", p.Quota, p.Period)
	}
	s := fmt.Sprintf("%d per %s", p.Quota, p.period())
	if p.Burst > 0 && p.Burst != p.Quota {
		s += fmt.Sprintf(", burst %d", p.Burst)
	}
	if p.Resolution > 0 {
		s += fmt.Sprintf(" in %d parts", p.Resolution)
	}
	return s
}

// soft returns a number of permits with what may pass over it.
func (p Policy) soft(permits int64) int64 { return permits + permits*p.SoftPercent/100 }

// A FieldError says which member of a policy is wrong and what to do about it.
type FieldError struct {
	Field   string // "algorithm", "quota", "period", "burst", "anchor_day", "soft_percent", "slack" or "resolution"
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// algorithm is what one file of this package implements for one policy. All methods
// are pure: the time is an argument, and a state that is passed in is not changed.
type algorithm interface {
	// propose answers a call that saw a state, for a cost ≥ 1. The write it proposes
	// applies to that state, and to every other state for which it is right too.
	propose(seen State, a Ask) Proposal
	// assume returns a state from which propose takes the branch b.
	assume(b Branch, now time.Time) State
	// standing tells what a state leaves at now to a call that was charged cost (0: none).
	standing(s State, now time.Time, charged int64) Standing
	// span returns for how long permits can be leased at most to a call that saw a state.
	span(seen State, a Ask) time.Duration
	// mark tells the charge of a call from others, by the state it left.
	mark(a Ask, left State) int64
	// giveBack returns the write that takes n permits off a charge, as far as they are
	// still kept out. seen is the newest known state.
	giveBack(c Charge, n int64, seen State, now time.Time) (Write, bool)
	// owe returns the write that charges n permits, whether there is room or not.
	owe(n int64, seen State, now time.Time) (Write, bool)
}

// registration is what an algorithm tells of itself.
type registration struct {
	code string // abbreviates it in the names of stored attributes
	make func(Policy) (made, error)

	// Which members of a policy mean something to it.
	calendar, burst, slack, parts bool
	// registers are the names of all that it stores, and log whether it has one.
	registers []string
	log       bool
	// slots is whether permits are held, and come back when they are released.
	slots bool
}

// made is an algorithm for one policy.
type made struct {
	algorithm
	memory   time.Duration // how long a state can matter after its last change
	capacity int64         // the most one call can ever get
}

var algorithms map[string]registration

// Filled here, as the errors of algorithms say policies, and what a policy says depends on this.
func init() {
	algorithms = map[string]registration{
		"token_bucket":           {code: "tb", make: newTokenBucket, burst: true, slack: true, registers: bucketRegisters},
		"leaky_bucket":           {code: "lb", make: newLeakyBucket, burst: true, slack: true, registers: bucketRegisters},
		"sliding_window_log":     {code: "swl", make: newSlidingWindowLog, slack: true, parts: true, registers: logRegisters, log: true},
		"fixed_window":           {code: "fw", make: newFixedWindow, calendar: true, registers: windowRegisters},
		"sliding_window_counter": {code: "swc", make: newSlidingWindowCounter, calendar: true, registers: windowRegisters},
		"interval_refill":        {code: "ir", make: newIntervalRefill, slack: true, registers: intervalRegisters},
		"concurrency":            {code: "cc", make: newConcurrency, slots: true, registers: logRegisters, log: true},
	}
}

// Algorithms returns the names of all algorithms, sorted.
func Algorithms() []string {
	names := make([]string, 0, len(algorithms))
	for name := range algorithms {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// FollowsCalendar reports whether an algorithm can have windows of the calendar.
func FollowsCalendar(algorithm string) bool { return algorithms[algorithm].calendar }

// HasBurst reports whether an algorithm holds permits for a burst.
func HasBurst(algorithm string) bool { return algorithms[algorithm].burst }

// HasSlots reports whether an algorithm's permits are held and released: its period is
// the longest that one is held, and there is no rate.
func HasSlots(algorithm string) bool { return algorithms[algorithm].slots }

// A Limit decides for one policy. It holds no state and is safe for concurrent use.
type Limit struct {
	made
	policy Policy
	code   string
	full   int64
	over   int64 // permits that pass over the policy
}

// New checks the policy and returns its limit. The error is a [*FieldError].
func New(p Policy) (*Limit, error) {
	r, ok := algorithms[p.Algorithm]
	if !ok {
		return nil, &FieldError{"algorithm", fmt.Sprintf("%q is unknown; use one of %s", p.Algorithm, strings.Join(Algorithms(), ", "))}
	}
	if err := p.check(r); err != nil {
		return nil, err
	}
	return r.limit(p)
}

func (p Policy) check(r registration) error {
	switch {
	case p.Quota < 1:
		return &FieldError{"quota", fmt.Sprintf("must be at least 1, not %d", p.Quota)}
	case p.Quota > maxQuota:
		return &FieldError{"quota", fmt.Sprintf("must be at most %d, not %d", int64(maxQuota), p.Quota)}
	case p.Period < time.Millisecond:
		return &FieldError{"period", fmt.Sprintf("must be at least 1ms, not %s", p.Period)}
	case p.Period > maxPeriod:
		return &FieldError{"period", fmt.Sprintf("must be at most %s, not %s", maxPeriod, p.Period)}
	case p.Burst < 0:
		return &FieldError{"burst", fmt.Sprintf("must not be negative, but is %d", p.Burst)}
	case p.Burst > 0 && !r.burst:
		return &FieldError{"burst", fmt.Sprintf("%s has none: remove it, or use token_bucket", p.Algorithm)}
	case p.SoftPercent < 0 || p.SoftPercent > maxSoft:
		return &FieldError{"soft_percent", fmt.Sprintf("must be from 0 to %d, not %d", maxSoft, p.SoftPercent)}
	case p.Slack != 0 && !r.slack:
		return &FieldError{"slack", fmt.Sprintf("%s cannot be widened: remove it, or use sliding_window_log or interval_refill", p.Algorithm)}
	case p.Slack < 0 || p.Slack > p.Period:
		return &FieldError{"slack", fmt.Sprintf("must be from 0s to the period of %s, not %s", p.Period, p.Slack)}
	case p.Resolution != 0 && !r.parts:
		return &FieldError{"resolution", fmt.Sprintf("%s has none: remove it, or use sliding_window_log", p.Algorithm)}
	case p.Resolution != 0 && (p.Resolution < 2 || p.Resolution > maxParts):
		return &FieldError{"resolution", fmt.Sprintf("must be from 2 to %d, or 0 for an exact list, not %d", maxParts, p.Resolution)}
	}
	return p.checkCalendar(r.calendar)
}

// limit makes a limit of a policy that was checked.
func (r registration) limit(p Policy) (*Limit, error) {
	hard := p
	hard.SoftPercent = 0
	m, err := r.make(hard)
	if err != nil {
		return nil, err
	}
	l := &Limit{made: m, policy: p, code: r.code, full: m.full()}
	if p.SoftPercent > 0 {
		if l.made, err = r.make(p); err != nil {
			return nil, err
		}
		l.over = l.made.full() - l.full
	}
	return l, nil
}

// full is how many permits remain where none was used.
func (m made) full() int64 { return m.standing(State{}, time.Unix(0, 0), 0).Remaining }

const (
	maxQuota  = 1<<31 - 1
	maxPeriod = 366 * 24 * time.Hour
	maxSoft   = 1000 // percent
)

// Policy returns what the limit was made from.
func (l *Limit) Policy() Policy { return l.policy }

// Code abbreviates the algorithm where it is part of a stored name: a limit's name
// and algorithm are its identity.
func (l *Limit) Code() string { return l.code }

// Memory is how long a stored state can matter after its last change. Later it is as good as absent.
func (l *Limit) Memory() time.Duration { return l.memory }

// Capacity is the most permits one call can ever get.
func (l *Limit) Capacity() int64 { return l.capacity }

// Full is how many permits remain where none was used.
func (l *Limit) Full() int64 { return l.full }

// A Branch names one of the forms an algorithm's write can have. Which form is
// right depends on the stored state, so with a state too old to tell, it is predicted:
// 0, the one for a limit never used, or 1. Others follow from a state alone.
type Branch uint8

// branches is how many there are at most, those included that only a state tells.
const branches = 4

// A Write is the part of one limit in the conditional write of an item.
type Write struct {
	Guards  []Guard
	Changes []Change
}

// A Proposal is the answer to a call that saw a state: a write to apply, or a
// refusal, rarely both.
type Proposal struct {
	Write
	Branch Branch
	// Sure says that no admission by anyone since can make another branch right
	// (a refusal still can).
	Sure bool
	// Refusal is nil when the write admits the call. A write beside a refusal charges
	// nothing: it puts the state into this policy's terms, and the refusal counts on it.
	Refusal *Refusal
}

// A Refusal is an answer, not an error. It is final for its cost: more admissions
// by anyone only make it longer.
type Refusal struct {
	// RetryAfter is the exact time until the call would pass if nobody else came.
	RetryAfter time.Duration
	// Never says that the cost is above what the limit can ever hold.
	Never bool
	// Open says that the refusal is not final after all: what keeps the call out may be
	// released at any time, and RetryAfter is when to look again.
	Open bool
}

// An Ask is what a call wants: so many permits, at once or for later.
type Ask struct {
	Now  time.Time
	Cost int64 // permits, at least 1
	// Wait is how much later than Now the permits are for: the call waits for its turn.
	Wait time.Duration
	// Span is for how long they may be used from then on: a lease. 0 is at once.
	Span time.Duration
	// MaxWait is the longest a leaky bucket may have the call wait in its queue; 0 is as
	// long as the queue is.
	MaxWait time.Duration
}

// from and until are the first and the last time the permits may be used, in ns since 1970.
func (a Ask) from() int64  { return a.Now.UnixNano() + int64(a.Wait) }
func (a Ask) until() int64 { return a.from() + int64(a.Span) }

// Propose answers a call that saw a state. A proposal made from a state applies to that state.
func (l *Limit) Propose(seen State, a Ask) Proposal {
	if a.Cost > l.capacity {
		return Proposal{Refusal: &Refusal{Never: true}}
	}
	return l.propose(seen, a)
}

// Assume returns a state from which Propose takes branch b: a prediction put as
// something seen. It never refuses a cost that the limit can hold.
func (l *Limit) Assume(b Branch, now time.Time) State { return l.assume(b, now) }

// Standing is what a state leaves.
type Standing struct {
	Remaining  int64         // permits a call could have at once
	RetryAfter time.Duration // until one permit would pass; 0 when it would now
	ResetAfter time.Duration // until all permits are back: a full bucket, an empty log, the window's end
	Wait       time.Duration // leaky bucket: how long the charged call waits for its turn
	Over       bool          // what is used is above the policy, by what soft percents let pass
}

// Standing tells what the state s leaves at now, to a call that was charged that
// many permits in it, or to an onlooker (0).
func (l *Limit) Standing(s State, now time.Time, charged int64) Standing {
	st := l.standing(s, now, charged)
	if l.over > 0 {
		st.Over = st.Remaining < l.over
		st.Remaining = max(0, st.Remaining-l.over)
	}
	return st
}

// Span returns for how long permits can be leased at most to a call that saw a state;
// 0 when this limit leases none.
func (l *Limit) Span(seen State, a Ask) time.Duration { return l.span(seen, a) }

// A Charge is what a call was charged: enough to settle it later.
type Charge struct {
	Cost int64
	Mark int64 // from [Limit.Mark]
}

// Mark tells a charge from others, by the ask that was admitted and the state that left.
func (l *Limit) Mark(a Ask, left State) int64 { return l.mark(a, left) }

// Settle returns the write that makes a charge one of cost permits, from the newest known
// state: less gives back what the charge still keeps out, more is owed, whether there is room
// for it or not. ok is false when nothing is to be written, as it is too late to give back
// or the cost is what was charged. Giving back never lets anyone in that the charge had not kept out.
// The write applies to the state it was made from.
//
// It does not know whether a charge was settled before.
func (l *Limit) Settle(c Charge, cost int64, seen State, now time.Time) (w Write, ok bool) {
	switch {
	case cost < c.Cost:
		w, ok = l.giveBack(c, c.Cost-cost, seen, now)
	case cost > c.Cost:
		w, ok = l.owe(cost-c.Cost, seen, now)
	}
	return w, ok && seen.Holds(w.Guards)
}

// Forms returns a write of each form that this limit can propose or settle with, at its
// largest: the most permits one call can get, on a state as full as it can be. Whoever has to
// fit writes into something measures these.
func (l *Limit) Forms() (forms []Write) {
	now := time.Unix(1<<31, 0)
	asks := []Ask{
		{Now: now, Cost: l.capacity},
		{Now: now, Cost: l.capacity, Wait: time.Millisecond},
		{Now: now, Cost: 1, Wait: time.Millisecond}, // a full queue takes nobody for later
	}
	for b := range Branch(branches) {
		for _, a := range asks {
			seen := l.assume(b, now.Add(a.Wait))
			p := l.propose(seen, a)
			forms = append(forms, p.Write)
			if p.Refusal == nil {
				forms = append(forms, l.settlements(a, seen.After(p.Changes))...)
			}
		}
	}
	return forms
}

// settlements are the writes that settle a charge that left a state.
func (l *Limit) settlements(a Ask, left State) (forms []Write) {
	for _, cost := range []int64{0, a.Cost + l.capacity} {
		if w, ok := l.Settle(Charge{Cost: a.Cost, Mark: l.mark(a, left)}, cost, left, a.Now); ok {
			forms = append(forms, w)
		}
	}
	return forms
}
