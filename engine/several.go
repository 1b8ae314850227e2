package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

// nearlyUsed is the share of a limit below which a remembered item is asked first.
const nearlyUsed = 0.1

// askAll decides several items. They are separate writes: a refusal gives back what
// the others were charged. The answers are in the order of the items.
func (e *Engine) askAll(ctx context.Context, items []quota.Item, q question) []answer {
	answers, remaining, decided := e.recallAll(items, q)
	if decided {
		return answers // by memory: nothing is written
	}
	if q.id == 0 && slices.Min(remaining) > nearlyUsed {
		var all sync.WaitGroup
		for i := range items {
			all.Go(func() { answers[i] = e.askTentatively(ctx, &items[i], q) })
		}
		all.Wait()
	} else {
		for _, i := range order(items, remaining, q.id != 0) {
			if answers[i] = e.askTentatively(ctx, &items[i], q.of(items, i)); !answers[i].charged() {
				break
			}
		}
	}
	isRepeat := slices.ContainsFunc(answers, answer.isRepeat)
	if isRepeat || slices.ContainsFunc(answers, func(a answer) bool { return !a.passes() }) {
		for i := range answers {
			e.giveBack(ctx, &answers[i], q)
		}
	}
	for i := range answers {
		answers[i].final()
	}
	if isRepeat {
		repeat(answers, Store)
	}
	return answers
}

// recallAll asks memory for all items. remaining is, for each, the smallest share
// left of its limits; -1 when nothing is remembered of it. decided: memory refuses, or
// knows that the call is a repeat.
func (e *Engine) recallAll(items []quota.Item, q question) (answers []answer, remaining []float64, decided bool) {
	answers, remaining = make([]answer, len(items)), make([]float64, len(items))
	for i := range items {
		a := &answers[i]
		*a = e.answer(&items[i], q.of(items, i))
		a.key.mu.Lock()
		a.key.recall(a, q)
		e.judge(a, q)
		a.key.mu.Unlock()
		decided = decided || a.outcome != open
		remaining[i] = a.remaining(q.now)
	}
	if slices.ContainsFunc(answers, answer.isRepeat) {
		repeat(answers, Memory)
	}
	return answers, remaining, decided
}

// of is the question to the i-th item: only the narrowest is told the id.
func (q question) of(items []quota.Item, i int) question {
	if q.id != 0 && i != narrowest(items) {
		q.id = 0
	}
	return q
}

// remaining is the smallest share left of an item's limits, -1 when not remembered.
func (a *answer) remaining(now time.Time) float64 {
	least := 1.0
	for i, r := range a.item.Rules {
		v := &a.views[i]
		switch {
		case r.Mode == quota.Shadow:
			continue
		case v.at.IsZero():
			return -1
		}
		left := r.Limit.Standing(v.state, now, 0).Remaining
		least = min(least, float64(left)/float64(r.Limit.Full()))
	}
	return least
}

// order says in which order to write: what is nearly used up first, then from the
// widest to the narrowest; keys never seen come last, as they cannot be used up. So
// a flood of invented subjects ends at the tenant's limit and creates nothing. The item
// that remembers the call's id, if it has one, is the very last.
func order(items []quota.Item, remaining []float64, withID bool) []int {
	last := narrowest(items)
	rank := func(i int) int {
		switch {
		case withID && i == last:
			return 3
		case remaining[i] < 0:
			return 2
		case remaining[i] <= nearlyUsed:
			return 0
		}
		return 1
	}
	indices := make([]int, len(items))
	for i := range indices {
		indices[i] = i
	}
	slices.SortStableFunc(indices, func(i, j int) int {
		return cmp.Or(cmp.Compare(rank(i), rank(j)), cmp.Compare(items[i].Parts, items[j].Parts))
	})
	return indices
}

// askTentatively asks for a charge that may be given back, and says so to those who
// are refused because of it meanwhile.
func (e *Engine) askTentatively(ctx context.Context, item *quota.Item, q question) answer {
	a := e.ask(ctx, item, q)
	if a.outcome == admitted {
		a.tentative = true
		a.key.mu.Lock()
		a.key.tentative++
		a.key.mu.Unlock()
	}
	return a
}

// final ends what askTentatively began.
func (a *answer) final() {
	if a.tentative {
		a.key.mu.Lock()
		a.key.tentative--
		a.key.mu.Unlock()
	}
}

// giveBack undoes the charge of an item as another refused. Best effort: what
// cannot be given back stays charged, and nobody is let in that should not be.
func (e *Engine) giveBack(ctx context.Context, a *answer, q question) {
	if a.outcome != admitted {
		return
	}
	charges := make([]limit.Charge, len(a.views))
	for i, r := range a.item.Rules {
		if v := &a.views[i]; v.charged {
			charges[i] = limit.Charge{Cost: q.cost, Mark: r.Limit.Mark(q.ask(), v.state)}
		}
	}
	const attempts = 3 // a log's elements move while others write
	for range attempts {
		some := false
		for i, r := range a.item.Rules {
			v := &a.views[i]
			v.proposal = limit.Proposal{}
			if w, ok := r.Limit.Settle(charges[i], 0, v.state, q.now); ok {
				v.proposal.Write, some = w, true
			}
		}
		if !some {
			break
		}
		w, _ := a.write(q.now)
		if e.apply(ctx, a, w, q.now) || a.err != nil {
			break
		}
	}
	a.outcome = open // not charged after all
	a.key.gaveBack(a)
}

// gaveBack remembers the states after a charge was given back, which are behind
// those before.
func (k *key) gaveBack(a *answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, r := range a.item.Rules {
		if s := k.slot(r.ID); s != nil && a.err == nil {
			s.state, s.at = a.views[i].state, a.views[i].at
		}
	}
}
