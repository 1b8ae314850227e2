package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// RememberedIDs is how many request ids an item remembers that does not say.
const RememberedIDs = 16

// idsPart names the ids among the parts of an item. No limit has a name like it.
const idsPart = "_ids"

// Ids are remembered by the narrowest item of a call, which is written last: an id is
// there if and only if everything was charged.
type ids struct {
	id int64 // of this call; 0: this item does not remember it
	// remembered is how many the item remembers; 0: as many as any.
	remembered int
	state      limit.State
	at         time.Time
	// sent is the error of a write of this call that may have been applied without an answer.
	sent *store.Error
}

func (i *ids) memory() limit.RequestIDs {
	if i.remembered == 0 {
		return limit.RequestIDs{Remembered: RememberedIDs}
	}
	return limit.RequestIDs{Remembered: i.remembered}
}

// digest is what is stored of a call's id. The cost is in it: who asks for more under
// the same id asks something else.
func digest(c Call) int64 {
	if c.RequestID == "" || c.Cost == 0 || c.Least > 0 || len(c.Items) == 0 {
		return 0
	}
	h := sha256.New()
	_ = binary.Write(h, binary.BigEndian, c.Cost) // a hash takes everything
	h.Write([]byte(c.RequestID))
	return int64(binary.BigEndian.Uint64(h.Sum(nil)) | 1) // never 0
}

// narrowest is the item that remembers a call's id: the one of the most parts.
func narrowest(items []quota.Item) int {
	n := 0
	for i := range items {
		if items[i].Parts >= items[n].Parts {
			n = i
		}
	}
	return n
}

// repeats reports whether the call's id is known.
func (i *ids) repeats() bool { return i.id != 0 && i.memory().Knows(i.state, i.id) }

// outcome of a call whose id is known. It is the call's own when its write may have been applied before.
func (i *ids) outcome() outcome {
	if i.sent != nil {
		return admitted
	}
	return repeated
}

// part is the share of the ids in a write: remembering this one when the call is charged.
func (i *ids) part(charged bool) store.Part {
	p := store.Part{Limit: idsPart}
	if charged {
		p.Write = i.memory().Propose(i.state, i.id).Write
	}
	return p
}

// attempt bounds a write that can be repeated, so that there is time to repeat it.
func (i *ids) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if i.id == 0 || !ok || i.sent != nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}

// mayRetry reports whether a write without an answer can be made again: its guard on
// the id keeps it from charging twice.
func (i *ids) mayRetry(ctx context.Context, err *store.Error) bool {
	if i.id == 0 || !err.Unknown || ctx.Err() != nil {
		return false
	}
	i.sent = err
	return true
}

// unknown is the error of a write, after one that may have been applied.
func (i *ids) unknown(err *store.Error) *store.Error {
	if i.sent == nil || err.Unknown {
		return err
	}
	return &store.Error{Reason: err.Reason, Unknown: true, Err: err.Err}
}

// findRepeat looks whether a call that does not pass was charged before. The item
// that remembers ids tells with every write. Where another item refused first, or this
// one without being asked, it is read: a call that was charged must not be refused.
func (e *Engine) findRepeat(ctx context.Context, answers []answer, q question) {
	if len(answers) == 0 || !slices.ContainsFunc(answers, func(a answer) bool { return a.outcome == refused || a.outcome == undecided }) {
		return
	}
	n := 0
	for i := range answers {
		if answers[i].ids.id != 0 {
			n = i
		}
	}
	a := &answers[n]
	if a.outcome == refused && a.source != BackOff {
		return // by a state that was read together with the ids
	}
	states, err := e.store.Read(ctx, a.item.Key, []string{idsPart})
	if err != nil || !a.ids.memory().Knows(states[0], q.id) {
		return
	}
	repeat(answers, Store)
}

// repeat makes of all answers those to a call that was charged before.
func repeat(answers []answer, source Source) {
	for i := range answers {
		a := &answers[i]
		a.outcome, a.source = repeated, source
		for j := range a.views {
			a.views[j].proposal = limit.Proposal{}
		}
	}
}
