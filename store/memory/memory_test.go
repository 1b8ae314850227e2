package memory_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/memory"
	"github.com/seed43908478/penstock/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memory.New() })
}

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// A clock that tests move.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func keep(t *testing.T, s *memory.Store, key string, until time.Time) {
	t.Helper()
	w := store.Write{Key: key, ExpiresAt: until, Parts: []store.Part{{
		Limit: "per-day.fw",
		Write: limit.Write{Changes: []limit.Change{{Kind: limit.Set, Register: "n", Value: 1}}},
	}}}
	if r, err := s.Apply(t.Context(), w); err != nil || !r.Applied {
		t.Errorf("keep %s: %+v, %v", key, r, err)
	}
}

func kept(t *testing.T, s *memory.Store, key string) bool {
	t.Helper()
	states, err := s.Read(t.Context(), key, []string{"per-day.fw"})
	if err != nil {
		t.Fatal(err)
	}
	return !states[0].IsZero()
}

func TestAnItemLivesUntilTheSecondItExpiresInIsOver(t *testing.T) {
	c := &clock{noon}
	s := memory.New(memory.WithClock(c.read))
	keep(t, s, "alice", noon.Add(1500*time.Millisecond))

	c.now = noon.Add(1999 * time.Millisecond)
	if !kept(t, s, "alice") {
		t.Error("forgotten too early")
	}
	c.now = noon.Add(2 * time.Second)
	if kept(t, s, "alice") {
		t.Error("still there")
	}
	if s.Len() != 0 {
		t.Error("expired, asked for, and not forgotten")
	}
}

func TestALaterWriteMovesTheExpiry(t *testing.T) {
	c := &clock{noon}
	s := memory.New(memory.WithClock(c.read))
	keep(t, s, "alice", noon.Add(time.Minute))
	keep(t, s, "alice", noon.Add(time.Hour))
	c.now = noon.Add(2 * time.Minute)
	if !kept(t, s, "alice") {
		t.Error("the longer life was not taken")
	}
	keep(t, s, "alice", c.now.Add(time.Second))
	c.now = c.now.Add(time.Second)
	if kept(t, s, "alice") {
		t.Error("the shorter life was not taken")
	}
}

func TestNoExpiryIsForever(t *testing.T) {
	c := &clock{noon}
	s := memory.New(memory.WithClock(c.read))
	keep(t, s, "alice", time.Time{})
	c.now = noon.AddDate(200, 0, 0)
	if !kept(t, s, "alice") {
		t.Error("forgotten")
	}
}

func TestAFullStoreForgetsWhatExpiresFirst(t *testing.T) {
	c := &clock{noon}
	s := memory.New(memory.WithClock(c.read), memory.WithCapacity(3))
	keep(t, s, "hour", noon.Add(time.Hour))
	keep(t, s, "minute", noon.Add(time.Minute))
	keep(t, s, "day", noon.Add(24*time.Hour))

	keep(t, s, "new", noon.Add(2*time.Hour))
	if kept(t, s, "minute") || !kept(t, s, "hour") || !kept(t, s, "day") || !kept(t, s, "new") {
		t.Error("want the minute gone and the rest kept")
	}
	if s.Len() != 3 {
		t.Errorf("%d items, want 3", s.Len())
	}
}

func TestAWriteThatProlongsALifeSavesIt(t *testing.T) {
	c := &clock{noon}
	s := memory.New(memory.WithClock(c.read), memory.WithCapacity(2))
	keep(t, s, "renewed", noon.Add(time.Minute))
	keep(t, s, "hour", noon.Add(time.Hour))
	keep(t, s, "renewed", noon.Add(24*time.Hour))

	keep(t, s, "new", noon.Add(2*time.Hour))
	if !kept(t, s, "renewed") || kept(t, s, "hour") {
		t.Error("want the hour gone: it expires first now")
	}
}

func TestTheExpiredMakeRoomBeforeTheLiving(t *testing.T) {
	c := &clock{noon}
	s := memory.New(memory.WithClock(c.read), memory.WithCapacity(3))
	keep(t, s, "dead", noon.Add(time.Minute))
	keep(t, s, "dead too", noon.Add(time.Minute))
	keep(t, s, "alive", noon.Add(time.Hour))

	c.now = noon.Add(2 * time.Minute)
	keep(t, s, "new", c.now.Add(time.Minute))
	if !kept(t, s, "alive") || !kept(t, s, "new") || s.Len() != 2 {
		t.Errorf("%d items; want only the two that live", s.Len())
	}
}

func TestAFloodOfKeysStaysWithinTheCapacity(t *testing.T) {
	s := memory.New(memory.WithCapacity(1000))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 2000 {
				keep(t, s, fmt.Sprintf("%d/%d", g, n), time.Now().Add(time.Hour))
			}
		})
	}
	wg.Wait()
	if n := s.Len(); n > 1000 || n < 700 {
		t.Errorf("%d items, want nearly 1000", n)
	}
}

// charge is what a busy token bucket and a daily count write.
func charge(key string) store.Write {
	return store.Write{Key: key, ExpiresAt: noon.AddDate(100, 0, 0), Parts: []store.Part{
		{Limit: "per-user.tb", Write: limit.Write{
			Guards:  []limit.Guard{{Kind: limit.RegisterInOrAbsent, Register: "tat", Min: math.MinInt64, Max: math.MaxInt64}},
			Changes: []limit.Change{{Kind: limit.Set, Register: "tat", Value: 1}, {Kind: limit.Set, Register: "t", Value: 100}},
		}},
		{Limit: "per-day.fw", Write: limit.Write{
			Guards:  []limit.Guard{{Kind: limit.RegisterInOrAbsent, Register: "n", Min: math.MinInt64, Max: math.MaxInt64}},
			Changes: []limit.Change{{Kind: limit.Set, Register: "n", Value: 1}},
		}},
	}}
}

func TestApplyAllocatesLittle(t *testing.T) {
	s := memory.New()
	w := charge("alice")
	if _, err := s.Apply(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	n := testing.AllocsPerRun(1000, func() {
		if _, err := s.Apply(ctx, w); err != nil {
			t.Error(err)
		}
	})
	// The states, and the registers of each of the two.
	if n > 3 {
		t.Errorf("%v allocations, want 3", n)
	}
}

func BenchmarkApply(b *testing.B) {
	ctx := context.Background()
	b.Run("one key", func(b *testing.B) {
		s, w := memory.New(), charge("alice")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Apply(ctx, w); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("many keys, parallel", func(b *testing.B) {
		s := memory.New()
		keys := make([]string, 1<<14)
		for n := range keys {
			keys[n] = fmt.Sprint("user ", n)
		}
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			w := charge("")
			for n := 0; pb.Next(); n++ {
				w.Key = keys[n%len(keys)]
				if _, err := s.Apply(ctx, w); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("new keys, full", func(b *testing.B) {
		s := memory.New(memory.WithCapacity(100_000))
		w := charge("")
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			w.Key = fmt.Sprint("user ", n)
			if _, err := s.Apply(ctx, w); err != nil {
				b.Fatal(err)
			}
		}
	})
}
