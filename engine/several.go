package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

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
	e.giveUp(ctx, answers, q)
	return answers
}

// giveUp ends what was asked tentatively: where one refused, the others give back.
func (e *Engine) giveUp(ctx context.Context, answers []answer, q question) {
	isRepeat := slices.ContainsFunc(answers, answer.isRepeat)
	if isRepeat || slices.ContainsFunc(answers, func(a answer) bool { return !a.passes() }) {
		e.giveBackAll(ctx, answers, q)
	}
	for i := range answers {
		answers[i].final()
	}
	if isRepeat {
		repeat(answers, Store)
	}
}

func (e *Engine) giveBackAll(ctx context.Context, answers []answer, q question) {
	for i := range answers {
		if a := &answers[i]; a.outcome == admitted {
			e.settle(ctx, a, a.ask.Cost, 0, q.now)
			a.outcome = open // not charged after all
		}
	}
}

// maxRounds is how often a call of several items that waits is tried for a later time.
const maxRounds = 4

// askAllLater decides several items for one and the same time, or a lease for the same
// number of permits. Each is asked in turn for what those before it have said; one that
// says later has the others begin again.
func (e *Engine) askAllLater(ctx context.Context, items []quota.Item, q question) []answer {
	answers, remaining, decided := e.recallAll(items, q)
	if decided {
		return answers
	}
	turns := order(items, remaining, q.id != 0)
	for range maxRounds {
		later := e.askInTurn(ctx, items, turns, answers, q)
		if later <= q.wait || later > q.patience || slices.ContainsFunc(answers, answer.isRepeat) {
			break
		}
		e.giveBackAll(ctx, answers, q)
		for i := range answers {
			answers[i].final()
		}
		q.wait = later
	}
	e.giveUp(ctx, answers, q)
	return answers
}

// askInTurn asks each item for what those before it have said. later is how long the
// call would have to wait for the one that refused; 0 when none did, or it is no help.
func (e *Engine) askInTurn(ctx context.Context, items []quota.Item, turns []int, answers []answer, q question) (later time.Duration) {
	for n, i := range turns {
		a := &answers[i]
		*a = e.askTentatively(ctx, &items[i], q.of(items, i))
		if !a.charged() {
			if wait, some, bookable := a.waitFor(); a.outcome == refused && some && bookable {
				return wait
			}
			return 0
		}
		if q.wait, q.maxWait = a.ask.Wait, a.ask.Wait; q.least > 0 {
			e.trim(ctx, answers, turns[:n], a.ask.Cost, q)
			q.cost, q.ttl = a.ask.Cost, a.ask.Span
		}
	}
	return 0
}

// trim gives back what the items before were charged for a lease that is smaller now.
func (e *Engine) trim(ctx context.Context, answers []answer, before []int, granted int64, q question) {
	for _, i := range before {
		if a := &answers[i]; a.outcome == admitted && a.ask.Cost > granted {
			e.settle(ctx, a, a.ask.Cost, granted, q.now)
			a.ask.Cost = granted
		}
	}
}

// recallAll asks memory for all items. remaining is, for each, the smallest share
// left of its limits; -1 when nothing is remembered of it. decided: memory refuses, or
// knows that the call is a repeat.
func (e *Engine) recallAll(items []quota.Item, q question) (answers []answer, remaining []float64, decided bool) {
	answers, remaining = make([]answer, len(items)), make([]float64, len(items))
	for i := range items {
		a, item := &answers[i], &items[i]
		switch shards := item.Shards > 1; {
		case shards && q.of(items, i).id == 0: // which of them is not known yet
			*a = answer{item: item, views: make([]view, len(item.Rules))}
			remaining[i] = 1
			continue
		case shards:
			first, _ := e.pick(item.Shards, q)
			item = shard(item, first)
		}
		*a = e.answer(item, q.of(items, i))
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
		a.tentative = false
		a.key.mu.Lock()
		a.key.tentative--
		a.key.mu.Unlock()
	}
}
