package quota_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed43908478/penstock/quota"
)

// table is a loader whose content the test sets, and which takes its time.
type table struct {
	mu       sync.Mutex
	manifest []byte
	version  int64
	parts    map[string][]byte
	delay    time.Duration
	err      error
	versions int // how often it was asked
	loads    int // of parts
}

func (s *table) Manifest(ctx context.Context) ([]byte, int64, error) {
	s.mu.Lock()
	s.versions++
	data, version, delay, err := s.manifest, s.version, s.delay, s.err
	s.mu.Unlock()
	return data, version, answer(ctx, delay, err)
}

func (s *table) Part(ctx context.Context, name string) ([]byte, error) {
	s.mu.Lock()
	s.loads++
	data, delay, err := s.parts[name], s.delay, s.err
	s.mu.Unlock()
	if err == nil && data == nil {
		err = quota.ErrNoPart
	}
	return data, answer(ctx, delay, err)
}

func answer(ctx context.Context, delay time.Duration, err error) error {
	select {
	case <-time.After(delay):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *table) set(change func(*table)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// save saves a configuration in parts that are named for the version: a plans part, and one of tenants.
func (s *table) save(t *testing.T, c quota.Config) {
	t.Helper()
	s.saveParts(t, c, 1)
}

func (s *table) saveParts(t *testing.T, c quota.Config, n int) {
	t.Helper()
	s.set(func(s *table) {
		m := manifestOf(t, s.version+1, c, n)
		s.version, s.parts = s.version+1, m.parts
		s.manifest = m.manifest
	})
}

// saved is a configuration as it is saved.
type saved struct {
	manifest []byte
	parts    map[string][]byte
}

func manifestOf(t *testing.T, version int64, c quota.Config, n int) saved {
	t.Helper()
	encoded := func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	plans := map[string]quota.SavedPlan{}
	for name, p := range c.Plans {
		plans[name] = quota.SavedPlan{Plan: p, Revision: version}
	}
	tenants := make([]map[string]quota.SavedTenant, n)
	for i := range tenants {
		tenants[i] = map[string]quota.SavedTenant{}
	}
	for name, tenant := range c.Tenants {
		tenants[quota.PartOf(name, n)][name] = quota.SavedTenant{Tenant: tenant, Revision: version}
	}
	m := quota.Manifest{Version: version, DefaultPlan: c.DefaultPlan, Plans: fmt.Sprintf("plans of %d", version), Count: len(c.Tenants)}
	s := saved{parts: map[string][]byte{m.Plans: encoded(quota.EncodePlans(plans))}}
	for i, part := range tenants {
		m.Tenants = append(m.Tenants, fmt.Sprintf("tenants %d of %d", i, version))
		s.parts[m.Tenants[i]] = encoded(quota.EncodeTenants(part))
	}
	s.manifest = encoded(m.Encode())
	return s
}

func (s *table) counts() (versions, loads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions, s.loads
}

// instance is a live configuration with what it logs.
type instance struct {
	*quota.Live
	t   *testing.T
	log *bytes.Buffer
}

func start(t *testing.T, s *table) instance {
	t.Helper()
	log := new(bytes.Buffer)
	l, err := quota.NewLive(t.Context(), s, quota.LiveOptions{Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return instance{l, t, log}
}

// serves asserts the revision in force, and how long a caller waits for it.
func (i instance) serves(revision int64, waited time.Duration) {
	i.t.Helper()
	began := time.Now()
	if got := i.Snapshot(i.t.Context()).Revision(); got != revision {
		i.t.Errorf("revision %d is in force, want %d", got, revision)
	}
	if got := time.Since(began); got != waited {
		i.t.Errorf("waited %v, want %v", got, waited)
	}
}

func (i instance) logged(times int, text string) {
	i.t.Helper()
	synctest.Wait() // for those who write the log
	if got := strings.Count(i.log.String(), text); got != times {
		i.t.Errorf("logged %q %d times, want %d:\n%s", text, got, times, i.log)
	}
}

func TestLiveAsksAgainAfterMaxAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		live.serves(1, 0)
		s.save(t, quota.Example())
		time.Sleep(30*time.Second - time.Nanosecond)
		live.serves(1, 0)
		time.Sleep(time.Nanosecond)
		s.set(func(s *table) { s.delay = 10 * time.Millisecond })
		live.serves(2, 20*time.Millisecond) // version and load
		if age := live.Age(); age != 0 {
			t.Errorf("age %v, want 0", age)
		}
		time.Sleep(30 * time.Second)
		live.serves(2, 10*time.Millisecond) // the version is the same: nothing is loaded
		if versions, loads := s.counts(); versions != 3 || loads != 4 {
			t.Errorf("%d versions and %d loads, want 3 and 4", versions, loads)
		}
	})
}

func TestLiveSlowRefreshServesStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		s.save(t, quota.Example())
		s.set(func(s *table) { s.delay = 400 * time.Millisecond })
		time.Sleep(time.Minute)
		live.serves(1, 50*time.Millisecond)
		live.serves(1, 0) // it is known to be slow
		time.Sleep(800 * time.Millisecond)
		live.serves(2, 0) // it arrived beside other calls
		if age := live.Age(); age != 50*time.Millisecond {
			t.Errorf("age %v, want the 50 ms since it arrived", age)
		}
	})
}

func TestLiveOneRefreshForManyCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		s.set(func(s *table) { s.delay = 20 * time.Millisecond })
		time.Sleep(time.Minute)
		var callers sync.WaitGroup
		for i := range 100 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond / 10)
				live.Snapshot(t.Context())
			})
		}
		callers.Wait()
		if versions, _ := s.counts(); versions != 2 {
			t.Errorf("asked %d times, want once at the start and once for all callers", versions)
		}
	})
}

func TestLiveCallerWhoGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		s.save(t, quota.Example())
		s.set(func(s *table) { s.delay = 30 * time.Millisecond })
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		if got := live.Snapshot(ctx).Revision(); got != 1 {
			t.Errorf("revision %d, want the stale 1", got)
		}
		if took := time.Since(began); took != time.Millisecond {
			t.Errorf("waited %v for somebody who gave up after 1 ms", took)
		}
		time.Sleep(time.Second)
		live.serves(2, 0) // the refresh was not given up
	})
}

func TestLiveOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		s.set(func(s *table) { s.err = errors.New("no route to table") })
		time.Sleep(30 * time.Second)
		for range 10_000 { // ten seconds of calls
			live.serves(1, 0)
			time.Sleep(time.Millisecond)
		}
		if versions, _ := s.counts(); versions != 1+10 {
			t.Errorf("asked %d times, want once at the start and once a second", versions)
		}
		if live.Failures() != 10 || live.Age() != 40*time.Second {
			t.Errorf("%d failures, age %v, want 10 and 40s", live.Failures(), live.Age())
		}
		live.logged(1, "cannot be refreshed")
		live.logged(1, "no route to table")

		s.set(func(s *table) { s.err = nil })
		time.Sleep(time.Second)
		live.serves(1, 0)
		live.logged(1, "refreshed again")
		s.set(func(s *table) { s.err = errors.New("again") })
		time.Sleep(30 * time.Second)
		live.serves(1, 0)
		live.logged(2, "cannot be refreshed")
	})
}

func TestLiveHangingTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		s.set(func(s *table) { s.delay = time.Hour })
		time.Sleep(30 * time.Second)
		live.serves(1, 50*time.Millisecond)
		time.Sleep(5 * time.Second) // the timeout
		live.logged(1, "deadline exceeded")
		time.Sleep(time.Second)
		live.serves(1, 50*time.Millisecond)
		if versions, _ := s.counts(); versions != 3 {
			t.Errorf("asked %d times, want 3", versions)
		}
		time.Sleep(5 * time.Second)
	})
}

func TestLiveFrozenInstance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		s.save(t, quota.Example())
		time.Sleep(time.Hour)
		if age := live.Age(); age != time.Hour {
			t.Errorf("age %v, want the hour it was frozen", age)
		}
		s.set(func(s *table) { s.delay = 10 * time.Millisecond })
		live.serves(2, 20*time.Millisecond) // the first call after the thaw has the new one
	})
}

// frozenTable never answers the first question after the start, whatever ctx says:
// so looks a refresh that was under way when its instance was frozen.
type frozenTable struct {
	table
	freeze chan struct{}
}

func (s *frozenTable) Manifest(ctx context.Context) ([]byte, int64, error) {
	data, version, err := s.table.Manifest(ctx)
	if versions, _ := s.counts(); versions == 2 {
		<-s.freeze
	}
	return data, version, err
}

func TestLiveFrozenWithARefreshUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &frozenTable{freeze: make(chan struct{})}
		s.save(t, quota.Example())
		l, err := quota.NewLive(t.Context(), s, quota.LiveOptions{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		live := instance{l, t, new(bytes.Buffer)}
		s.save(t, quota.Example())
		time.Sleep(time.Minute)
		live.serves(1, 50*time.Millisecond)
		time.Sleep(time.Hour)
		live.serves(2, 0) // another one is started
		s.save(t, quota.Example())
		time.Sleep(time.Second)
		close(s.freeze)
		synctest.Wait()
		live.serves(2, 0)
		if age := live.Age(); age != time.Second {
			t.Errorf("age %v, want 1s: what the first one found out is of no interest any more", age)
		}
	})
}

func TestLiveClockSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		now := time.Now()
		live, err := quota.NewLive(t.Context(), s, quota.LiveOptions{Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		s.save(t, quota.Example())
		now = now.Add(-24 * time.Hour)
		if got := live.Snapshot(t.Context()).Revision(); got != 2 {
			t.Errorf("revision %d: the old one would have been served for a day", got)
		}
	})
}

