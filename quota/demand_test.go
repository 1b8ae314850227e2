package quota_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed43908478/penstock/quota"
)

// crowd is a configuration with so many tenants that they are loaded on demand.
func crowd(n int) quota.Config {
	c := quota.Example()
	clear(c.Tenants)
	for i := range n {
		c.Tenants[fmt.Sprintf("tenant-%d", i)] = quota.Tenant{Plan: "free"}
	}
	return c
}

// startSmall starts an instance that holds no more than ten tenants as a whole.
func startSmall(t *testing.T, s *table) instance {
	t.Helper()
	log := new(bytes.Buffer)
	l, err := quota.NewLive(t.Context(), s, quota.LiveOptions{Logger: slog.New(slog.NewTextHandler(log, nil)), WholeUpTo: 10})
	if err != nil {
		t.Fatal(err)
	}
	return instance{l, t, log}
}

// finds asserts whether a tenant is known, and how long its caller waits.
func (i instance) finds(tenant string, want error, waited time.Duration) {
	i.t.Helper()
	began := time.Now()
	if _, err := i.Match(i.t.Context(), quota.Request{Tenant: tenant}); !errors.Is(err, want) {
		i.t.Errorf("%s: %v, want %v", tenant, err, want)
	}
	if got := time.Since(began); got != waited {
		i.t.Errorf("%s: waited %v, want %v", tenant, got, waited)
	}
}

// loadsSoFar is how many parts were loaded.
func (s *table) loadsSoFar() int {
	_, loads := s.counts()
	return loads
}

func TestManyTenantsAreLoadedOnDemand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.saveParts(t, crowd(100), 8)
		live := startSmall(t, s)
		if s.loadsSoFar() != 1 || live.Snapshot(t.Context()).Tenants() != 100 {
			t.Errorf("%d parts were loaded at the start, want the plans alone", s.loadsSoFar())
		}
		s.set(func(s *table) { s.delay = 5 * time.Millisecond })
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() { live.finds("tenant-7", nil, 5*time.Millisecond) })
		}
		callers.Wait()
		if s.loadsSoFar() != 2 {
			t.Errorf("%d parts were loaded for 50 callers, want 1", s.loadsSoFar()-1)
		}
		live.finds("tenant-7", nil, 0)
		// A flood of names that nobody has: each part is read once, and then no more.
		for i := range 10_000 {
			if _, err := live.Match(t.Context(), quota.Request{Tenant: fmt.Sprintf("nobody-%d", i)}); !errors.Is(err, quota.ErrUnknownTenant) {
				t.Fatal(err)
			}
		}
		if s.loadsSoFar() != 1+8 {
			t.Errorf("%d parts were loaded, want each of 8 once", s.loadsSoFar()-1)
		}
		for i := range 100 {
			live.finds(fmt.Sprintf("tenant-%d", i), nil, 0)
		}
	})
}

// What was asked for once is held, and is refreshed as a whole.
func TestPartsInUseFollowTheVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		c := crowd(100)
		s.saveParts(t, c, 8)
		live := startSmall(t, s)
		live.finds("tenant-7", nil, 0)
		delete(c.Tenants, "tenant-7")
		s.saveParts(t, c, 16) // they became more, too
		time.Sleep(30 * time.Second)
		before := s.loadsSoFar()
		live.finds("tenant-7", quota.ErrUnknownTenant, 0)
		if got := s.loadsSoFar() - before; got != 3 {
			t.Errorf("%d parts were loaded, want the plans and the two that the one became", got)
		}
		s.set(func(s *table) { s.err = errors.New("no route to table") })
		time.Sleep(time.Hour)
		live.finds("tenant-7", quota.ErrUnknownTenant, 0) // stale, and known to be unknown
	})
}

func TestAPartThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.saveParts(t, crowd(100), 8)
		live := startSmall(t, s)
		down := errors.New("no route to table")
		s.set(func(s *table) { s.err = down })
		before := s.loadsSoFar()
		for range 1000 {
			live.finds("tenant-7", down, 0)
		}
		if got := s.loadsSoFar() - before; got != 1 {
			t.Errorf("loaded %d times in an instant, want once", got)
		}
		live.logged(1, "a part cannot be loaded")
		s.set(func(s *table) { s.err = nil })
		time.Sleep(time.Second)
		live.finds("tenant-7", nil, 0)

		s.set(func(s *table) { s.delay = time.Hour })
		live.finds("tenant-1", context.DeadlineExceeded, time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := live.For(ctx, "tenant-1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.Sleep(5 * time.Second) // the load ends
	})
}

