package engine

import (
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

// A Call asks for a number of permits from all limits of some items.
type Call struct {
	Items []quota.Item
	// Cost is how many permits; 0 only looks whether 1 would pass. Of a lease it is the most.
	Cost int64
	// RequestID makes a repeat of a call that was charged an answer, not a second charge,
	// while fewer than [RememberedIDs] other calls with ids were charged on its narrowest
	// item, or than [quota.Item.RequestIDs] says. "" when the call has none. A lease has none.
	RequestID string
	// MaxWait is how long the call may wait for its turn: permits of a later time are then
	// charged now, of algorithms that can promise them. 0 is not at all; but the queue of a leaky bucket makes
	// a call wait in any case, and then for no longer.
	MaxWait time.Duration
	// Least, above 0, makes the call a lease: of Least to Cost permits, which may be
	// used until TTL has passed. It gets no more than half of what remains, but Least.
	Least int64
	TTL   time.Duration
	// Tenant is whose call it is, for who observes; "" when that does not matter.
	Tenant string
	// AnyRevision decides by these items also where a newer configuration has counted.
	AnyRevision bool
}

// A Decision is the answer to a call.
type Decision struct {
	// At is the time the decision was made for: the one reading of the clock.
	At      time.Time
	Allowed bool
	// Verdicts has one verdict for each limit, in the order of the plan.
	Verdicts []Verdict
	// Deciding is the verdict that decided: refused, the one with the longest retry;
	// allowed, the one with the smallest remaining share. -1 when no limit matched.
	Deciding int
	// RetryAfter is until the call may pass; 0 when it was allowed or never can be.
	RetryAfter time.Duration
	// Wait is how long an allowed call has to wait for its turn.
	Wait time.Duration
	// Granted is how many permits an allowed call has: of a lease from Least to Cost. A
	// repeat has what the first call was charged.
	Granted int64
	// TTL is how long a lease lasts: as long as was asked for, or as long as can be.
	TTL time.Duration
	// Repeat is whether a call with this request id and cost was charged before, and
	// this one therefore was not.
	Repeat bool
	// Never is whether the cost is above what a limit can ever hold.
	Never bool

	Reason   Reason
	Source   Source
	Degraded Degraded
	// Unknown is whether a write was sent and no answer came: it may have been charged.
	Unknown bool
	// Writes is how many conditional writes were made.
	Writes int

	answers []answer
}

// A Charge is what a call was charged in one item: enough to settle it later.
type Charge struct {
	Key    string // of the item
	Limits []ChargedLimit
}

// A ChargedLimit is the charge of one limit.
type ChargedLimit struct {
	ID   string // of the limit within the item
	Mark int64  // from [limit.Limit.Mark]
}

// Charges returns what an allowed call was charged at the store. There are none of a
// repeat, of a look, and where the store did not decide.
func (d *Decision) Charges() []Charge {
	if !d.Allowed || d.Repeat {
		return nil
	}
	var charges []Charge
	for i := range d.answers {
		a := &d.answers[i]
		if a.outcome != admitted || a.ask.Cost == 0 {
			continue
		}
		c := Charge{Key: a.item.Key}
		for j, r := range a.item.Rules {
			if v := &a.views[j]; v.charged {
				if c.Limits == nil {
					c.Limits = make([]ChargedLimit, 0, len(a.views)-j)
				}
				c.Limits = append(c.Limits, ChargedLimit{ID: r.ID, Mark: v.mark})
			}
		}
		if len(c.Limits) > 0 {
			charges = append(charges, c)
		}
	}
	return charges
}

// A Verdict is what one limit says to a call.
type Verdict struct {
	Rule    *quota.Rule
	Allowed bool
	Never   bool
	// TenantWide is whether the count is the tenant's own, and not that of a subject or
	// another part.
	TenantWide bool
	limit.Standing
}

// Reason says why a call was refused.
type Reason string

const (
	// QuotaUsed: a limit is used up.
	QuotaUsed Reason = "quota"
	// Contended: too many writes were lost; nothing was decided.
	Contended Reason = "contended"
	// HotKey: the key gets more calls than the store takes for one key.
	HotKey Reason = "hot_key"
	// StoreError: the store cannot be asked, and the limit denies then.
	StoreError Reason = "store_error"
)

// Source says what a decision rests on.
type Source string

const (
	// Store: the store decided.
	Store Source = "store"
	// Memory: a remembered state of the store, still exact.
	Memory Source = "memory"
	// BackOff: refused often, this instance asks again later.
	BackOff Source = "backoff"
	// LocalBucket: a bucket of this instance alone.
	LocalBucket Source = "local"
)

// Degraded says which rung of the fallback ladder an answer comes from.
type Degraded string

const (
	// NotDegraded: the store decided, or what is known of it.
	NotDegraded Degraded = ""
	// DegradedLocal: the store is away; the instance's own share of the limit decided.
	DegradedLocal Degraded = "local"
	// DegradedOpen: the store is away; the limit lets calls pass.
	DegradedOpen Degraded = "open"
)