func TestLiveItemsHaveTheRevision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		s.save(t, quota.Example())
		live := start(t, s)
		items, err := live.Snapshot(t.Context()).Match(quota.Request{Tenant: "acme"})
		if err != nil || len(items) == 0 || items[0].Revision != 2 {
			t.Errorf("%+v, %v: want revision 2", items, err)
		}
	})
}

func TestLiveKeepsABadVersionOut(t *testing.T) {
	t.Parallel()
	bad := quota.Example()
	bad.DefaultPlan = "gold"
	for _, c := range []struct {
		name string
		save func(*testing.T, *table)
		why  string
	}{
		{"not valid in this version", func(t *testing.T, s *table) { t.Helper(); s.save(t, bad) }, `default_plan: there is no plan`},
		{"of a newer format", func(t *testing.T, s *table) {
			t.Helper()
			s.set(func(s *table) { s.manifest, s.version = []byte(`{"format":3,"plans":[]}`), 2 })
		}, "saved in format 3"},
		{"with plans of a newer format", func(t *testing.T, s *table) {
			t.Helper()
			s.save(t, quota.Example())
			s.set(func(s *table) { s.parts["plans of 2"] = []byte(`{"format":3,"plans":[]}`) })
		}, "saved in format 3"},
		{"with tenants cut short", func(t *testing.T, s *table) {
			t.Helper()
			s.save(t, quota.Example())
			s.set(func(s *table) { s.parts["tenants 0 of 2"] = s.parts["tenants 0 of 2"][:30] })
		}, "unexpected EOF"},
		{"with a tenant that has no plan", func(t *testing.T, s *table) {
			t.Helper()
			c := quota.Example()
			c.Tenants["acme"] = quota.Tenant{Plan: "gold"}
			s.save(t, c)
		}, "tenants.acme.plan: there is no plan"},
		{"cut short", func(t *testing.T, s *table) {
			t.Helper()
			s.set(func(s *table) { s.manifest, s.version = s.manifest[:40], 2 })
		}, "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := new(table)
				s.save(t, quota.Example())
				live := start(t, s)
				c.save(t, s)
				for range 4 {
					time.Sleep(30 * time.Second)
					live.serves(1, 0)
				}
				live.logged(1, "kept out")
				live.logged(1, c.why)
				if _, loads := s.counts(); loads > 4 {
					t.Errorf("loaded %d parts, want each once", loads)
				}
				if live.Age() != 2*time.Minute || live.Failures() != 4 {
					t.Errorf("age %v, %d failures: it should be seen that this is not what was saved", live.Age(), live.Failures())
				}
				s.set(func(s *table) { s.version = 2 })
				s.save(t, quota.Example())
				time.Sleep(30 * time.Second)
				live.serves(3, 0)
				live.logged(1, "refreshed again")
			})
		})
	}
}

func TestLiveNothingSavedYet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		live := start(t, s)
		live.logged(1, "none was saved yet")
		if _, err := live.Snapshot(t.Context()).Match(quota.Request{Tenant: "acme"}); !errors.Is(err, quota.ErrUnknownTenant) {
			t.Errorf("%v, want ErrUnknownTenant", err)
		}
		s.save(t, quota.Example())
		time.Sleep(time.Second)
		live.serves(1, 0)
		live.logged(1, "in force")
	})
}

func TestLiveKeepsWhatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		s.set(func(s *table) { s.manifest, s.version = nil, 0 })
		time.Sleep(time.Minute)
		live.serves(1, 0)
		live.logged(1, "nothing is saved any more")
	})
}

func TestLiveFirstLoadFails(t *testing.T) {
	t.Parallel()
	bad := manifestOf(t, 7, quota.Config{DefaultPlan: "gold"}, 1)
	for _, c := range []struct {
		name  string
		table *table
		want  string
	}{
		{"the table is away", &table{err: errors.New("no such table")}, "read the version of the saved configuration: no such table"},
		{"what is saved is not valid", &table{manifest: bad.manifest, parts: bad.parts, version: 7}, `version 7 of the configuration cannot be used: default_plan: there is no plan "gold": add it to plans`},
	} {
		_, err := quota.NewLive(t.Context(), c.table, quota.LiveOptions{Logger: slog.New(slog.DiscardHandler)})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestStatic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := quota.Example().Compile()
		if err != nil {
			t.Fatal(err)
		}
		live := quota.NewStatic(s)
		time.Sleep(time.Hour)
		if live.Snapshot(t.Context()) != s || live.Age() != 0 || live.Failures() != 0 {
			t.Error("a static configuration changed")
		}
	})
}

func TestLiveFirstLoadThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := quota.NewLive(t.Context(), &table{delay: time.Hour}, quota.LiveOptions{Logger: slog.New(slog.DiscardHandler)})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 5*time.Second {
			t.Errorf("%v after %v, want 5s", err, took)
		}
	})
}
