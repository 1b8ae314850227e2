package dynamo_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

func inParts(quota int64, period time.Duration) limit.Policy {
	return limit.Policy{Algorithm: "sliding_window_log", Quota: quota, Period: period, Resolution: 60}
}

// decisions of one cost by 64 callers over four instances, until that many were tried.
func decisions(t *testing.T, s *dynamo.Store, p limit.Policy, attempts int64) (admitted, writes, most int64) {
	t.Helper()
	l, err := limit.New(p)
	if err != nil {
		t.Fatal(err)
	}
	rules := []*quota.Rule{{Name: "log", ID: "log." + l.Code(), Limit: l, Mode: quota.Enforce, OnStoreError: quota.Deny}}
	call := engine.Call{Cost: 1, Items: []quota.Item{{Key: "alice", Memory: l.Memory(), Rules: rules}}}
	var tried, passed, written, worst atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		e := engine.New(s, engine.Options{Budget: patience})
		for range 16 {
			all.Go(func() {
				for tried.Add(1) <= attempts {
					d, err := e.Decide(t.Context(), call)
					if err != nil || d.Reason == engine.StoreError {
						t.Errorf("%s, %v", d.Reason, err)
						return
					}
					n := int64(d.Writes)
					written.Add(n)
					for w := worst.Load(); w < n && !worst.CompareAndSwap(w, n); w = worst.Load() {
					}
					if d.Allowed {
						passed.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	return passed.Load(), written.Load(), worst.Load()
}

func TestLogInPartsAdmitsExactlyItsQuota(t *testing.T) {
	client, tables := dynamotest.Tables(t)
	s := dynamo.New(client, tables.State, dynamo.WithBudget(patience))
	admitted, writes, most := decisions(t, s, inParts(100, time.Hour), 1000)
	if admitted != 100 || most > 2 {
		t.Errorf("%d of 1,000 admitted, want 100; up to %d writes for one", admitted, most)
	}
	t.Logf("%.2f writes for each of 100 admitted, %.3f for each of 1,000 decisions", float64(writes)/100, float64(writes)/1000)
}

// A sub-window is begun by one caller. The others lose to it once, as long as it lasts longer
// than their writes take: half a second is long even for a busy machine.
func TestLogInPartsWhoseSubWindowsBeginUnderLoad(t *testing.T) {
	client, tables := dynamotest.Tables(t)
	s := dynamo.New(client, tables.State, dynamo.WithBudget(patience))
	const attempts = 1000
	began := time.Now()
	admitted, writes, most := decisions(t, s, inParts(100_000, 30*time.Second), attempts)
	if admitted != attempts || most > 3 {
		t.Errorf("%d of %d admitted; up to %d writes for one", admitted, attempts, most)
	}
	t.Logf("%d admitted in %s, %.2f writes for each, at most %d", admitted, time.Since(began), float64(writes)/attempts, most)
}

// A million an hour in 61 counts, all of them used, beside a bucket: one write unit.
func TestLogInPartsTakesOneWriteUnit(t *testing.T) {
	client, tables := dynamotest.Tables(t)
	var last dynamo.Observation
	s := dynamo.New(client, tables.State, dynamo.WithBudget(patience), dynamo.WithObserver(func(o dynamo.Observation) { last = o }))
	l, err := limit.New(inParts(1_000_000, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Repeat("k", 100)
	var seen limit.State
	noon := time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)
	for minute := range 130 {
		for range 2 {
			p := l.Propose(seen, limit.Ask{Now: noon.Add(time.Duration(minute) * time.Minute), Cost: 8190})
			if p.Refusal != nil {
				t.Fatalf("minute %d: %+v", minute, p.Refusal)
			}
			r, err := s.Apply(t.Context(), store.Write{Key: key, Parts: []store.Part{{Limit: "per-user." + l.Code(), Write: p.Write}}})
			if err != nil || !r.Applied {
				t.Fatalf("minute %d: %+v, %v", minute, r, err)
			}
			seen = r.States[0]
			if last.Units != 1 {
				t.Fatalf("minute %d: %v units", minute, last.Units)
			}
		}
	}
	if len(seen.Log) != 61 || seen.Log[0] != 2*8190 {
		t.Errorf("%v", seen.Log)
	}
}

// An operator makes an exact log one in parts and back: each is one write, and counts.
func TestLogChangesItsFormInTheTable(t *testing.T) {
	client, tables := dynamotest.Tables(t)
	s := dynamo.New(client, tables.State, dynamo.WithBudget(patience))
	noon := time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)
	var seen limit.State
	left := int64(1000)
	for minute, resolution := range []int64{0, 60, 0, 12, 60, 0} {
		l, err := limit.New(limit.Policy{Algorithm: "sliding_window_log", Quota: 1000, Period: time.Hour, Resolution: resolution})
		if err != nil {
			t.Fatal(err)
		}
		now := noon.Add(time.Duration(minute) * time.Minute)
		for range 2 {
			p := l.Propose(seen, limit.Ask{Now: now, Cost: 80})
			r, err := s.Apply(t.Context(), store.Write{Key: "alice", Parts: []store.Part{{Limit: "per-user.swl", Write: p.Write}}})
			if err != nil || !r.Applied || p.Refusal != nil {
				t.Fatalf("resolution %d: %+v, %v", resolution, r, err)
			}
			seen, left = r.States[0], left-80
			if got := l.Standing(seen, now, 0).Remaining; got != left {
				t.Fatalf("resolution %d: %d remain, want %d", resolution, got, left)
			}
		}
	}
}
