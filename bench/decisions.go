// Package bench measures decisions: how many DynamoDB calls and write units they take,
// and how fast they are as a ratio to bare writes in the same run. Counts are exact
// on any machine; times are not, and are given as ratios for that reason.
package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// A Scenario is callers at work on some keys, each at random moments (a Poisson process).
type Scenario struct {
	Algorithm string `json:"algorithm"`
	Keys      int    `json:"keys"` // that share the rate evenly
	Callers   int    `json:"callers"`
	// Instances is among how many engines, each with a memory of its own, the callers
	// are spread: as many as callers on Lambda, one in a server.
	Instances int     `json:"instances"`
	Load      float64 `json:"load"` // calls offered, as a share of the limits' rate
}

// A Result is what a scenario took.
type Result struct {
	Scenario
	Decisions         int64   `json:"decisions"`
	Admitted          int64   `json:"admitted"`
	Failed            int64   `json:"failed"` // the store did not answer in time
	Calls             int64   `json:"calls"`  // to the store
	CallsPerDecision  float64 `json:"calls_per_decision"`
	CallsPerAdmission float64 `json:"calls_per_admission"`
	// CallsPerAdmittedDecision counts only the calls that admitted decisions made.
	CallsPerAdmittedDecision float64 `json:"calls_per_admitted_decision"`
	UnitsPerDecision         float64 `json:"write_units_per_decision"`
	MostWrites               int64   `json:"most_writes_of_one_decision"`
	P50                      float64 `json:"p50_ms"` // of decisions that asked the store
	P99                      float64 `json:"p99_ms"`
}

// Usage counts what a store was asked, told by its observer.
type Usage struct {
	Calls atomic.Int64
	// MilliUnits are write units consumed, in thousandths.
	MilliUnits atomic.Int64
}

// rate is what the limits of a scenario allow together, per second.
const rate = 200

// policy is the limit of each key of a scenario.
func (s Scenario) policy() limit.Policy {
	perKey := int64(max(1, rate/s.Keys))
	switch {
	case s.Algorithm == "token_bucket":
		return limit.Policy{Algorithm: s.Algorithm, Quota: perKey, Period: time.Second, Burst: max(2, perKey/4)}
	case s.Keys == 1: // many windows in one run
		return limit.Policy{Algorithm: s.Algorithm, Quota: perKey / 2, Period: time.Second / 2}
	}
	return limit.Policy{Algorithm: s.Algorithm, Quota: perKey, Period: time.Second}
}

// calls makes a call for each key of a scenario, under names never used before.
func (s Scenario) calls() ([]engine.Call, error) {
	l, err := limit.New(s.policy())
	if err != nil {
		return nil, err
	}
	rule := &quota.Rule{Name: "bench", ID: "bench." + l.Code(), Limit: l, OnStoreError: quota.Deny}
	run := rand.Uint64()
	calls := make([]engine.Call, s.Keys)
	for i := range calls {
		calls[i] = engine.Call{Cost: 1, Items: []quota.Item{{
			Key: fmt.Sprintf("bench|%x|%d", run, i), Parts: 1, Rules: []*quota.Rule{rule}, Memory: l.Memory(),
		}}}
	}
	return calls, nil
}

// Run plays a scenario on a store for a time, after a fifth of it to get warm.
func (s Scenario) Run(ctx context.Context, st store.Store, used *Usage, length time.Duration) (Result, error) {
	calls, err := s.calls()
	if err != nil {
		return Result{}, err
	}
	engines := make([]*engine.Engine, s.Instances)
	for i := range engines {
		engines[i] = engine.New(st, engine.Options{Instances: s.Instances})
	}
	play := func(length time.Duration) (*tally, error) {
		t := newTally()
		ctx, stop := context.WithTimeout(ctx, length)
		defer stop()
		var all sync.WaitGroup
		for i := range s.Callers {
			all.Go(func() { t.caller(ctx, s, engines[i%s.Instances], calls) })
		}
		all.Wait()
		return t, t.err
	}
	if _, err := play(length / 5); err != nil {
		return Result{}, err
	}
	before, units := used.Calls.Load(), used.MilliUnits.Load()
	t, err := play(length)
	if err != nil {
		return Result{}, err
	}
	return t.result(s, used.Calls.Load()-before, used.MilliUnits.Load()-units), nil
}

// A tally counts decisions.
type tally struct {
	mu                                                sync.Mutex
	decisions, admitted, admittedWrites, most, failed int64
	times                                             *hdrhistogram.Histogram // µs
	err                                               error
}

func newTally() *tally {
	return &tally{times: hdrhistogram.New(1, int64(10*time.Second/time.Microsecond), 3)}
}

// caller makes calls until ctx ends, on any key, at the caller's share of the offered rate.
func (t *tally) caller(ctx context.Context, s Scenario, e *engine.Engine, calls []engine.Call) {
	mean := float64(s.Callers) / (rate * s.Load) * float64(time.Second)
	next := time.Now()
	for {
		next = next.Add(time.Duration(rand.ExpFloat64() * mean))
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(next)):
		}
		start := time.Now()
		d, err := e.Decide(context.WithoutCancel(ctx), calls[rand.IntN(len(calls))])
		t.add(d, err, time.Since(start))
	}
}

func (t *tally) add(d engine.Decision, err error, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.decisions++
	t.most = max(t.most, int64(d.Writes))
	if d.Allowed {
		t.admitted++
		t.admittedWrites += int64(d.Writes)
	}
	if d.Writes > 0 {
		_ = t.times.RecordValue(took.Microseconds()) // beyond ten seconds nothing comes
	}
	if d.Reason == engine.StoreError {
		t.failed++
	}
	if t.err == nil {
		t.err = err
	}
}

func (t *tally) result(s Scenario, calls, milliUnits int64) Result {
	return Result{
		Scenario: s, Decisions: t.decisions, Admitted: t.admitted, Failed: t.failed, Calls: calls,
		CallsPerDecision:         ratio(calls, t.decisions),
		CallsPerAdmission:        ratio(calls, t.admitted),
		CallsPerAdmittedDecision: ratio(t.admittedWrites, t.admitted),
		UnitsPerDecision:         ratio(milliUnits, t.decisions) / 1000,
		MostWrites:               t.most,
		P50:                      float64(t.times.ValueAtQuantile(50)) / 1000,
		P99:                      float64(t.times.ValueAtQuantile(99)) / 1000,
	}
}

func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
