package engine

import (
	"context"
	"time"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

const (
	// maxWrites bounds one decision. Two are enough while only admissions happen: a
	// failed write refuses or moves on a branch. A reset, a settlement or a changed
	// policy can move state back.
	maxWrites = 8
	// grace is how long an item outlives what it is needed for, as clocks differ.
	grace = 24 * time.Hour
)

// ask decides one item, and asks the rung below when the store cannot.
func (e *Engine) ask(ctx context.Context, item *quota.Item, q question) answer {
	if item.Shards > 1 {
		return e.askShards(ctx, item, q)
	}
	return e.askItem(ctx, item, q)
}

func (e *Engine) askItem(ctx context.Context, item *quota.Item, q question) answer {
	a := e.askStore(ctx, item, q)
	if a.outcome == failed && e.local != nil {
		a.below = e.local.ask(ctx, &a, q)
	}
	return a
}

// askStore is the decision loop: propose, apply, and if the guards failed propose
// again from the state that came back. Every proposal and the judgement of every
// failed write use the same now.
func (e *Engine) askStore(ctx context.Context, item *quota.Item, q question) answer {
	a := e.enter(ctx, item, q)
	if a.outcome != open {
		return a // from memory, without a write
	}
	defer func() { a.key.leave(&a) }()

	for {
		write, some := a.write(q.now)
		switch {
		case !some:
			a.outcome = a.verdict()
		case a.writes == maxWrites && a.ids.sent != nil:
			a.fail(a.ids.sent)
		case a.writes == maxWrites:
			a.outcome = undecided
		case e.apply(ctx, &a, write, q.now):
			if a.outcome = a.verdict(); a.outcome == admitted {
				a.mark()
			}
		case a.ids.repeats() && a.err == nil:
			a.outcome = a.ids.outcome()
		case a.isOutdated() && a.err == nil:
			a.outcome = outdated
		case a.err == nil:
			a.propose(q) // from the state that the failed write told: no read
			continue
		case a.ids.mayRetry(ctx, a.err):
			a.err = nil
			continue
		default:
			a.fail(a.ids.unknown(a.err))
		}
		return e.conclude(a, q)
	}
}

// apply makes a write and takes what came back into the views.
func (e *Engine) apply(ctx context.Context, a *answer, w store.Write, now time.Time) (applied bool) {
	a.source = Store
	a.writes++
	ctx, cancel := a.ids.attempt(ctx)
	defer cancel()
	result, err := e.store.Apply(ctx, w)
	if err != nil {
		a.err = store.AsError(err)
		return false
	}
	last := len(a.views)
	if a.ids.id != 0 {
		a.ids.state, a.ids.at = result.States[last], now
		last++
	}
	if !a.unbound {
		a.revision = revisionOf(result.States[last])
	}
	a.take(result.States, now)
	return result.Applied
}

// conclude remembers what was learned on the way.
func (e *Engine) conclude(a answer, q question) answer {
	e.learn(&a)
	a.key.conclude(&a, q, e.random)
	return a
}
