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

// A Speed is how many decisions a second callers get that ask as fast as they can, as
// ratios to bare writes of the same callers on the same store: the floors.
type Speed struct {
	Callers         int     `json:"callers"`
	Keys            int     `json:"keys"`
	DecisionsPerSec float64 `json:"decisions_per_second"`
	// BarePerSec is of writes that add one, ConditionalPerSec of the same under a
	// condition, the least with which a limit can be held. Ratios are medians of rounds.
	BarePerSec         float64 `json:"bare_writes_per_second"`
	ConditionalPerSec  float64 `json:"conditional_writes_per_second"`
	RatioToBare        float64 `json:"ratio_to_bare"`
	RatioToConditional float64 `json:"ratio_to_conditional"`
	Failed             int64   `json:"failed"` // decisions the store did not answer in time
}

// A Floor makes the least writes there are to a key.
type Floor struct {
	Bare, Conditional func(ctx context.Context, key string) error
}

// rounds is how often decisions and bare writes take turns.
const rounds = 9

// MeasureSpeed lets decisions and the two kinds of writes take turns, each for a time.
func MeasureSpeed(ctx context.Context, st store.Store, floor Floor, callers, keys int, turn time.Duration) (Speed, error) {
	// A bucket that never refuses and is never rested, so that every decision is one write.
	l, err := limit.New(limit.Policy{Algorithm: "token_bucket", Quota: 1, Period: time.Second, Burst: 1_000_000})
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
	s := Speed{Callers: callers, Keys: keys}
	var toBare, toConditional []float64
	for range rounds {
		var perSec [3]float64
		for i, do := range []func(int) (bool, error){
			func(i int) (bool, error) { return true, floor.Bare(ctx, names[i]) },
			func(i int) (bool, error) { return true, floor.Conditional(ctx, names[i]) },
			decide,
		} {
			if perSec[i], err = perSecond(callers, keys, turn, do); err != nil {
				return s, err
			}
		}
		s.BarePerSec += perSec[0] / rounds
		s.ConditionalPerSec += perSec[1] / rounds
		s.DecisionsPerSec += perSec[2] / rounds
		toBare = append(toBare, perSec[2]/perSec[0])
		toConditional = append(toConditional, perSec[2]/perSec[1])
	}
	s.Failed = failed.Load()
	s.RatioToBare, s.RatioToConditional = median(toBare), median(toConditional)
	return s, nil
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
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
