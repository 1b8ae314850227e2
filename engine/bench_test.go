package engine

import (
	"context"
	"testing"
	"time"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/memory"
)

// BenchmarkDecide is a decision without a round trip: the engine over the memory store.
func BenchmarkDecide(b *testing.B) {
	plenty := bucket(1_000_000, time.Second, 1_000_000)
	for _, c := range []struct {
		name  string
		items []quota.Item
	}{
		{"one-limit", []quota.Item{item("acme|subject|alice", 1, rule(b, "per-user", plenty))}},
		{"three-limits-one-key", []quota.Item{item("acme|subject|alice", 1, rule(b, "a", plenty), rule(b, "b", plenty), rule(b, "c", plenty))}},
		{"two-keys", []quota.Item{item("acme||", 0, rule(b, "tenant", plenty)), item("acme|subject|alice", 1, rule(b, "per-user", plenty))}},
		{"refused-from-memory", []quota.Item{item("acme|subject|bob", 1, rule(b, "one", window(1, 100*time.Hour)))}},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := New(memory.New(), Options{})
			call := Call{Items: c.items, Cost: 1}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Decide(context.Background(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
