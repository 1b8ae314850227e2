package engine

import (
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

// A Call asks for a number of permits from all limits of some items.
type Call struct {
	Items []quota.Item
	// Cost is how many permits; 0 only looks whether 1 would pass.
	Cost int64
	// RequestID makes a repeat of a call that was charged an answer, not a second charge,
	// while fewer than [RememberedIDs] other calls with ids were charged on its narrowest
	// item. "" when the call has none.
	RequestID string
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
	// Wait is how long an allowed call should wait for its turn (leaky bucket).
	Wait time.Duration
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
}

// A Verdict is what one limit says to a call.
type Verdict struct {
	Rule    *quota.Rule
	Allowed bool
	Never   bool
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
