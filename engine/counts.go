package engine

import (
	"context"
	"time"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// Counts tells what the limits of some items have counted, and what they would say to a
// call of that cost, at least 1. It charges nothing. Unlike a call of cost 0 it always asks the
// store, one read for each item and shard, and takes no answer but the store's: the
// error is a [*store.Error], or ctx's. at is the time it is true for.
func (e *Engine) Counts(ctx context.Context, items []quota.Item, cost int64) (at time.Time, verdicts []Verdict, err error) {
	q := question{now: e.now(), cost: max(cost, 1), anyRevision: true}
	ctx, cancel := context.WithTimeout(ctx, e.budget)
	defer cancel()
	for i := range items {
		of, err := e.counts(ctx, &items[i], q)
		if err != nil {
			return q.now, nil, err
		}
		verdicts = append(verdicts, of...)
	}
	return q.now, verdicts, nil
}

// counts reads all that there is of one item.
func (e *Engine) counts(ctx context.Context, item *quota.Item, q question) ([]Verdict, error) {
	var whole []Verdict
	for _, part := range partsOf(item) {
		a := e.answer(part, q)
		if err := e.read(ctx, &a, q.now); err != nil {
			return nil, err
		}
		a.propose(q)
		for j, r := range part.Rules {
			v := a.views[j].verdict(r, q.now, 0)
			if len(whole) < len(part.Rules) {
				whole = append(whole, v)
				continue
			}
			whole[j] = whole[j].beside(v)
		}
	}
	for j, r := range item.Rules {
		whole[j].Rule = r
	}
	return whole, nil
}

// beside adds what another shard of the same limit has: a call passes where one lets it.
func (v Verdict) beside(other Verdict) Verdict {
	v.Remaining += other.Remaining
	v.ResetAfter = max(v.ResetAfter, other.ResetAfter)
	v.Over = v.Over || other.Over
	switch {
	case v.Allowed:
	case other.Allowed:
		v.Allowed, v.Never, v.RetryAfter = true, false, 0
	default:
		v.Never, v.RetryAfter = v.Never && other.Never, min(v.RetryAfter, other.RetryAfter)
	}
	return v
}

// partsOf are the shards of an item that is spread, else the item.
func partsOf(item *quota.Item) []*quota.Item {
	if item.Shards < 2 {
		return []*quota.Item{item}
	}
	parts := make([]*quota.Item, item.Shards)
	for n := range parts {
		parts[n] = shard(item, n)
	}
	return parts
}

// Reset makes limits as they are that were never used: those that the items have, and no others that
// share them. Request ids stay known, so that a repeat of a call from before is still no second
// charge. It is one write for each item and shard, and may be repeated when it fails: the error
// is a [*store.Error], or ctx's, and then some of them may be reset.
//
// Other instances may refuse from memory for 10 s more. What calls that are under way are charged
// counts before or after it; a charge from before that is settled later may give back what was
// charged since.
func (e *Engine) Reset(ctx context.Context, items []quota.Item) error {
	now := e.now()
	ctx, cancel := context.WithTimeout(ctx, e.budget)
	defer cancel()
	for i := range items {
		for _, part := range partsOf(&items[i]) {
			if err := e.reset(ctx, part, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Engine) reset(ctx context.Context, item *quota.Item, now time.Time) error {
	w := store.Write{Key: item.Key, Parts: make([]store.Part, len(item.Rules)), ExpiresAt: now.Add(item.Memory + grace)}
	for i, r := range item.Rules {
		w.Parts[i] = store.Part{Limit: r.ID, Write: r.Limit.Reset()}
	}
	_, err := e.store.Apply(ctx, w)
	if err != nil && store.AsError(err).Unknown && ctx.Err() == nil {
		_, err = e.store.Apply(ctx, w) // made twice it is the same
	}
	e.memory.drop(item.Key) // also then: it may have been made
	if err != nil {
		return store.AsError(err)
	}
	return nil
}

// drop forgets a key. Calls under way keep theirs, and what they learn goes with it.
func (m *remembered) drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys.Remove(name)
}
