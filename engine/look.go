package engine

import (
	"context"
	"time"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// look tells for each item whether one permit would pass, and charges nothing.
func (e *Engine) look(ctx context.Context, items []quota.Item, q question) []answer {
	answers := make([]answer, len(items))
	for i := range items {
		look := e.lookAt
		if items[i].Shards > 1 {
			look = e.lookAtShards
		}
		a := look(ctx, &items[i], q)
		if a.outcome == failed && e.local != nil {
			a.below = e.local.ask(ctx, &a, q)
		}
		answers[i] = a
	}
	return answers
}

// lookAtShards looks where the call would be asked first, and where then.
func (e *Engine) lookAtShards(ctx context.Context, item *quota.Item, q question) answer {
	first, second := e.pick(item.Shards, q)
	a := e.lookAt(ctx, shard(item, first), q)
	if a.outcome == refused {
		a = e.lookAt(ctx, shard(item, second), q)
	}
	return a
}

// lookAt reads one item, unless memory knows that it refuses.
func (e *Engine) lookAt(ctx context.Context, item *quota.Item, q question) answer {
	one := question{now: q.now, cost: 1, anyRevision: true}
	a := e.answer(item, one)
	a.key.mu.Lock()
	a.key.recall(&a, one)
	e.judge(&a, one)
	a.key.mu.Unlock()
	if a.outcome == refused && a.source == Memory {
		return a
	}
	a.source = Store
	if err := e.read(ctx, &a, q.now); err != nil {
		a.fail(err)
		return a
	}
	a.propose(one)
	a.outcome = a.verdict()
	return a
}

// read reads the states of an answer's item.
func (e *Engine) read(ctx context.Context, a *answer, now time.Time) *store.Error {
	ids := make([]string, len(a.item.Rules))
	for i, r := range a.item.Rules {
		ids[i] = r.ID
	}
	states, err := e.store.Read(ctx, a.item.Key, ids)
	if err != nil {
		return store.AsError(err)
	}
	a.take(states, now)
	return nil
}
