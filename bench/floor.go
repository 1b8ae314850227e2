package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// A Speed is how many decisions a second callers get that ask as fast as they can, as a
// ratio to bare writes of the same callers on the same store: the floor.
type Speed struct {
	Callers         int     `json:"callers"`
	Keys            int     `json:"keys"`
	DecisionsPerSec float64 `json:"decisions_per_second"`
	FloorPerSec     float64 `json:"floor_per_second"`
	Ratio           float64 `json:"ratio"`  // the median of the rounds
	Failed          int64   `json:"failed"` // decisions the store did not answer in time
}

// A Bare makes one bare write to a key, the least a limiter can do.
type Bare func(ctx context.Context, key string) error

// rounds is how often decisions and bare writes take turns.
const rounds = 7

// MeasureSpeed lets decisions and bare writes take turns, each for a time.
func MeasureSpeed(ctx context.Context, st store.Store, bare Bare, callers, keys int, turn time.Duration) (Speed, error) {
	// A bucket that never refuses and is never rested, so that every decision is one write.
	l, err := limit.New(limit.Policy{Algorithm: "token_bucket", Quota: 100, Period: time.Second, Burst: 1_000_000})
	if err != nil {
		return Speed{}, err
	}
	rule := &quota.Rule{Name: "bench", ID: "bench." + l.Code(), Limit: l, OnStoreError: quota.Deny}
	run := rand.Uint64()
	calls := make([]engine.Call, keys)
	names := make([]string, keys)
	for i := range calls {
		calls[i] = engine.Call{Cost: 1, Items: []quota.Item{{Key: fmt.Sprintf("speed|%x|%d", run, i), Rules: []*quota.Rule{rule}}}}
		names[i] = fmt.Sprintf("floor|%x|%d", run, i)
	}
	e := engine.New(st, engine.Options{})
	var failed atomic.Int64
	decide := func(i int) (bool, error) {
		d, err := e.Decide(ctx, calls[i])
		if !d.Allowed {
			failed.Add(1)
		}
		return d.Allowed, err
	}
	write := func(i int) (bool, error) { return true, bare(ctx, names[i]) }

	s := Speed{Callers: callers, Keys: keys}
	var ratios []float64
	for range rounds {
		floor, err := perSecond(callers, keys, turn, write)
		if err != nil {
			return s, err
		}
		decisions, err := perSecond(callers, keys, turn, decide)
		if err != nil {
			return s, err
		}
		s.FloorPerSec += floor / rounds
		s.DecisionsPerSec += decisions / rounds
		ratios = append(ratios, decisions/floor)
	}
	s.Failed = failed.Load()
	slices.Sort(ratios)
	s.Ratio = ratios[len(ratios)/2]
	return s, nil
}

// perSecond is how often callers get something done on random keys.
func perSecond(callers, keys int, length time.Duration, do func(key int) (bool, error)) (float64, error) {
	var done atomic.Int64
	var failure atomic.Pointer[error]
	start := time.Now()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for time.Since(start) < length {
				ok, err := do(rand.IntN(keys))
				if err != nil {
					failure.Store(&err)
					return
				}
				if ok {
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(start).Seconds(), nil
}
