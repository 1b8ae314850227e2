package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// ErrTooLate says that nothing is left of what was charged: it came back with time, or
// the limit is another now.
var ErrTooLate = errors.New("engine: too late to settle: nothing of the charge is left")

// latestWait bounds how long after a charge its permits were used at the latest.
const latestWait = 10 * time.Minute

// A Settlement says what a call that was charged has really used.
type Settlement struct {
	// ID names the charge. It is settled once: a repeat changes nothing.
	ID string
	At time.Time // of the charge
	// Charged is how many permits that was, Cost how many were used. What was not used
	// is given back as far as it still keeps others out; what was used above is owed.
	Charged, Cost int64
	Charges       []Charge
	// Items are those of the charges as they are configured now; zero where there is none
	// any more. They have all rules that can live in the item.
	Items []quota.Item
}

// Settled is what became of a settlement.
type Settled struct {
	// Cost is what it was settled to, by this settlement or by the one it repeats.
	Cost   int64
	Repeat bool
	// Unknown is whether a write was sent and no answer came, or failed after the
	// settlement was written down: then something may not have been given back, or not be owed. It
	// must not be tried again.
	Unknown bool
}

// Settle settles a charge. The error is [ErrTooLate], a [*store.Error] when the store
// cannot be asked, or ctx's; nothing was changed then.
//
// A settlement is one read and two writes: that it happened is written down first, in an
// item of its own. So it happens once, however many there are at the same time, and what an outage
// tears off is lost to the caller, never given twice.
func (e *Engine) Settle(ctx context.Context, s Settlement) (Settled, error) {
	if err := ctx.Err(); err != nil {
		return Settled{}, err
	}
	if s.Cost == s.Charged {
		return Settled{Cost: s.Cost}, nil
	}
	q := question{now: e.now(), cost: s.Charged, anyRevision: true}
	ctx, cancel := context.WithTimeout(ctx, e.budget)
	defer cancel()

	answers := e.charged(s, q)
	until := s.At.Add(longestMemory(answers) + latestWait)
	if len(answers) == 0 || q.now.After(until) {
		return Settled{}, ErrTooLate
	}
	some := false
	for i := range answers {
		if err := e.read(ctx, &answers[i], q.now); err != nil {
			return Settled{}, err
		}
		_, left := answers[i].settlement(s.Charged, s.Cost, q.now)
		some = some || left
	}
	if !some {
		return e.settledBefore(ctx, s)
	}
	settled, err := e.claim(ctx, s, until)
	if err != nil || settled.Repeat {
		return settled, err
	}
	for i := range answers {
		a := &answers[i]
		e.settle(ctx, a, s.Charged, s.Cost, q.now)
		settled.Unknown = settled.Unknown || a.err != nil
	}
	return settled, nil
}

// charged returns an answer for each charge whose limits there still are.
func (e *Engine) charged(s Settlement, q question) []answer {
	answers := make([]answer, 0, len(s.Charges))
	for i, c := range s.Charges[:min(len(s.Charges), len(s.Items))] {
		item := s.Items[i]
		item.Key, item.Rules = c.Key, nil
		var marks []int64
		for _, charged := range c.Limits {
			for _, r := range s.Items[i].Rules {
				if r.ID == charged.ID {
					item.Rules, marks = append(item.Rules, r), append(marks, charged.Mark)
				}
			}
		}
		if len(item.Rules) == 0 {
			continue
		}
		a := e.answer(&item, q)
		for j := range a.views {
			a.views[j].mark, a.views[j].charged = marks[j], true
		}
		answers = append(answers, a)
	}
	return answers
}

// longestMemory is how long the limits of the charges remember.
func longestMemory(answers []answer) (longest time.Duration) {
	for i := range answers {
		for _, r := range answers[i].item.Rules {
			longest = max(longest, r.Limit.Memory())
		}
	}
	return longest
}

const (
	// settledKey begins the keys of items that say a charge was settled. No tenant's do: they
	// have two bars.
	settledKey  = "settled|"
	settledPart = "_settled"
	// registers
	settledBy = "by" // a number that the settlement drew
	settledTo = "to" // its cost
)

// claim writes down that a charge is settled, unless it was before.
func (e *Engine) claim(ctx context.Context, s Settlement, until time.Time) (Settled, error) {
	by := rand.Int64() //nolint:gosec // to be known again, not to be secret
	const never = -1   // neither is negative: only an absent register is in this range
	w := store.Write{
		Key: settledKey + s.ID,
		Parts: []store.Part{{Limit: settledPart, Write: limit.Write{
			Guards:  []limit.Guard{{Kind: limit.RegisterInOrAbsent, Register: settledBy, Min: never, Max: never}},
			Changes: []limit.Change{{Kind: limit.Set, Register: settledBy, Value: by}, {Kind: limit.Set, Register: settledTo, Value: s.Cost}},
		}}},
		ExpiresAt: until.Add(grace),
	}
	r, err := e.store.Apply(ctx, w)
	if err != nil && store.AsError(err).Unknown && ctx.Err() == nil {
		r, err = e.store.Apply(ctx, w) // whether or not it was applied: the number tells
	}
	if err != nil {
		return Settled{}, store.AsError(err)
	}
	state := r.States[0]
	owner, _ := state.Register(settledBy)
	cost, _ := state.Register(settledTo)
	return Settled{Cost: cost, Repeat: owner != by}, nil
}

// settledBefore answers where nothing is left to settle: too late, or a repeat.
func (e *Engine) settledBefore(ctx context.Context, s Settlement) (Settled, error) {
	states, err := e.store.Read(ctx, settledKey+s.ID, []string{settledPart})
	if err != nil {
		return Settled{}, store.AsError(err)
	}
	if cost, ok := states[0].Register(settledTo); ok {
		return Settled{Cost: cost, Repeat: true}, nil
	}
	return Settled{}, ErrTooLate
}

// settle makes the charges of an answer ones of cost permits. Best effort, once: what
// cannot be given back stays charged, and nobody is let in that should not be. Whatever
// configuration is in force, what was charged can be undone.
func (e *Engine) settle(ctx context.Context, a *answer, charged, cost int64, now time.Time) {
	const attempts = 3 // a log's elements move while others write
	for range attempts {
		w, some := a.settlement(charged, cost, now)
		if !some {
			break
		}
		a.writes++
		result, err := e.store.Apply(ctx, w)
		if err != nil {
			a.err = store.AsError(err)
			break
		}
		a.take(result.States, now)
		if result.Applied {
			break
		}
	}
	a.key.settled(a)
}

// settlement returns the write that settles what was charged, if there is anything to write.
func (a *answer) settlement(charged, cost int64, now time.Time) (w store.Write, some bool) {
	w = store.Write{Key: a.item.Key, Parts: make([]store.Part, len(a.views)), ExpiresAt: now.Add(a.item.Memory + grace)}
	for i, r := range a.item.Rules {
		v := &a.views[i]
		w.Parts[i].Limit = r.ID
		if !v.charged {
			continue
		}
		if settled, ok := r.Limit.Settle(limit.Charge{Cost: charged, Mark: v.mark}, cost, v.state, now); ok {
			w.Parts[i].Write, some = settled, true
		}
	}
	return w, some
}

// settled remembers the states after a settlement, which may be behind those before.
func (k *key) settled(a *answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, r := range a.item.Rules {
		if s := k.slot(r.ID); s != nil && a.err == nil {
			s.state, s.at = a.views[i].state, a.views[i].at
			s.forgive()
		}
	}
}
