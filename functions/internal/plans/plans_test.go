package plans_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed43908478/penstock/functions/internal/plans"
	"github.com/seed43908478/penstock/quota"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// A table is a config table that answers after a while, or not.
type table struct {
	mu    sync.Mutex
	takes time.Duration
	err   error
	asked int
}

func (t *table) set(takes time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.takes, t.err = takes, err
}

func (t *table) Manifest(context.Context) ([]byte, int64, error) {
	t.mu.Lock()
	t.asked++
	takes, err := t.takes, t.err
	t.mu.Unlock()
	time.Sleep(takes)
	if err != nil {
		return nil, 0, err
	}
	data, err := quota.Manifest{Version: 1, Plans: "plans", Tenants: []string{"tenants"}, Count: 1}.Encode()
	return data, 1, err
}

func (t *table) Part(_ context.Context, name string) ([]byte, error) {
	if name == "plans" {
		return quota.EncodePlans(map[string]quota.SavedPlan{"free": {}})
	}
	return quota.EncodeTenants(map[string]quota.SavedTenant{"acme": {Tenant: quota.Tenant{Plan: "free"}}})
}

// loaded fails unless acme is known, after exactly so long.
func loaded(t *testing.T, p *plans.Plans, after time.Duration) {
	t.Helper()
	begin := time.Now()
	if _, err := p.Match(t.Context(), quota.Request{Tenant: "acme"}); err != nil {
		t.Fatalf("%v, want acme known", err)
	}
	if took := time.Since(begin); took != after {
		t.Errorf("waited %s, want %s", took, after)
	}
}

// missing fails unless there is nothing, after exactly so long.
func missing(t *testing.T, p *plans.Plans, after time.Duration) {
	t.Helper()
	begin := time.Now()
	if _, err := p.Match(t.Context(), quota.Request{Tenant: "acme"}); err == nil || errors.Is(err, quota.ErrUnknownTenant) {
		t.Fatalf("%v, want that it is not known", err)
	}
	if took := time.Since(begin); took != after {
		t.Errorf("waited %s, want %s", took, after)
	}
}

func TestTheFirstCallsWaitForOneLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &table{takes: 300 * time.Millisecond}
		p := plans.Follow(slow)
		synctest.Wait()
		if slow.asked != 0 {
			t.Errorf("asked before the first call")
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { loaded(t, p, 300*time.Millisecond) })
		}
		wg.Wait()
		loaded(t, p, 0)
		if slow.asked != 1 {
			t.Errorf("asked %d times, want once", slow.asked)
		}
	})
}

func TestATableThatFailsIsAskedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &table{err: errors.New("no such table")}
		p := plans.Follow(broken)
		for range 100 {
			missing(t, p, 0)
		}
		if broken.asked != 1 {
			t.Errorf("asked %d times in an instant, want once", broken.asked)
		}
		broken.set(0, nil)
		missing(t, p, 0)
		time.Sleep(time.Second)
		loaded(t, p, 0)
	})
}

func TestATableThatHangsHoldsACallForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := &table{takes: 2500 * time.Millisecond, err: errors.New("timeout")}
		p := plans.Follow(hanging)
		missing(t, p, time.Second)
		missing(t, p, time.Second)
		hanging.set(0, nil)
		missing(t, p, 500*time.Millisecond) // the first load ends
		time.Sleep(time.Second)
		loaded(t, p, 0)
	})
}

func TestACallerWhoLeavesIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plans.Follow(&table{takes: 500 * time.Millisecond})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := p.Match(ctx, quota.Request{Tenant: "acme"}); err == nil {
			t.Error("found what was not loaded")
		}
		loaded(t, p, 490*time.Millisecond) // the load was not the caller's
	})
}

// A settlement may be the first call.
func TestASettlementWaitsForTheLoadToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &table{err: errors.New("no such table")}
		p := plans.Follow(slow)
		if _, err := p.Item(t.Context(), "acme", "acme||"); err == nil || errors.Is(err, quota.ErrUnknownTenant) {
			t.Errorf("%v, want that it is not known", err)
		}
		p.Outdated(1) // of what there is not
		slow.set(300*time.Millisecond, nil)
		time.Sleep(time.Second)
		if _, err := p.Item(t.Context(), "acme", "acme||"); err != nil {
			t.Error(err)
		}
		if _, err := p.Item(t.Context(), "initech", "initech||"); !errors.Is(err, quota.ErrUnknownTenant) {
			t.Errorf("%v, want an unknown tenant", err)
		}
		p.Outdated(1)
		loaded(t, p, 50*time.Millisecond) // the table is asked again, and is slow
		time.Sleep(time.Second)
		loaded(t, p, 0)
	})
}
