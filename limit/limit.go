package limit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Policy is what one limit allows: a value, compared with ==.
type Policy struct {
	Algorithm string        // one of Algorithms
	Quota     int64         // permits per period
	Period    time.Duration // of the quota; with a Calendar its longest window
	Burst     int64         // permits: size of the token bucket, queue length of the leaky bucket; 0 means quota
	// Calendar makes the windows of a fixed_window or sliding_window_counter those of
	// the calendar. Without one they begin at the multiples of Period since 1970.
	Calendar  Calendar
	AnchorDay int // the day on which a month begins, 1 to 28; 0 means 1
}

// String says the policy as an operator would: "10 per 1s, burst 20".
func (p Policy) String() string {
	s := fmt.Sprintf("%d per %s", p.Quota, p.period())
	if p.Burst > 0 && p.Burst != p.Quota {
		s += fmt.Sprintf(", burst %d", p.Burst)
	}
	return s
}

// A FieldError says which member of a policy is wrong and what to do about it.
type FieldError struct {
	Field   string // "algorithm", "quota", "period", "burst" or "anchor_day"
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// algorithm is what one file of this package implements for one policy. All methods
// are pure: the time is an argument, and a state that is passed in is not changed.
type algorithm interface {
	// propose answers a call of cost ≥ 1 that saw a state. The write it proposes
	// applies to that state, and to every other state for which it is right too.
	propose(seen State, now time.Time, cost int64) Proposal
	// assume returns a state from which propose takes the branch b.
	assume(b Branch, now time.Time) State
	// standing tells what a state leaves at now to a call that was charged cost (0: none).
	standing(s State, now time.Time, charged int64) Standing
	// giveBack returns the write that undoes what is left of a charge of cost permits,
	// made at the time at and leaving the state charged. seen is the newest known state.
	giveBack(charge Charge, seen State, now time.Time) (Write, bool)
}

// registration is what an algorithm tells of itself: how its identity is
// abbreviated in the names of stored attributes, how it is made from a policy, and
// whether its windows can be those of the calendar.
type registration struct {
	code     string
	make     func(Policy) (a algorithm, memory time.Duration, capacity int64, err error)
	calendar bool
}

var algorithms = map[string]registration{
	"token_bucket":           {"tb", newTokenBucket, false},
	"leaky_bucket":           {"lb", newLeakyBucket, false},
	"sliding_window_log":     {"swl", newSlidingWindowLog, false},
	"fixed_window":           {"fw", newFixedWindow, true},
	"sliding_window_counter": {"swc", newSlidingWindowCounter, true},
	"interval_refill":        {"ir", newIntervalRefill, false},
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

// A Limit decides for one policy. It holds no state and is safe for concurrent use.
type Limit struct {
	policy    Policy
	code      string
	memory    time.Duration
	capacity  int64
	full      int64
	algorithm algorithm
}

// New checks the policy and returns its limit. The error is a [*FieldError].
func New(p Policy) (*Limit, error) {
	r, ok := algorithms[p.Algorithm]
	switch {
	case !ok:
		return nil, &FieldError{"algorithm", fmt.Sprintf("%q is unknown; use one of %s", p.Algorithm, strings.Join(Algorithms(), ", "))}
	case p.Quota < 1:
		return nil, &FieldError{"quota", fmt.Sprintf("must be at least 1, not %d", p.Quota)}
	case p.Quota > maxQuota:
		return nil, &FieldError{"quota", fmt.Sprintf("must be at most %d, not %d", int64(maxQuota), p.Quota)}
	case p.Period < time.Millisecond:
		return nil, &FieldError{"period", fmt.Sprintf("must be at least 1ms, not %s", p.Period)}
	case p.Period > maxPeriod:
		return nil, &FieldError{"period", fmt.Sprintf("must be at most %s, not %s", maxPeriod, p.Period)}
	case p.Burst < 0:
		return nil, &FieldError{"burst", fmt.Sprintf("must not be negative, but is %d", p.Burst)}
	}
	if err := p.checkCalendar(r.calendar); err != nil {
		return nil, err
	}
	a, memory, capacity, err := r.make(p)
	if err != nil {
		return nil, err
	}
	return r.limit(p, a, memory, capacity), nil
}

func (r registration) limit(p Policy, a algorithm, memory time.Duration, capacity int64) *Limit {
	full := a.standing(State{}, time.Unix(0, 0), 0).Remaining
	return &Limit{policy: p, code: r.code, memory: memory, capacity: capacity, full: full, algorithm: a}
}

const (
	maxQuota  = 1<<31 - 1
	maxPeriod = 366 * 24 * time.Hour
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
}

// Propose answers a call of cost permits, at least 1, that saw a state.
// A proposal made from a state applies to that state.
func (l *Limit) Propose(seen State, now time.Time, cost int64) Proposal {
	if cost > l.capacity {
		return Proposal{Refusal: &Refusal{Never: true}}
	}
	return l.algorithm.propose(seen, now, cost)
}

// Assume returns a state from which Propose takes branch b: a prediction put as
// something seen. It never refuses a cost that the limit can hold.
func (l *Limit) Assume(b Branch, now time.Time) State { return l.algorithm.assume(b, now) }

// Standing is what a state leaves.
type Standing struct {
	Remaining  int64         // permits a call could have at once
	RetryAfter time.Duration // until one permit would pass; 0 when it would now
	ResetAfter time.Duration // until all permits are back: a full bucket, an empty log, the window's end
	Wait       time.Duration // leaky bucket: how long the charged call waits for its turn
}

// Standing tells what the state s leaves at now, to a call that was charged that
// many permits in it, or to an onlooker (0).
func (l *Limit) Standing(s State, now time.Time, charged int64) Standing {
	return l.algorithm.standing(s, now, charged)
}

// A Charge is an admission that may be undone: when and what it took and the state it left.
type Charge struct {
	At   time.Time
	Cost int64
	Left State
}

// GiveBack returns the write that undoes what is left of a charge, made from the
// newest known state of the limit. ok is false when nothing is left to give back.
// It never lets anyone in that the charge had not kept out.
func (l *Limit) GiveBack(c Charge, seen State, now time.Time) (w Write, ok bool) {
	return l.algorithm.giveBack(c, seen, now)
}
