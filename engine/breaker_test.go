package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

func TestAStoreThatIsAwayIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watch(time.Now)
		away := func(ctx context.Context, _ store.Write) error {
			<-ctx.Done()
			return &store.Error{Reason: store.Unavailable, Unknown: true, Err: ctx.Err()}
		}
		s.before = away
		e := New(s, Options{})
		r := rule(t, "r", bucket(10, time.Second, 0))
		r.OnStoreError = quota.Local
		ask := func(key string, wait time.Duration, writes int64, degraded Degraded) {
			t.Helper()
			start := time.Now()
			d, err := e.Decide(t.Context(), Call{Cost: 1, Items: []quota.Item{item(key, 1, r)}})
			if n := s.writes.Swap(0); err != nil || !d.Allowed || d.Degraded != degraded || time.Since(start) != wait || n != writes {
				t.Fatalf("%s: %+v, %v after %s with %d writes", key, d, err, time.Since(start), n)
			}
		}
		for i := range brokenKeys {
			ask(fmt.Sprint("user-", i), DefaultBudget, 1, DegradedLocal)
		}
		ask("another", 0, 0, DegradedLocal) // nobody waits any more
		time.Sleep(brokenFor + 1)
		ask("a third", DefaultBudget, 1, DegradedLocal) // one tries
		ask("a fourth", 0, 0, DegradedLocal)
		s.before = nil
		time.Sleep(brokenFor + 1)
		ask("a fifth", 0, 1, NotDegraded)
		ask("a sixth", 0, 1, NotDegraded)
	})
}

func TestOneKeyDoesNotBreakTheCircuit(t *testing.T) {
	for name, failure := range map[string]*store.Error{
		"that cannot be written": {Reason: store.Unavailable, Err: errors.New("no answer")},
		"that is throttled":      {Reason: store.HotKey, Err: errors.New("throttled")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := watch(time.Now)
				s.before = func(_ context.Context, w store.Write) error {
					if w.Key == "attacked" {
						return failure
					}
					return nil
				}
				e := New(s, Options{})
				r := rule(t, "r", bucket(10, time.Second, 0))
				for range 100 {
					if _, err := e.Decide(t.Context(), Call{Cost: 1, Items: []quota.Item{item("attacked", 1, r)}}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(hotFor)
				}
				d, err := e.Decide(t.Context(), Call{Cost: 1, Items: []quota.Item{item("another", 1, r)}})
				if err != nil || !d.Allowed || d.Degraded != NotDegraded {
					t.Fatalf("%+v, %v", d, err)
				}
			})
		})
	}
}

// Every key that an attacker can make hot is hot, and the store is well.
func TestManyHotKeysAreNoOutage(t *testing.T) {
	sc := newScene(t)
	r := rule(t, "r", bucket(10, time.Second, 0))
	sc.store.before = func(context.Context, store.Write) error {
		return &store.Error{Reason: store.HotKey, Err: errors.New("throttled")}
	}
	for i := range 3 * brokenKeys {
		sc.refused(1, hotRetry, HotKey, Store, item(fmt.Sprint(i), 1, r))
	}
	sc.store.before = nil
	sc.admitted(1, item("another", 1, r))
}
