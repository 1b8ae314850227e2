package configstoretest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
)

var (
	always = configstore.Precondition{}
	by     = configstore.By{Who: "alice"}
)

func newStore(items configstore.Items) *configstore.Store {
	return configstore.New(items, configstore.Options{})
}

// begin applies so many tenants on the plan free.
func begin(t *testing.T, items configstore.Items, tenants int) *configstore.Store {
	t.Helper()
	c := quota.Config{Plans: map[string]quota.Plan{"free": {}}, Tenants: map[string]quota.Tenant{}}
	for n := range tenants {
		c.Tenants[fmt.Sprintf("tenant-%d", n)] = quota.Tenant{Plan: "free"}
	}
	s := newStore(items)
	if _, err := s.Apply(t.Context(), c, always, by, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// override is a tenant that can be told from others.
func override(n int) quota.Tenant {
	return quota.Tenant{Plan: "free", Limits: []quota.Limit{{Name: "daily", Algorithm: "token_bucket", Quota: int64(n) + 1, Period: "day"}}}
}

// history returns the whole audit, the oldest first, and fails unless it is in order
// and its last entry is the version.
func history(t *testing.T, s *configstore.Store, f configstore.AuditFilter) []configstore.Entry {
	t.Helper()
	var all []configstore.Entry
	for f.Limit = 7; ; {
		page, next, err := s.Audit(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if f.Cursor = next; next == "" {
			break
		}
	}
	slices.Reverse(all)
	for i := 1; i < len(all); i++ {
		if all[i].Version <= all[i-1].Version || all[i].At.Before(all[i-1].At) {
			t.Errorf("entry %+v follows %+v", all[i], all[i-1])
		}
	}
	version, err := s.Version(t.Context())
	if err != nil || f.Tenant == "" && len(all) > 0 && all[len(all)-1].Version != version {
		t.Errorf("version %d, %v, and the last entry is %+v", version, err, all[len(all)-1])
	}
	return all
}

// Eight writers, each a process of its own, put one tenant again and again. Each names
// the revision that it has seen: exactly one wins each.
func oneTenant(t *testing.T, items configstore.Items) {
	const writers, puts = 8, 100
	first := begin(t, items, 1)
	before, _, err := first.Tenant(t.Context(), "tenant-0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	won := map[int64]int64{} // by the revision that was replaced
	var next atomic.Int64
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			s := newStore(items)
			for n := next.Add(1); n <= puts; n = next.Add(1) {
				seen, _, err := s.Tenant(t.Context(), "tenant-0")
				if err != nil {
					t.Error(err)
					return
				}
				put, _, err := s.PutTenant(t.Context(), "tenant-0", override(int(n)), configstore.Precondition{IfMatch: seen.Revision}, by)
				if _, lost := errors.AsType[*configstore.PreconditionError](err); lost {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if other, twice := won[seen.Revision]; twice {
					t.Errorf("revision %d was replaced by %d and by %d", seen.Revision, other, put.Revision)
				}
				won[seen.Revision] = put.Revision
				mu.Unlock()
			}
		})
	}
	all.Wait()
	// From the first revision each leads to the next, and each has its entry.
	entries := history(t, first, configstore.AuditFilter{Tenant: "tenant-0"})
	revision := before.Revision
	for _, e := range entries {
		if won[revision] != e.Version {
			t.Fatalf("revision %d was replaced by %d, and the audit has %d", revision, won[revision], e.Version)
		}
		revision = e.Version
	}
	if len(entries) != len(won) || len(won) == 0 {
		t.Errorf("%d entries of %d changes", len(entries), len(won))
	}
	if last, _, _ := first.Tenant(t.Context(), "tenant-0"); last.Revision != revision {
		t.Errorf("the tenant has revision %d, and the last one that won is %d", last.Revision, revision)
	}
	t.Logf("of %d puts %d won", puts, len(won))
}

// Those who put different tenants do not hinder each other, though they share parts.
func manyTenants(t *testing.T, items configstore.Items) {
	const writers, each = 4, 8
	first := begin(t, items, 0)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			s := newStore(items)
			for n := range each {
				name := fmt.Sprintf("tenant-%d-%d", w, n)
				if _, effect, err := s.PutTenant(t.Context(), name, override(n), configstore.Precondition{IfNoneMatch: true}, by); err != nil || effect != configstore.Created {
					t.Errorf("%s: %q, %v", name, effect, err)
				}
			}
		})
	}
	all.Wait()
	c, _, err := first.Export(t.Context())
	if err != nil || len(c.Tenants) != writers*each {
		t.Errorf("%d tenants, %v, want %d", len(c.Tenants), err, writers*each)
	}
	if entries := history(t, first, configstore.AuditFilter{}); len(entries) != 1+writers*each {
		t.Errorf("%d entries, want %d", len(entries), 1+writers*each)
	}
}

