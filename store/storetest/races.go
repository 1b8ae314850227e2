package storetest

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed43908478/penstock/store"
)

// callers race in each of the tests below.
const callers = 64

var races = []test{
	{"every addition counts", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(daily, set("n", 0)))
		admitted := storm(alice, 10*callers, part(daily, ifIn("n", 0, math.MaxInt64), add("n", 1)))
		if admitted != 10*callers {
			t.Errorf("%d of %d additions applied", admitted, 10*callers)
		}
		alice.has(daily, registers("n", 10*callers))
	}},
	{"a guard that admits 100 admits exactly 100 of 1,000", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(daily, set("n", 0)))
		if admitted := storm(alice, 1000, part(daily, ifIn("n", 0, 99), add("n", 1))); admitted != 100 {
			t.Errorf("%d admitted", admitted)
		}
		alice.has(daily, registers("n", 100))
	}},
	{"a window that nobody began admits exactly 100 of 1,000", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		if admitted := storm(alice, 1000, part(daily, ifInOrAbsent("n", 5000, 5099), addFrom("n", 5000, 1), drop("m"))); admitted != 100 {
			t.Errorf("%d admitted", admitted)
		}
		alice.has(daily, registers("n", 5100))
	}},
	{"one of all who make an item wins", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		if won := storm(alice, callers, part(bucket, ifInOrAbsent("tat", 0, 0), set("tat", 1))); won != 1 {
			t.Errorf("%d won", won)
		}
	}},
	{"one compare-and-swap wins", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(bucket, set("tat", 7)))
		if won := storm(alice, callers, part(bucket, ifIn("tat", 7, 7), set("tat", 8))); won != 1 {
			t.Errorf("%d won", won)
		}
	}},
	{"parts are not torn", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(bucket, set("n", 0)), part(daily, set("n", 0)))
		admitted := storm(alice, 5*callers,
			part(bucket, ifIn("n", 0, 79), add("n", 1)),
			part(daily, ifIn("n", 0, 49), add("n", 1)))
		if admitted != 50 {
			t.Errorf("%d admitted", admitted)
		}
		alice.has(bucket, registers("n", 50))
		alice.has(daily, registers("n", 50))
	}},
	{"a log never holds more than its quota", func(t *testing.T, s store.Store) {
		const quota = 30
		alice := newItem(t, s, "alice")
		if admitted := storm(alice, 5*callers, part(exact, ifSizeOrAbsent(0, quota-1), push(1, 1000))); admitted != quota {
			t.Errorf("%d of %d places taken", admitted, quota)
		}

		// A period later every element may be replaced once.
		replace := part(exact, ifSize(1, quota), ifElements(0, 1, math.MinInt64, 1000), remove(0, 1), push(1, 2000))
		if admitted := storm(alice, 5*callers, replace); admitted != quota {
			t.Errorf("%d of %d places replaced", admitted, quota)
		}
		want := make([]int64, quota)
		for n := range want {
			want[n] = 2000
		}
		alice.has(exact, log(want...))
	}},
}

// storm lets the callers make that many attempts of one write together and returns
// how many were applied.
func storm(i item, attempts int64, parts ...store.Part) int64 {
	i.t.Helper()
	var left, applied atomic.Int64
	left.Store(attempts)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				r, err := i.s.Apply(context.Background(), i.write(parts...))
				switch {
				case err != nil:
					i.t.Errorf("Apply: %v", err)
					return
				case r.Applied:
					applied.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return applied.Load()
}
