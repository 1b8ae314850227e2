package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// A measurement is what all measurements work with.
type measurement struct {
	settings
	binary string
	table  *dynamotest.Server
}

// exact is a storm of 1,000 attempts on a key with 100 permits.
type exact struct {
	Algorithm string `json:"algorithm"`
	Run       int    `json:"run"`
	Attempts  int64  `json:"attempts"`
	Admitted  int64  `json:"admitted"`
	Refused   int64  `json:"refused"`
	Errors    int64  `json:"errors"`
}

func (m measurement) exact(ctx context.Context, r *report) error {
	f, err := launch(ctx, m.binary, m.processes, m.table.Endpoint())
	defer f.stop()
	if err != nil {
		return err
	}
	for _, algorithm := range []string{"bucket", "leaky", "log", "subwindows", "window", "counter", "refill", "slots"} {
		for run := range 5 {
			x := exact{Algorithm: algorithm, Run: run + 1}
			var tries atomic.Int64
			m.storm(func(i int) bool {
				if tries.Add(1) > 1000 {
					return false
				}
				a, err := f.check(ctx, i, algorithm, fmt.Sprint("exact-", run))
				atomic.AddInt64(&x.Attempts, 1)
				switch {
				case err != nil || a.status != 200 && a.status != 429:
					atomic.AddInt64(&x.Errors, 1)
				case a.Allowed:
					atomic.AddInt64(&x.Admitted, 1)
				default:
					atomic.AddInt64(&x.Refused, 1)
				}
				return true
			})
			r.Exact = append(r.Exact, x)
		}
	}
	return nil
}

// storm lets all callers call as fast as they can until each is told to stop.
func (m measurement) storm(call func(caller int) (more bool)) {
	var all sync.WaitGroup
	for i := range m.callers {
		all.Go(func() {
			for call(i) {
			}
		})
	}
	all.Wait()
}

// due is a bucket of 50/s with a burst of 50 under callers as fast as they can be: 550 in 10 s.
type due struct {
	Due               int64   `json:"due"`
	Admitted          int64   `json:"admitted"`
	Attempts          int64   `json:"attempts"`
	Errors            int64   `json:"errors"`
	BackedOff         int64   `json:"backed_off"` // answers from back-off
	Writes            int64   `json:"writes"`
	WritesPerAdmitted float64 `json:"writes_per_admitted"`
}

func (m measurement) due(ctx context.Context, r *report) error {
	p, err := newProxy(m.table.Endpoint())
	if err != nil {
		return err
	}
	defer func() { _ = p.server.Close() }()
	f, err := launch(ctx, m.binary, m.processes, p.url())
	defer f.stop()
	if err != nil {
		return err
	}
	d := due{Due: 550}
	before := p.writes.Load()
	start := time.Now()
	m.storm(func(i int) bool {
		if time.Since(start) >= 10*time.Second {
			return false
		}
		a, err := f.check(ctx, i, "rate", "due")
		atomic.AddInt64(&d.Attempts, 1)
		switch {
		case err != nil || a.status != 200 && a.status != 429:
			atomic.AddInt64(&d.Errors, 1)
		case a.Allowed:
			atomic.AddInt64(&d.Admitted, 1)
		case a.Source == string(engine.BackOff):
			atomic.AddInt64(&d.BackedOff, 1)
		}
		return true
	})
	d.Writes = p.writes.Load() - before
	d.WritesPerAdmitted = float64(d.Writes) / float64(d.Admitted)
	r.Due = d
	return nil
}

// window is a saturated sliding-window log of 100 per 500 ms, for 3 s. It is measured
// in this process, by one engine for each of the processes, as an admission's exact
// time is known here.
type window struct {
	Possible    int     `json:"possible"`
	Admitted    int     `json:"admitted"`
	WorstWindow int     `json:"worst_window"`
	Used        float64 `json:"used"`
	MostWrites  int     `json:"most_writes_of_one_decision"`
}

func (m measurement) window(ctx context.Context, r *report) error {
	const quotaOf, period, length = 100, 500 * time.Millisecond, 3 * time.Second
	l, err := limit.New(limit.Policy{Algorithm: "sliding_window_log", Quota: quotaOf, Period: period})
	if err != nil {
		return err
	}
	client := dynamotest.NewClient(m.table.Endpoint())
	if err := dynamo.CreateTables(ctx, client, tables); err != nil {
		return err
	}
	engines := make([]*engine.Engine, m.processes)
	for i := range engines {
		engines[i] = engine.New(dynamo.New(client, tables.State), engine.Options{})
	}
	rule := &quota.Rule{Name: "window", ID: "window." + l.Code(), Limit: l, OnStoreError: quota.Deny}
	call := engine.Call{Cost: 1, Items: []quota.Item{{Key: fmt.Sprintf("window|%d", time.Now().UnixNano()), Rules: []*quota.Rule{rule}, Memory: l.Memory()}}}

	var mu sync.Mutex
	var admitted []time.Time
	w := window{Possible: quotaOf * int(length/period)}
	start := time.Now()
	m.storm(func(i int) bool {
		if time.Since(start) >= length {
			return false
		}
		d, err := engines[i%len(engines)].Decide(ctx, call)
		mu.Lock()
		defer mu.Unlock()
		w.MostWrites = max(w.MostWrites, d.Writes)
		if err == nil && d.Allowed && d.At.Before(start.Add(length)) {
			admitted = append(admitted, d.At)
		}
		return err == nil
	})
	slices.SortFunc(admitted, time.Time.Compare)
	w.Admitted = len(admitted)
	w.Used = float64(w.Admitted) / float64(w.Possible)
	for i, from := range admitted {
		within := 0
		for within < len(admitted)-i && admitted[i+within].Sub(from) < period {
			within++
		}
		w.WorstWindow = max(w.WorstWindow, within)
	}
	r.Window = w
	return nil
}
