// Package memory is a [store.Store] in this process: for one instance, for tests,
// and as the store a limiter falls back to.
//
//	s := memory.New(memory.WithCapacity(100_000))
//	result, err := s.Apply(ctx, write)
//
// Items are forgotten when they expire and when there are too many, nobody has to
// clean up, and there is no goroutine to stop. What is forgotten is as good as never
// used: a store that is too small admits more than its limits say.
package memory

import (
	"context"
	"hash/maphash"
	"math"
	"strings"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

const (
	// DefaultCapacity is how many items a store holds unless [WithCapacity] says otherwise.
	DefaultCapacity = 1_000_000

	// maxShards bounds contention: callers of different keys seldom meet.
	maxShards = 64
	// minShard is the least a shard holds, lest chance fill one long before the others.
	minShard = 256
)

// An Option changes how a store is made.
type Option func(*Store)

// WithCapacity sets how many items the store holds at most, at least 1. Keys are
// spread over shards of equal size, so a store that is nearly full may already evict.
func WithCapacity(items int) Option { return func(s *Store) { s.capacity = max(1, items) } }

// WithClock sets what the time is. It matters to expiry only; default [time.Now].
func WithClock(now func() time.Time) Option { return func(s *Store) { s.now = now } }

// A Store keeps items in memory. Make one with [New].
type Store struct {
	capacity int
	now      func() time.Time
	seed     maphash.Seed
	shards   []shard
}

// New returns an empty store.
func New(opts ...Option) *Store {
	s := &Store{capacity: DefaultCapacity, now: time.Now, seed: maphash.MakeSeed()}
	for _, o := range opts {
		o(s)
	}
	n := min(maxShards, max(1, s.capacity/minShard))
	s.shards = make([]shard, n)
	for i := range s.shards {
		s.shards[i] = shard{capacity: s.capacity / n, items: map[string]*item{}}
	}
	return s
}

// Len returns how many items are held, including expired ones not yet forgotten.
func (s *Store) Len() int {
	n := 0
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		n += len(sh.items)
		sh.mu.Unlock()
	}
	return n
}

// Apply makes one conditional write, as [store.Store] says.
func (s *Store) Apply(ctx context.Context, w store.Write) (store.Result, error) {
	if err := ctx.Err(); err != nil {
		return store.Result{}, &store.Error{Reason: store.Unavailable, Err: err}
	}
	now := s.now().Unix()
	sh := s.shard(w.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	it := sh.get(w.Key, now)
	states := make([]limit.State, len(w.Parts))
	applied := true
	for i := range w.Parts {
		states[i] = it.state(w.Parts[i].Limit)
		applied = applied && holds(states[i], w.Parts[i].Write)
	}
	if !applied {
		return store.Result{States: states}, nil
	}
	if it == nil {
		// The key is copied: it may be a piece of a whole request.
		it = &item{key: strings.Clone(w.Key), expiresAt: expiry(w.ExpiresAt)}
		sh.add(it, now)
	}
	for i := range w.Parts {
		if p := &w.Parts[i]; len(p.Changes) > 0 {
			states[i] = states[i].After(p.Changes)
			it.put(p.Limit, states[i])
		}
	}
	sh.expireAt(it, expiry(w.ExpiresAt))
	return store.Result{Applied: true, States: states}, nil
}

// Read returns the state of each of the limits, as [store.Store] says.
func (s *Store) Read(ctx context.Context, key string, limits []string) ([]limit.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, &store.Error{Reason: store.Unavailable, Err: err}
	}
	now := s.now().Unix()
	sh := s.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()

	it := sh.get(key, now)
	states := make([]limit.State, len(limits))
	for i, name := range limits {
		states[i] = it.state(name)
	}
	return states, nil
}

func (s *Store) shard(key string) *shard {
	return &s.shards[maphash.String(s.seed, key)%uint64(len(s.shards))]
}

// holds is [limit.State.Holds], and that the changes find what they change.
func holds(s limit.State, w limit.Write) bool {
	if !s.Holds(w.Guards) {
		return false
	}
	for i := range w.Changes {
		switch c := &w.Changes[i]; c.Kind {
		case limit.Add:
			if _, ok := s.Register(c.Register); !ok {
				return false
			}
		case limit.Remove:
			if c.From < 0 || c.From+c.N > len(s.Log) {
				return false
			}
		case limit.AddAt:
			if c.From < 0 || c.From >= len(s.Log) {
				return false
			}
		case limit.Set, limit.AddFrom, limit.Drop, limit.Append, limit.Clear:
		}
	}
	return true
}

// expiry is in whole seconds, rounded up; a time not given is never.
func expiry(at time.Time) int64 {
	switch {
	case at.IsZero():
		return math.MaxInt64
	case at.Nanosecond() > 0:
		return at.Unix() + 1
	}
	return at.Unix()
}
