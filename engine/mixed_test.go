package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/memory"
)

// uses are when permits were used.
type uses struct {
	mu sync.Mutex
	at []time.Time
}

func (u *uses) add(at time.Time, n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.at = append(u.at, slices.Repeat([]time.Time{at}, int(n))...)
}

// worst is the most permits that were used in any window.
func (u *uses) worst(window time.Duration) (most int) {
	slices.SortFunc(u.at, time.Time.Compare)
	first := 0
	for i, at := range u.at {
		for at.Sub(u.at[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Calls, calls that wait, calls with ids that are repeated, leases that are used sooner or later
// and settled, all at once through several instances, on limits of two items: no window has
// more than its limit, and nothing is left under way.
func TestEverythingAtOnceStaysWithinTheLimit(t *testing.T) {
	for _, p := range []limit.Policy{
		window(20, ms(300)),
		{Algorithm: "sliding_window_log", Quota: 20, Period: ms(300), SoftPercent: 50},
		bucket(60, time.Second, 18),
		{Algorithm: "fixed_window", Quota: 20, Period: ms(300)},
		{Algorithm: "sliding_window_counter", Quota: 20, Period: ms(300)},
		{Algorithm: "interval_refill", Quota: 20, Period: ms(300)},
	} {
		t.Run(fmt.Sprint(p.Algorithm, p.SoftPercent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { everythingAtOnce(t, p) })
		})
	}
}

func everythingAtOnce(t *testing.T, p limit.Policy) {
	tenant := item("tenant", 0, rule(t, "all", p))
	alice := item("alice", 1, rule(t, "per-user", bucket(1000, time.Second, 200)))
	s := slow{memory.New(memory.WithClock(time.Now))}
	var used uses
	var all sync.WaitGroup
	for i := range 3 {
		e := New(s, Options{Now: time.Now})
		for j := range 6 {
			random := rand.New(rand.NewPCG(uint64(i), uint64(j))) //nolint:gosec // the same each time
			c := &mixed{t: t, engine: e, random: random, used: &used, name: fmt.Sprint(i, j), items: []quota.Item{tenant, alice}}
			all.Go(c.run)
		}
	}
	all.Wait()
	most := p.Quota + p.Quota*p.SoftPercent/100
	window := p.Period
	switch p.Algorithm {
	case "token_bucket":
		most, window = p.Burst, 1
	case "sliding_window_log":
	default:
		most *= 2
	}
	if n := used.worst(window); n > int(most) {
		t.Errorf("%d of %d permits within %s", n, most, window)
	}
	if len(used.at) < 100 {
		t.Errorf("%d permits in all: too few to show anything", len(used.at))
	}
}

// slow is a store that takes its time.
type slow struct{ store.Store }

func (s slow) Apply(ctx context.Context, w store.Write) (store.Result, error) {
	time.Sleep(rand.N(4 * time.Millisecond)) //nolint:gosec // how long, does not matter
	r, err := s.Store.Apply(ctx, w)
	time.Sleep(rand.N(4 * time.Millisecond)) //nolint:gosec // how long, does not matter
	return r, err
}

// mixed is a caller of all kinds.
type mixed struct {
	t      *testing.T
	engine *Engine
	random *rand.Rand
	used   *uses
	name   string
	items  []quota.Item
}

func (m *mixed) run() {
	for n := range 150 {
		time.Sleep(time.Duration(m.random.Int64N(int64(20 * time.Millisecond))))
		switch m.random.IntN(4) {
		case 0:
			m.call(Call{Items: m.items, Cost: 1 + m.random.Int64N(3)})
		case 1:
			m.call(Call{Items: m.items, Cost: 1, MaxWait: ms(200)})
		case 2:
			c := Call{Items: m.items, Cost: 1, MaxWait: ms(100), RequestID: fmt.Sprint(m.name, n)}
			m.call(c)
			if d, err := m.engine.Decide(m.t.Context(), c); err != nil || d.Allowed && !d.Repeat {
				m.call(Call{Items: m.items, Cost: 1}) // it was refused before: the id means nothing
			}
		case 3:
			m.lease()
		}
	}
}

func (m *mixed) call(c Call) {
	d, err := m.engine.Decide(m.t.Context(), c)
	if err != nil {
		m.t.Error(err)
	}
	if d.Allowed && !d.Repeat {
		m.used.add(d.At.Add(d.Wait), c.Cost)
	}
}

func (m *mixed) lease() {
	d, err := m.engine.Decide(m.t.Context(), Call{Items: m.items, Cost: 8, Least: 1, TTL: ms(60)})
	if err != nil {
		m.t.Error(err)
	}
	if !d.Allowed {
		return
	}
	left := d.Granted
	for left > 0 && time.Since(d.At) < d.TTL-2*time.Millisecond && m.random.IntN(4) > 0 {
		m.used.add(time.Now(), 1)
		left--
		time.Sleep(min(time.Millisecond, time.Until(d.At.Add(d.TTL))))
	}
	_, _ = m.engine.Settle(m.t.Context(), settlement(d, d.Granted-left, m.items...)) // too late, at times
}