// Keys and tenants are changed at once, and the audit has one order of both.
func racingKeys(t *testing.T, items configstore.Items) {
	const each = 8
	first := begin(t, items, 1)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			s := newStore(items)
			for range each {
				_, r := apikey.Mint([]byte("a secret"), apikey.Options{Tenant: "tenant-0", Now: time.Now()})
				if err := s.CreateKey(t.Context(), r, by); err != nil {
					t.Error(err)
				}
				if _, effect, err := s.RevokeKey(t.Context(), r.ID, by); err != nil || effect != configstore.Replaced {
					t.Errorf("%q, %v", effect, err)
				}
			}
		})
	}
	all.Go(func() {
		s := newStore(items)
		for n := range each {
			if _, _, err := s.PutTenant(t.Context(), "tenant-0", override(n), always, by); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	if entries := history(t, first, configstore.AuditFilter{}); len(entries) != 1+4*each+each {
		t.Errorf("%d entries, want %d", len(entries), 1+4*each+each)
	}
	keys, _, err := first.Keys(t.Context(), configstore.KeyFilter{Tenant: "tenant-0"})
	if err != nil || len(keys) != 2*each {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	for _, k := range keys {
		if one, ok, err := first.Key(t.Context(), k.ID); !ok || err != nil || k.RevokedAt.IsZero() || !reflect.DeepEqual(one, k) {
			t.Errorf("key %+v by its id is %+v, %v", k, one, err)
		}
	}
}

var errDied = errors.New("the writer died")

// mortal are items of a writer that dies before its n-th write.
type mortal struct {
	configstore.Items
	left atomic.Int64
}

func (m *mortal) Transact(ctx context.Context, t configstore.Transaction) error {
	if m.left.Add(-1) < 0 {
		return errDied
	}
	return m.Items.Transact(ctx, t)
}

// Wherever a writer dies, there is the version before or the next, whole.
func dyingWriter(t *testing.T, items configstore.Items) {
	const tenants = 1100 // in several parts
	s := begin(t, items, tenants)
	for writes := int64(0); ; writes++ {
		before, version, err := s.Export(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := quota.Config{Plans: map[string]quota.Plan{"free": {}, fmt.Sprintf("plan-%d", writes): {}}, Tenants: map[string]quota.Tenant{}}
		for name := range before.Tenants {
			next.Tenants[name] = override(int(writes))
		}
		writer := &mortal{Items: items}
		writer.left.Store(writes)
		_, err = newStore(writer).Apply(t.Context(), next, always, by, nil)
		// Another store, which remembers nothing.
		got, now, readErr := newStore(items).Export(t.Context())
		if readErr != nil {
			t.Fatalf("after %d writes: %v", writes, readErr)
		}
		if err == nil {
			if now <= version || !reflect.DeepEqual(got, next) {
				t.Errorf("after %d writes version %d is not what was applied", writes, now)
			}
			t.Logf("a change of all has %d writes", writes)
			break
		}
		if !errors.Is(err, errDied) || now != version || !reflect.DeepEqual(got, before) {
			t.Fatalf("after %d writes: %v, version %d is not what it was", writes, err, now)
		}
	}
	if entries := history(t, s, configstore.AuditFilter{}); len(entries) != 2 {
		t.Errorf("%d entries of 2 versions", len(entries))
	}
}

// A reader sees one version or the next, never a mixture, and never backwards.
func readers(t *testing.T, items configstore.Items) {
	const versions, tenants = 5, 1100
	at := func(n int) quota.Config {
		c := quota.Config{Plans: map[string]quota.Plan{"free": {}}, Tenants: map[string]quota.Tenant{}}
		for i := range tenants {
			c.Tenants[fmt.Sprintf("tenant-%d", i)] = override(n)
		}
		return c
	}
	writer := newStore(items)
	if _, err := writer.Apply(t.Context(), at(0), always, by, nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for last := int64(0); ctx.Err() == nil; {
				c, version, err := newStore(items).Export(t.Context())
				if err != nil || version < last {
					t.Errorf("version %d after %d, %v", version, last, err)
					return
				}
				want := c.Tenants["tenant-0"].Limits[0].Quota
				for name, tenant := range c.Tenants {
					if tenant.Limits[0].Quota != want || len(c.Tenants) != tenants {
						t.Errorf("version %d mixes two: %s", version, name)
						return
					}
				}
				last = version
			}
		})
	}
	for n := range versions {
		if _, err := writer.Apply(t.Context(), at(n+1), always, by, nil); err != nil {
			t.Error(err)
		}
	}
	stop()
	all.Wait()
}

func sweeping(t *testing.T, items configstore.Items) {
	now := time.Now()
	store := func(items configstore.Items) *configstore.Store {
		return configstore.New(items, configstore.Options{Now: func() time.Time { return now }})
	}
	put := func(s *configstore.Store, n int) error {
		_, _, err := s.PutTenant(t.Context(), "acme", override(n), always, by)
		return err
	}
	s := store(items)
	if _, err := s.Apply(t.Context(), quota.Config{Plans: map[string]quota.Plan{"free": {}}}, always, by, nil); err != nil {
		t.Fatal(err)
	}
	parts := func(want int) {
		t.Helper()
		got := 0
		for digit := range 16 {
			page, more, err := items.Query(t.Context(), configstore.Range{PK: fmt.Sprintf("part/%x", digit), Limit: 100})
			if err != nil || more {
				t.Fatalf("%t, %v", more, err)
			}
			got += len(page)
		}
		if got != want {
			t.Errorf("%d parts, want %d", got, want)
		}
	}
	for n := range 5 {
		if err := put(s, n); err != nil {
			t.Fatal(err)
		}
	}
	parts(3) // the plans, acme, and acme in the version before

	dies := func(n int) {
		t.Helper()
		writer := &mortal{Items: items}
		writer.left.Store(1)
		if err := put(store(writer), n); !errors.Is(err, errDied) {
			t.Fatal(err)
		}
	}
	dies(10)
	now = now.Add(time.Hour)
	dies(11)
	now = now.Add(59 * time.Minute)
	if err := put(s, 12); err != nil {
		t.Fatal(err)
	}
	parts(4) // what the second one left may still be somebody's
	now = now.Add(3 * time.Hour)
	if err := put(s, 13); err != nil {
		t.Fatal(err)
	}
	parts(3) // acme in the version before is old too, and there may be readers of it
	if got, _, err := store(items).Export(t.Context()); err != nil || !reflect.DeepEqual(got.Tenants["acme"], override(13)) {
		t.Errorf("%+v, %v", got, err)
	}
}
