package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

const (
	// brokenKeys is on how many different keys in a row the store must fail before it is
	// taken to be away. One key, however often, is not enough: else whoever can make one
	// key fail decides when all limits fall back.
	brokenKeys = 5
	// brokenFor is how long it is left alone then, until one call may try.
	brokenFor = 500 * time.Millisecond
)

var errAway = errors.New("the store failed lately and is left alone for a moment")

// A breaker is a store that is not asked while it is away, so that a call does not
// wait for what will not come.
type breaker struct {
	store.Store
	circuit *gobreaker.TwoStepCircuitBreaker[store.Result]

	mu      sync.Mutex
	failing map[string]bool // keys, since the last success
}

func newBreaker(s store.Store) *breaker {
	b := &breaker{Store: s, failing: map[string]bool{}}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[store.Result](gobreaker.Settings{
		Timeout:     brokenFor,
		ReadyToTrip: func(gobreaker.Counts) bool { return b.broken() },
	})
	return b
}

// Apply makes a write unless the store is away.
func (b *breaker) Apply(ctx context.Context, w store.Write) (r store.Result, err error) {
	err = b.guard(w.Key, func() error { r, err = b.Store.Apply(ctx, w); return err })
	return r, err
}

// Read reads unless the store is away.
func (b *breaker) Read(ctx context.Context, key string, limits []string) (states []limit.State, err error) {
	err = b.guard(key, func() error { states, err = b.Store.Read(ctx, key, limits); return err })
	return states, err
}

func (b *breaker) guard(key string, ask func() error) error {
	done, err := b.circuit.Allow()
	if err != nil {
		return &store.Error{Reason: store.Unavailable, Err: errAway}
	}
	err = ask()
	switch {
	case err == nil || !isOutage(err):
		b.answered()
		done(nil)
	default:
		b.failed(key)
		done(err)
	}
	return err
}

// isOutage reports whether an error tells of the store, and not of one key or of
// the caller who gave up.
func isOutage(err error) bool {
	switch store.AsError(err).Reason {
	case store.HotKey, store.Invalid:
		return false
	default:
		return !errors.Is(err, context.Canceled)
	}
}

func (b *breaker) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.failing)
}

func (b *breaker) failed(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.failing) < brokenKeys {
		b.failing[key] = true
	}
}

func (b *breaker) broken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.failing) >= brokenKeys
}

func (b *breaker) open() bool { return b.circuit.State() == gobreaker.StateOpen }
