package engine

import (
	"time"
)

// An Observation is what one call came to: everything that metrics are made of.
type Observation struct {
	Tenant string // from [Call.Tenant]
	Cost   int64
	// Decision is nil when there is none: Err says why.
	Decision *Decision
	Err      error
	Took     time.Duration
}

// observed tells of a call that began then.
func (e *Engine) observed(c Call, began time.Time, d *Decision, err error) {
	o := Observation{Tenant: c.Tenant, Cost: c.Cost, Err: err, Took: time.Since(began)}
	if err == nil {
		o.Decision = d
	}
	e.observe(o)
}

// StoreAway reports whether the store is taken to be away: its circuit is open.
func (e *Engine) StoreAway() bool {
	b, ok := e.store.(*breaker)
	return ok && b.open()
}
