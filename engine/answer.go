package engine

import (
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// A question is what is asked of every item of a call.
type question struct {
	now  time.Time // the one reading of the clock
	cost int64     // 0: only look; of a lease, the most
	id   int64     // the digest of the request id; 0: there is none

	// wait is how long the call waits in any case, maxWait how long it may be made to by
	// this item, patience how long by all.
	wait, maxWait, patience time.Duration
	// least is the least of a lease, 0 of a call; ttl how long a lease lasts at most.
	least int64
	ttl   time.Duration
	// anyRevision is whether items are decided that a newer configuration counted in.
	anyRevision bool
}

// demand is the least that the call is content with.
func (q question) demand() int64 {
	if q.least > 0 {
		return q.least
	}
	return q.cost
}

// ask is the question to one limit.
func (q question) ask() limit.Ask { return q.costing(q.demand()) }

func (q question) costing(cost int64) limit.Ask {
	return limit.Ask{Now: q.now, Cost: cost, Wait: q.wait, Span: q.ttl, MaxWait: q.patience}
}

// An outcome is what became of one item of a call.
type outcome uint8

const (
	open      outcome = iota // not decided yet, or not asked as another item refused first
	admitted                 // charged
	repeated                 // charged by an earlier call with the same id
	refused                  // by at least one limit
	undecided                // too many writes were lost
	hot                      // the key gets more than the store takes for one key
	failed                   // the store could not decide
	outdated                 // a newer configuration has counted in it
)

// An answer is what one item says to a call.
type answer struct {
	item    *quota.Item
	key     *key
	outcome outcome
	source  Source
	views   []view    // of each rule, in their order
	ask     limit.Ask // of the proposals
	ids     ids       // when the item remembers the call's id
	// revision is the newest configuration that is known to have counted in the item.
	revision int64
	unbound  bool // by revisions
	writes   int
	err      *store.Error // why it failed
	below    *below       // what the next rung said, after failed
	entered  int          // landings of the key when the turn began
	under    int64        // permits that the turn has under way
	// contested is whether a charge of this instance on the item may still be given back.
	contested bool
	tentative bool // that charge is this answer's
}

// A view is what is known of one rule: the newest state and what follows from it.
type view struct {
	state    limit.State
	at       time.Time // when the state was stored at the latest; zero: nothing is known
	backOff  time.Time // not to be asked before
	probing  bool      // the store refused last
	proposal limit.Proposal
	charged  bool  // by the write that was made last, if it was applied
	mark     int64 // of the charge

	// Of the first proposal: whether its branch was a prediction, whether that was made
	// from nothing, and else which branch the remembered state told.
	unsure, unseen bool
	told           limit.Branch
}

// answer returns an answer that is not decided.
func (e *Engine) answer(item *quota.Item, q question) answer {
	return answer{
		item: item, key: e.memory.key(item.Key), views: make([]view, len(item.Rules)),
		ids: ids{id: q.id, remembered: item.RequestIDs}, unbound: q.anyRevision || item.Revision == 0,
	}
}

// propose makes a proposal for each rule from the state in its view.
func (a *answer) propose(q question) {
	if q.later() {
		a.plan(q)
		return
	}
	a.ask = q.ask()
	a.proposeAll()
}

func (a *answer) proposeAll() {
	for i, r := range a.item.Rules {
		a.views[i].proposal = r.Limit.Propose(a.views[i].state, a.ask)
	}
}

// refuses reports whether a limit refuses that may.
func (a *answer) refuses() bool {
	for i, r := range a.item.Rules {
		if a.views[i].proposal.Refusal != nil && r.Mode != quota.Shadow {
			return true
		}
	}
	return false
}

// write puts the proposals of all rules into one write. Beside a refusal only
// what it wants written down is; ok is false when there is nothing to write. A shadow
// limit counts what passes, and is left out when it has cost a write: it must not
// decide how often the others try.
func (a *answer) write(now time.Time) (w store.Write, ok bool) {
	refuses := a.refuses()
	w = store.Write{Key: a.item.Key, Parts: make([]store.Part, len(a.views), len(a.views)+2), ExpiresAt: now.Add(a.item.Memory + grace)}
	for i, r := range a.item.Rules {
		w.Parts[i].Limit = r.ID
		v := &a.views[i]
		shadow := r.Mode == quota.Shadow
		v.charged = !refuses && v.proposal.Refusal == nil && (!shadow || a.writes <= 1)
		if v.charged || v.proposal.Refusal != nil && (!shadow || !refuses && a.writes <= 1) {
			w.Parts[i].Write = v.proposal.Write
			ok = ok || len(v.proposal.Changes) > 0
		}
	}
	if a.ids.id != 0 {
		w.Parts = append(w.Parts, a.ids.part(!refuses))
		ok = ok || !refuses
	}
	if !a.unbound {
		w.Parts = append(w.Parts, a.revisionPart())
	}
	return w, ok
}

// mark marks the charges that were made.
func (a *answer) mark() {
	for i, r := range a.item.Rules {
		if v := &a.views[i]; v.charged {
			v.mark = r.Limit.Mark(a.ask, v.state)
		}
	}
}

// take takes what came back from the store into the views.
func (a *answer) take(states []limit.State, now time.Time) {
	for i := range a.views {
		a.views[i].state, a.views[i].at = states[i], now
	}
}

// verdict is what the limits say when all is known.
func (a *answer) verdict() outcome {
	if a.refuses() {
		return refused
	}
	return admitted
}

// fail ends an answer that the store could not give. A key that is throttled is no
// failure of the store.
func (a *answer) fail(err *store.Error) {
	a.outcome, a.err = failed, err
	if err.Reason == store.HotKey {
		a.outcome = hot
	}
}

// passes reports whether the item lets the call pass.
func (a *answer) passes() bool {
	return a.outcome == admitted || a.outcome == repeated || a.outcome == failed && a.below != nil && a.below.passes
}

// charged reports whether the item passes by a charge of this call.
func (a *answer) charged() bool { return a.passes() && a.outcome != repeated }

func (a answer) isRepeat() bool { return a.outcome == repeated }

func (a answer) isOld() bool { return a.outcome == outdated }

// gaveUp reports whether a failure without any outcome is among the answers.
func gaveUp(answers []answer) bool {
	for i := range answers {
		if answers[i].outcome == failed && !answers[i].err.Unknown {
			return true
		}
	}
	return false
}
