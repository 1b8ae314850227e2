package engine

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

const (
	// An instance that is refused this often in a row waits longer than it has to: many
	// instances that each see a key seldom would else each ask in vain.
	backOffAfter = 3
	maxBackOff   = 2 * time.Second

	// hotFor is how long a key that the store throttles is left alone.
	hotFor = time.Second

	// A call sees what calls that began after it have learned. What was learned later
	// than that was learned before the clock was set back.
	setBack = 2 * time.Second
)

// remembered has the states of the keys used last. Refusals are not remembered:
// where a cost of 5 is refused, 1 may pass.
type remembered struct {
	keys *lru.TwoQueueCache[string, *key]
	mu   sync.Mutex // makes a key once
}

func newRemembered(size int) *remembered {
	if size <= 0 {
		size = DefaultRemembered
	}
	// Two queues: a flood of invented keys does not drive out the ones in use.
	keys, err := lru.New2Q[string, *key](max(size, 4))
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &remembered{keys: keys}
}

// key returns what is remembered of a key, made when there is nothing.
func (m *remembered) key(name string) *key {
	if k, ok := m.keys.Get(name); ok {
		return k
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, ok := m.keys.Get(name); ok {
		return k
	}
	k := &key{}
	m.keys.Add(name, k)
	return k
}

// A key is what is remembered of one item.
type key struct {
	mu       sync.Mutex
	slots    []slot // of its rules
	ids      limit.State
	idsAt    time.Time
	hotUntil time.Time
	revision int64     // the newest configuration that counted in it
	latest   time.Time // when any of this was learned

	// Writes under way. Who would pass only if they did not happen waits for them.
	inFlight int64         // permits
	landings int           // writes that came back, ever
	landed   chan struct{} // closed at the next; nil when nobody waits
	failures int
	failure  *store.Error

	// tentative counts charges of this instance that may still be given back.
	tentative int
}

// A slot is what is remembered of one rule.
type slot struct {
	id    string
	state limit.State
	at    time.Time

	refusals  int       // by the store, in a row
	cost      int64     // that was refused
	retryAt   time.Time // when the last of them said to come back
	notBefore time.Time // when it will be asked again
}

func (k *key) slot(id string) *slot {
	for i := range k.slots {
		if k.slots[i].id == id {
			return &k.slots[i]
		}
	}
	return nil
}

// forget forgets what was learned by a clock that has been set back since: of what
// may have changed meanwhile it would be believed too long.
func (k *key) forget(now time.Time) {
	if k.latest.Sub(now) > setBack {
		k.slots, k.ids, k.idsAt = nil, limit.State{}, time.Time{}
		k.hotUntil, k.latest, k.revision = time.Time{}, time.Time{}, 0
	}
}

// recall fills the views of an answer with what is remembered.
func (k *key) recall(a *answer, q question) {
	k.forget(q.now)
	a.contested = k.tentative > 0
	a.ids.state, a.ids.at = k.ids, k.idsAt
	a.revision = k.revision
	for i, r := range a.item.Rules {
		v := &a.views[i]
		*v = view{}
		if s := k.slot(r.ID); s != nil {
			v.state, v.at, v.probing = s.state, s.at, s.refusals > 0
			if q.demand() >= s.cost {
				v.backOff = s.notBefore
			}
		}
	}
}

// conclude remembers the states an answer ended with, and who refused.
func (k *key) conclude(a *answer, q question, random func() float64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if q.now.After(k.latest) {
		k.latest = q.now
	}
	if a.outcome == hot {
		k.hotUntil = q.now.Add(hotFor/2 + time.Duration(random()*float64(hotFor/2)))
	}
	a.contested = k.tentative > 0
	if a.ids.id != 0 && !a.ids.at.Before(k.idsAt) {
		k.ids, k.idsAt = a.ids.state, a.ids.at
	}
	k.revision = max(k.revision, a.revision)
	for i, r := range a.item.Rules {
		v := &a.views[i]
		if !v.at.Equal(q.now) {
			continue // no write of this decision was answered
		}
		s := k.keep(r, v, q.now, k.landings > a.entered)
		switch {
		case a.err != nil, a.outcome == outdated: // what the writes before the one that failed have shown
		case a.outcome == admitted:
			s.forgive()
		case v.proposal.Refusal != nil && r.Mode != quota.Shadow:
			s.refused(v.proposal.Refusal.RetryAfter, q, random)
		}
	}
}

// keep remembers a state. When other writes came back meanwhile, theirs may be the
// newer one: then the one that leaves less is.
func (k *key) keep(r *quota.Rule, v *view, now time.Time, overlapped bool) *slot {
	s := k.slot(r.ID)
	if s == nil {
		k.slots = append(k.slots, slot{id: r.ID})
		s = &k.slots[len(k.slots)-1]
	} else if overlapped {
		old, found := r.Limit.Standing(s.state, now, 0), r.Limit.Standing(v.state, now, 0)
		if old.Remaining < found.Remaining || old.Remaining == found.Remaining && old.ResetAfter > found.ResetAfter {
			return s
		}
	}
	s.state, s.at = v.state, v.at
	return s
}

// refused counts a refusal by the store. Calls that were sent before an earlier
// refusal could be known do not count: in a row means in spite of waiting.
func (s *slot) refused(retry time.Duration, q question, random func() float64) {
	if q.now.Before(s.retryAt) && q.demand() >= s.cost {
		return
	}
	s.refusals++
	s.cost = q.demand()
	s.retryAt = q.now.Add(retry)
	s.notBefore = time.Time{}
	if n := s.refusals - backOffAfter; n >= 0 {
		longest := maxBackOff
		if n = min(n, 20); retry < maxBackOff>>n {
			longest = retry << n
		}
		s.notBefore = s.retryAt.Add(time.Duration(random() * float64(longest)))
	}
}

// forgive ends the row of refusals.
func (s *slot) forgive() { *s = slot{id: s.id, state: s.state, at: s.at} }
