package engine

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/memory"
)

const (
	// localItems is how many keys the local store holds.
	localItems = 100_000
	// localRetry is when to come back to a limit that refuses only because the store
	// is away: by then it may be back.
	localRetry = time.Second
)

// local is what a call falls to when the store cannot decide: the same engine
// over a store in this instance, with this instance's share of each limit.
type local struct {
	engine    *Engine
	instances int
	shares    *lru.Cache[*quota.Rule, *quota.Rule]
}

func newLocal(o Options) *local {
	now := o.Now
	if now == nil {
		now = time.Now //nolint:forbidigo // the default of a clock that can be set
	}
	shares, err := lru.New[*quota.Rule, *quota.Rule](maxTrends)
	if err != nil {
		panic(err) // only for a size below 1
	}
	l := &local{
		engine:    newEngine(memory.New(memory.WithCapacity(localItems), memory.WithClock(now)), o),
		instances: o.Instances,
		shares:    shares,
	}
	if l.instances <= 0 {
		l.instances = DefaultInstances
	}
	return l
}

// below is what the rung below the store says: by the rules' OnStoreError.
type below struct {
	passes   bool
	denied   bool // by a limit that denies while the store is away
	degraded Degraded
	views    []view // of all rules; those that were not decided locally are zero
	shares   []*quota.Rule
}

// ask decides a failed answer on this instance alone.
func (l *local) ask(ctx context.Context, a *answer, q question) *below {
	b, item, where := l.prepare(a)
	a.ask = q.ask()
	if b.denied || len(item.Rules) == 0 {
		return b
	}
	ctx = context.WithoutCancel(ctx) // the budget went into waiting for the store; this store is here
	var answered answer
	if q.cost > 0 {
		answered = l.engine.askStore(ctx, item, q)
	} else {
		answered = l.engine.lookAt(ctx, item, q)
	}
	b.passes = answered.passes()
	a.ask = answered.ask
	for i, at := range where {
		b.views[at] = answered.views[i]
	}
	return b
}

// prepare sorts the rules of an item by what they do while the store is away, and
// makes an item of those that decide locally.
func (l *local) prepare(a *answer) (b *below, item *quota.Item, where []int) {
	rules := a.item.Rules
	b = &below{passes: true, degraded: DegradedOpen, views: make([]view, len(rules)), shares: make([]*quota.Rule, len(rules))}
	item = &quota.Item{Key: a.item.Key, Memory: a.item.Memory}
	for i, r := range rules {
		switch policy := r.OnStoreError; {
		case policy == quota.Allow, r.Mode == quota.Shadow:
		case policy == quota.Local:
			share := l.share(r)
			if share == nil {
				b.denied = true
				continue
			}
			b.degraded, b.shares[i] = DegradedLocal, share
			item.Rules = append(item.Rules, share)
			item.Memory = max(item.Memory, share.Limit.Memory())
			where = append(where, i)
		case policy == quota.Deny:
			b.denied = true
		}
	}
	if b.denied {
		b.passes, b.degraded = false, NotDegraded
	}
	return b, item, where
}

// share returns the rule with this instance's share of its limit; nil when there is none.
func (l *local) share(r *quota.Rule) *quota.Rule {
	if s, ok := l.shares.Get(r); ok {
		return s
	}
	part, err := r.Limit.Share(l.instances)
	if err != nil {
		return nil
	}
	s := *r
	s.Limit = part
	l.shares.Add(r, &s)
	return &s
}

// verdict is what the share says, in the terms of the rule.
func (b *below) verdict(i int, r *quota.Rule, now time.Time, cost int64) Verdict {
	v := Verdict{Rule: r, Allowed: true}
	share := b.shares[i]
	switch {
	case b.denied:
		v.Allowed = r.OnStoreError != quota.Deny || r.Mode == quota.Shadow
	case share != nil:
		v = b.views[i].verdict(share, now, cost)
		v.Rule = r
		if v.Never && cost <= r.Limit.Capacity() {
			v.Never, v.RetryAfter = false, localRetry
		}
		return v
	}
	v.Standing = r.Limit.Standing(limit.State{}, now, 0)
	if !v.Allowed {
		v.Remaining, v.RetryAfter = 0, localRetry
	}
	return v
}
