package engine

import (
	"context"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// look tells for each item whether one permit would pass, and charges nothing.
func (e *Engine) look(ctx context.Context, items []quota.Item, q question) []answer {
	answers := make([]answer, len(items))
	for i := range items {
		a := e.lookAt(ctx, &items[i], q)
		if a.outcome == failed && e.local != nil {
			a.below = e.local.ask(ctx, &a, q)
		}
		answers[i] = a
	}
	return answers
}

// lookAt reads one item, unless memory knows that it refuses.
func (e *Engine) lookAt(ctx context.Context, item *quota.Item, q question) answer {
	one := question{now: q.now, cost: 1}
	a := e.answer(item, one)
	a.key.mu.Lock()
	a.key.recall(&a, one)
	e.judge(&a, one)
	a.key.mu.Unlock()
	if a.outcome == refused && a.source == Memory {
		return a
	}
	ids := make([]string, len(item.Rules))
	for i, r := range item.Rules {
		ids[i] = r.ID
	}
	a.source = Store
	states, err := e.store.Read(ctx, item.Key, ids)
	if err != nil {
		a.fail(store.AsError(err))
		return a
	}
	for i := range a.views {
		a.views[i].state, a.views[i].at = states[i], q.now
	}
	a.propose(one)
	a.outcome = a.verdict()
	return a
}
