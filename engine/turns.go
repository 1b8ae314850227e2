package engine

import (
	"context"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// enter answers from memory, or returns an open answer with proposals when it is
// the call's turn to write; [key.leave] ends the turn.
func (e *Engine) enter(ctx context.Context, item *quota.Item, q question) answer {
	a := e.answer(item, q)
	k := a.key
	k.mu.Lock()
	defer k.mu.Unlock()
	failures := k.failures
	for {
		k.recall(&a, q)
		if e.judge(&a, q); a.outcome != open {
			return a
		}
		if !k.wouldRefuse(&a, q) {
			a.entered, a.under = k.landings, a.ask.Cost
			k.inFlight += a.under
			return a
		}
		if err := k.wait(ctx); err != nil {
			a.fail(&store.Error{Reason: store.Unavailable, Err: err})
			return a
		}
		if k.failures != failures {
			// What we waited for failed. Asking the same again would only fail later.
			a.source = BackOff
			a.fail(&store.Error{Reason: k.failure.Reason, Err: k.failure.Err})
			return a
		}
	}
}

// wouldRefuse reports whether the writes under way, if they are charged, leave too
// little for the call. Of a key that refused last, what others left of it is not known
// until somebody asks: one does, the rest wait for the answer.
func (k *key) wouldRefuse(a *answer, q question) bool {
	if k.inFlight == 0 || q.later() {
		return false
	}
	for i, r := range a.item.Rules {
		v := &a.views[i]
		if r.Mode == quota.Shadow {
			continue
		}
		if v.probing || r.Limit.Propose(v.state, q.costing(k.inFlight+q.cost)).Refusal != nil {
			return true
		}
	}
	return false
}

// wait waits, with k unlocked, until a write under way comes back.
func (k *key) wait(ctx context.Context) error {
	if k.landed == nil {
		k.landed = make(chan struct{})
	}
	landed := k.landed
	k.mu.Unlock()
	defer k.mu.Lock()
	select {
	case <-landed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave ends the turn that enter gave.
func (k *key) leave(a *answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.inFlight -= a.under
	k.landings++
	if a.err != nil {
		k.failures++
		k.failure = a.err
	}
	if k.landed != nil {
		close(k.landed)
		k.landed = nil
	}
}