// The part was deleted since its version was read: there is a newer version.
func TestAPartThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.saveParts(t, crowd(100), 8)
		live := startSmall(t, s)
		s.saveParts(t, crowd(100), 8)
		live.finds("tenant-7", nil, 0)
		live.serves(2, 0)

		s.set(func(s *table) { clear(s.parts) }) // it is damaged
		before, _ := s.counts()
		for range 1000 {
			live.finds("tenant-1", quota.ErrNoPart, 0)
		}
		if versions, _ := s.counts(); versions-before != 1 {
			t.Errorf("asked %d times in an instant", versions-before)
		}
	})
}

// Two changes while the parts are loaded delete them: the newest is loaded instead.
func TestVersionsOvertakeALoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		s.save(t, quota.Example())
		s.set(func(s *table) { s.delay = 10 * time.Millisecond })
		time.Sleep(30 * time.Second)
		go func() {
			time.Sleep(5 * time.Millisecond)
			s.save(t, quota.Example())
		}()
		live.serves(3, 40*time.Millisecond)
	})
}

// A snapshot shares what did not change with the one before.
func TestOnlyPartsThatChangedAreLoaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.saveParts(t, crowd(100), 8)
		live := start(t, s)
		if s.loadsSoFar() != 9 {
			t.Errorf("%d parts were loaded at the start, want 9", s.loadsSoFar())
		}
		next := func(change func(m *quota.Manifest)) {
			t.Helper()
			s.set(func(s *table) {
				m, err := quota.DecodeManifest(s.manifest)
				if err != nil {
					t.Fatal(err)
				}
				change(&m)
				s.version++
				m.Version = s.version
				if s.manifest, err = m.Encode(); err != nil {
					t.Fatal(err)
				}
			})
			time.Sleep(30 * time.Second)
			live.serves(s.version, 0)
		}
		next(func(*quota.Manifest) {}) // a key was made
		if s.loadsSoFar() != 9 {
			t.Errorf("%d parts were loaded though nothing changed", s.loadsSoFar()-9)
		}
		live.logged(1, "in force")

		tenants, err := quota.EncodeTenants(map[string]quota.SavedTenant{"tenant-7": {Tenant: quota.Tenant{Plan: "pro"}, Revision: 3}})
		if err != nil {
			t.Fatal(err)
		}
		next(func(m *quota.Manifest) {
			m.Tenants[quota.PartOf("tenant-7", 8)] = "new"
			s.parts["new"] = tenants
		})
		if s.loadsSoFar() != 10 {
			t.Errorf("%d parts were loaded, want the one that changed", s.loadsSoFar()-9)
		}
		live.logged(2, "in force")
		if e := live.explains("tenant-7"); e.Plan != "pro" || e.Revision != 3 {
			t.Errorf("%+v, want the new one", e)
		}

		// New plans are compiled into the tenants that are held.
		plans, err := quota.EncodePlans(map[string]quota.SavedPlan{
			"free": {Revision: 4}, "pro": {Plan: quota.Plan{Limits: []quota.Limit{{Name: "a", Algorithm: "token_bucket", Quota: 1, Period: "day"}}}, Revision: 4},
		})
		if err != nil {
			t.Fatal(err)
		}
		next(func(m *quota.Manifest) {
			m.Plans = "new plans"
			s.parts["new plans"] = plans
		})
		if s.loadsSoFar() != 11 {
			t.Errorf("%d parts were loaded, want the plans", s.loadsSoFar()-10)
		}
		if e := live.explains("tenant-7"); len(e.Limits) != 1 || e.PlanRevision != 4 || e.Revision != 3 {
			t.Errorf("%+v, want the new plan's limit", e)
		}
		if e := live.explains("tenant-8"); e.Plan != "free" || len(e.Limits) != 0 {
			t.Errorf("%+v, want no limits", e)
		}
	})
}

func (i instance) explains(tenant string) quota.Explanation {
	i.t.Helper()
	e, err := i.Snapshot(i.t.Context()).Explain(quota.Request{Tenant: tenant})
	if err != nil {
		i.t.Fatal(err)
	}
	return e
}
