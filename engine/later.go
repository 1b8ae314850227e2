package engine

import (
	"sort"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

// A call that may wait is decided for a later time: all its limits are asked for permits
// of that time, and it is charged now. A lease is decided for all times until it ends.

const (
	// maxPlans is how many limits a wait is made longer for, one after the other.
	maxPlans = 8
	// minLease is how long a lease lasts at least.
	minLease = time.Millisecond
)

// later reports whether the permits may be for later.
func (q question) later() bool { return q.least > 0 || q.maxWait > 0 }

// plan makes the proposals of a call that may wait, or of a lease, from the states in
// the views: for the earliest time at which no limit refuses. If there is none in time,
// the proposals are those for the time it is to wait in any case.
func (a *answer) plan(q question) {
	a.ask = q.ask()
	if q.least > 0 {
		a.grant(q)
		return
	}
	for range maxPlans {
		a.proposeAll()
		wait, refused, bookable := a.waitFor()
		switch {
		case !refused:
			return
		case bookable && a.ask.Wait < wait && wait <= q.maxWait:
			a.ask.Wait = wait
			continue
		}
		break
	}
	a.ask = q.ask()
	a.proposeAll()
}

// waitFor is the longest time until a limit that refuses would not, and whether one can
// wait for that.
func (a *answer) waitFor() (wait time.Duration, refused, bookable bool) {
	bookable = true
	for i, r := range a.item.Rules {
		if refusal := a.views[i].proposal.Refusal; refusal != nil && r.Mode != quota.Shadow {
			wait, refused = max(wait, refusal.RetryAfter), true
			bookable = bookable && !refusal.Never && !refusal.Open
		}
	}
	return wait, refused, bookable
}

// grant makes the proposals of a lease: for half of what remains, so that something is
// left for others, but no less than the least of it and no more than was asked for.
func (a *answer) grant(q question) {
	a.ask.Span = a.span(q.ttl)
	if a.ask.Span < minLease {
		a.noLease()
		return
	}
	if a.fits(q.least) {
		atMost := 2 * q.cost
		most := q.least + int64(sort.Search(int(atMost-q.least), func(n int) bool { return !a.fits(q.least + 1 + int64(n)) }))
		a.ask.Cost = min(q.cost, max(q.least, (most+1)/2))
	}
	a.proposeAll()
}

// fits reports whether no limit refuses that many permits.
func (a *answer) fits(cost int64) bool {
	ask := a.ask
	ask.Cost = cost
	for i, r := range a.item.Rules {
		if r.Mode != quota.Shadow && r.Limit.Propose(a.views[i].state, ask).Refusal != nil {
			return false
		}
	}
	return true
}

// span is how long a lease can last.
func (a *answer) span(ttl time.Duration) time.Duration {
	for i, r := range a.item.Rules {
		if r.Mode != quota.Shadow {
			ttl = min(ttl, r.Limit.Span(a.views[i].state, a.ask))
		}
	}
	return ttl
}

// noLease refuses a lease that would last for too short: for ever where the limit leases
// none, else until its next window has begun.
func (a *answer) noLease() {
	for i, r := range a.item.Rules {
		v := &a.views[i]
		v.proposal = limit.Proposal{}
		if span := r.Limit.Span(v.state, a.ask); span < minLease {
			v.proposal.Refusal = &limit.Refusal{RetryAfter: minLease, Never: span == 0}
		}
	}
}

// judgeLater is judge for a call whose permits may be for later. Which branch is right is
// not predicted: such calls are fewer, and a wrong guess costs one more write.
func (e *Engine) judgeLater(a *answer, q question) {
	a.plan(q)
	if !a.refuses() {
		return
	}
	for i, r := range a.item.Rules {
		v := &a.views[i]
		switch {
		case r.Mode == quota.Shadow:
		case v.refuses(q.now):
			a.outcome, a.source = refused, Memory
		case v.backsOff(q.now) && a.outcome == open:
			v.proposal = limit.Proposal{Refusal: &limit.Refusal{RetryAfter: v.backOff.Sub(q.now)}}
			a.outcome, a.source = refused, BackOff
		}
	}
	if a.outcome != open {
		return
	}
	// What refuses is too old to be believed: the store is asked as if it did not.
	for i, r := range a.item.Rules {
		if v := &a.views[i]; v.proposal.Refusal != nil && len(v.proposal.Changes) == 0 {
			v.proposal = r.Limit.Propose(r.Limit.Assume(0, q.now), a.ask)
		}
	}
}
