package configstore_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/configstore/memory"
	"github.com/seed43908478/penstock/quota"
)

var (
	by     = configstore.By{Who: "alice", RequestID: "r1"}
	always = configstore.Precondition{}
	noon   = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
)

// desk is where an operator sits: a store at a time of its own.
type desk struct {
	*configstore.Store
	t     *testing.T
	items *memory.Items
	now   time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, items: memory.New(), now: noon}
	d.Store = configstore.New(d.items, configstore.Options{Now: func() time.Time { return d.now }})
	return d
}

// example is a desk with the example's plans and tenants.
func example(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.applies(quota.Example())
	return d
}

func (d *desk) applies(c quota.Config) configstore.Applied {
	d.t.Helper()
	a, err := d.Apply(d.t.Context(), c, always, by, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

func (d *desk) puts(name string, t quota.Tenant, p configstore.Precondition, want configstore.Effect) int64 {
	d.t.Helper()
	put, effect, err := d.PutTenant(d.t.Context(), name, t, p, by)
	if err != nil || effect != want {
		d.t.Fatalf("put %s: %q, %v, want %q", name, effect, err, want)
	}
	got, ok, err := d.Tenant(d.t.Context(), name)
	if err != nil || !ok || !reflect.DeepEqual(got, put) {
		d.t.Fatalf("got %+v, %t, %v, want %+v", got, ok, err, put)
	}
	return put.Revision
}

func bucket(name string, quotaOf int64) quota.Limit {
	return quota.Limit{Name: name, Algorithm: "token_bucket", Quota: quotaOf, Period: "day"}
}

// refusedAs fails unless the precondition was not met, and the object has this revision.
func refusedAs(t *testing.T, err error, revision int64) {
	t.Helper()
	if e, ok := errors.AsType[*configstore.PreconditionError](err); !ok || e.Revision != revision {
		t.Errorf("%v, want a precondition that is not met by revision %d", err, revision)
	}
}

func TestNothingIsSavedYet(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if v, err := d.Version(t.Context()); v != 0 || err != nil {
		t.Errorf("version %d, %v", v, err)
	}
	if _, ok, err := d.Tenant(t.Context(), "acme"); ok || err != nil {
		t.Errorf("a tenant: %t, %v", ok, err)
	}
	if c, v, err := d.Export(t.Context()); len(c.Plans)+len(c.Tenants) != 0 || v != 0 || err != nil {
		t.Errorf("exports %+v, %d, %v", c, v, err)
	}
	if page, next, err := d.Tenants(t.Context(), configstore.TenantFilter{}); page != nil || next != "" || err != nil {
		t.Errorf("lists %v, %q, %v", page, next, err)
	}
	if plans, _, err := d.Plans(t.Context()); plans != nil || err != nil {
		t.Errorf("plans %v, %v", plans, err)
	}
	if page, next, err := d.Audit(t.Context(), configstore.AuditFilter{}); page != nil || next != "" || err != nil {
		t.Errorf("audit %v, %q, %v", page, next, err)
	}
}

func TestATenantsLife(t *testing.T) {
	t.Parallel()
	d := example(t)
	ctx := t.Context()
	free, pro := quota.Tenant{Plan: "free"}, quota.Tenant{Plan: "pro", Limits: []quota.Limit{bucket("daily", 7)}}

	d.now = d.now.Add(time.Hour)
	first := d.puts("initech", free, configstore.Precondition{IfNoneMatch: true}, configstore.Created)
	if first != d.now.UnixMilli() {
		t.Errorf("revision %d, want the time", first)
	}
	_, _, err := d.PutTenant(ctx, "initech", pro, configstore.Precondition{IfNoneMatch: true}, by)
	refusedAs(t, err, first)
	_, _, err = d.PutTenant(ctx, "initech", pro, configstore.Precondition{IfMatch: first - 1}, by)
	refusedAs(t, err, first)

	if again := d.puts("initech", free, always, configstore.Unchanged); again != first {
		t.Errorf("the same again has revision %d, want %d", again, first)
	}
	second := d.puts("initech", pro, configstore.Precondition{IfMatch: first}, configstore.Replaced)
	if second != first+1 {
		t.Errorf("revision %d in the same millisecond, want %d", second, first+1)
	}
	reset, err := d.ResetTenant(ctx, "initech", by)
	if err != nil || reset.Generation != second+1 || reset.Revision != second+1 || !reflect.DeepEqual(reset.Tenant, pro) {
		t.Errorf("reset is %+v, %v", reset, err)
	}
	d.puts("initech", free, always, configstore.Replaced)
	if got, _, _ := d.Tenant(ctx, "initech"); got.Generation != second+1 {
		t.Errorf("generation %d after a change, want %d still", got.Generation, second+1)
	}

	_, err = d.DeleteTenant(ctx, "initech", configstore.Precondition{IfMatch: first}, by)
	refusedAs(t, err, second+2)
	for _, want := range []configstore.Effect{configstore.Deleted, configstore.Unchanged} {
		if effect, err := d.DeleteTenant(ctx, "initech", always, by); effect != want || err != nil {
			t.Errorf("deleting: %q, %v, want %q", effect, err, want)
		}
	}
	_, err = d.DeleteTenant(ctx, "initech", configstore.Precondition{IfMatch: first}, by)
	refusedAs(t, err, 0)
	if _, err := d.ResetTenant(ctx, "initech", by); !errors.Is(err, configstore.ErrNotFound) {
		t.Errorf("reset of nobody: %v", err)
	}
	if got, _, err := d.Export(ctx); err != nil || !reflect.DeepEqual(got, quota.Example()) {
		t.Errorf("what is left is %+v, %v", got, err)
	}
}

func TestATenantThatIsNotValidIsNotSaved(t *testing.T) {
	t.Parallel()
	d := example(t)
	version, _ := d.Version(t.Context())
	many := make([]quota.Limit, 600)
	for i := range many {
		many[i] = bucket(fmt.Sprintf("limit-%d", i), 7)
		many[i].Match.Resource = fmt.Sprintf("GET /some/long/path/that/takes/its/bytes/and/is/the/same/in/each/of/them/%060d", i)
		many[i].By = []string{"subject", fmt.Sprintf("attributes.a%d", i)}
	}
	for _, c := range []struct {
		name   string
		tenant quota.Tenant
		path   string
	}{
		{"initech", quota.Tenant{Plan: "gold"}, "tenants.initech.plan"},
		{"initech", quota.Tenant{}, "tenants.initech.plan"},
		{"a tenant", quota.Tenant{Plan: "free"}, `tenants["a tenant"]`},
		{"initech", quota.Tenant{Plan: "free", Limits: []quota.Limit{bucket("daily", -1)}}, "tenants.initech.limits[0].quota"},
		{"initech", quota.Tenant{Plan: "free", Limits: many}, "tenants.initech.limits"},
	} {
		_, _, err := d.PutTenant(t.Context(), c.name, c.tenant, always, by)
		problems, ok := errors.AsType[quota.Problems](err)
		if !ok || problems[0].Path != c.path {
			t.Errorf("%.60v, want a problem of %s", err, c.path)
		}
	}
	if now, _ := d.Version(t.Context()); now != version {
		t.Errorf("version %d, want %d: nothing was saved", now, version)
	}
}

func TestAPlansLife(t *testing.T) {
	t.Parallel()
	d := example(t)
	ctx := t.Context()
	gold := quota.Plan{Limits: []quota.Limit{bucket("daily", 100)}}
	put, effect, err := d.PutPlan(ctx, "gold", gold, configstore.Precondition{IfNoneMatch: true}, by)
	if err != nil || effect != configstore.Created || put.Revision == 0 {
		t.Fatalf("%+v, %q, %v", put, effect, err)
	}
	if _, effect, err := d.PutPlan(ctx, "gold", gold, always, by); effect != configstore.Unchanged || err != nil {
		t.Errorf("the same again: %q, %v", effect, err)
	}
	_, _, err = d.PutPlan(ctx, "gold", quota.Plan{}, configstore.Precondition{IfNoneMatch: true}, by)
	refusedAs(t, err, put.Revision)
	if got, ok, err := d.Plan(ctx, "gold"); !ok || err != nil || !reflect.DeepEqual(got, put) {
		t.Errorf("got %+v, %t, %v, want %+v", got, ok, err, put)
	}
	d.puts("initech", quota.Tenant{Plan: "gold"}, always, configstore.Created)
	if _, err := d.SetDefaultPlan(ctx, "gold", by); err != nil {
		t.Fatal(err)
	}
	if got, err := d.DefaultPlan(ctx); got != "gold" || err != nil {
		t.Errorf("the default plan is %q, %v", got, err)
	}
	_, err = d.DeletePlan(ctx, "gold", always, by)
	const want = `configstore: plan "gold" is in use: tenants initech have it, and it is the default plan`
	if e, ok := errors.AsType[*configstore.InUseError](err); !ok || e.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := d.DeleteTenant(ctx, "initech", always, by); err != nil {
		t.Fatal(err)
	}
	if effect, err := d.SetDefaultPlan(ctx, "", by); effect != configstore.Replaced || err != nil {
		t.Fatalf("%q, %v", effect, err)
	}
	for _, want := range []configstore.Effect{configstore.Deleted, configstore.Unchanged} {
		if effect, err := d.DeletePlan(ctx, "gold", always, by); effect != want || err != nil {
			t.Errorf("deleting: %q, %v, want %q", effect, err, want)
		}
	}
	plans, _, err := d.Plans(ctx)
	if err != nil || len(plans) != 2 || plans[0].Name != "free" || plans[1].Name != "pro" {
		t.Errorf("plans %v, %v", plans, err)
	}
}

// A plan's change can be fine by itself, and too much for a tenant who has more.
func TestAPlanIsCheckedWithItsTenants(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	logs := func(names ...string) (limits []quota.Limit) {
		for _, name := range names {
			limits = append(limits, quota.Limit{Name: name, Algorithm: "sliding_window_log", Quota: 100, Period: "minute"})
		}
		return limits
	}
	d.applies(quota.Config{
		Plans:   map[string]quota.Plan{"free": {}, "other": {}},
		Tenants: map[string]quota.Tenant{"acme": {Plan: "free", Limits: logs("mine")}, "globex": {Plan: "other", Limits: logs("mine")}},
	})
	_, _, err := d.PutPlan(t.Context(), "free", quota.Plan{Limits: logs("theirs")}, always, by)
	problems, ok := errors.AsType[quota.Problems](err)
	if !ok || len(problems) != 1 || problems[0].Path != "tenants.acme.limits[0]" {
		t.Errorf("%v, want a problem of acme's limit", err)
	}
	if _, err := d.SetDefaultPlan(t.Context(), "gold", by); err == nil {
		t.Error("a default plan that is not there")
	}
}

func TestApplyKeepsTheRevisionsOfWhatIsTheSame(t *testing.T) {
	t.Parallel()
	d := example(t)
	ctx := t.Context()
	version, _ := d.Version(ctx)
	if a := d.applies(quota.Example()); a.Changed || a.Version != version {
		t.Errorf("the same again is %+v", a)
	}
	reset, err := d.ResetTenant(ctx, "acme", by)
	if err != nil {
		t.Fatal(err)
	}
	changed := quota.Example()
	changed.Tenants["acme"] = quota.Tenant{Plan: "pro"}
	if a := d.applies(changed); a.String() != "plans 0 added, 0 changed, 0 removed; tenants 0 added, 1 changed, 0 removed" {
		t.Errorf("%s", a)
	}
	if got, _, _ := d.Tenant(ctx, "acme"); got.Generation != reset.Generation || got.Revision <= reset.Revision {
		t.Errorf("acme is %+v, want the generation of %+v", got, reset)
	}
	d.applies(quota.Example())
	before, _, _ := d.Tenant(ctx, "acme")
	version = before.Revision
	c := quota.Example()
	c.Tenants["initech"] = quota.Tenant{Plan: "free"}
	delete(c.Tenants, "globex")
	c.Plans["pro"] = quota.Plan{}
	c.DefaultPlan = "pro"
	a := d.applies(c)
	want := configstore.Difference{
		Plans:       configstore.Names{Changed: []string{"pro"}},
		Tenants:     configstore.Names{Added: []string{"initech"}, Removed: []string{"globex"}},
		DefaultPlan: true,
	}
	if !a.Changed || a.Version != version+1 || !reflect.DeepEqual(a.Difference, want) {
		t.Errorf("%+v, want %+v", a, want)
	}
	if got, v, err := d.Export(ctx); err != nil || v != a.Version || !reflect.DeepEqual(got, c) {
		t.Errorf("exports %+v, %v", got, err)
	}
	if got, _, _ := d.Tenant(ctx, "acme"); !reflect.DeepEqual(got, before) {
		t.Errorf("acme is %+v, want %+v", got, before)
	}
	_, err = d.Apply(ctx, quota.Example(), configstore.Precondition{IfMatch: version}, by, nil)
	refusedAs(t, err, a.Version)
	_, err = d.Apply(ctx, quota.Config{DefaultPlan: "gold"}, always, by, nil)
	if _, ok := errors.AsType[quota.Problems](err); !ok {
		t.Errorf("%v, want problems", err)
	}
}

// tenants are so many on the plan free.
func tenants(n int) quota.Config {
	c := quota.Example()
	clear(c.Tenants)
	for i := range n {
		c.Tenants[fmt.Sprintf("tenant-%05d", i)] = quota.Tenant{Plan: "free"}
	}
	return c
}

func TestManyTenants(t *testing.T) {
	t.Parallel()
	const n = 5000
	d := newDesk(t)
	c := tenants(n)
	d.applies(c)
	m := d.manifest()
	if len(m.Tenants) != 8 || m.Count != n {
		t.Errorf("%d tenants in %d parts, want %d in 8", m.Count, len(m.Tenants), n)
	}
	if got, _, err := d.Export(t.Context()); err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("exports %d tenants, %v", len(got.Tenants), err)
	}
	// One change has one part that is not shared with the version before.
	d.puts("tenant-00007", quota.Tenant{Plan: "pro"}, always, configstore.Replaced)
	next, other := d.manifest(), 0
	for i := range m.Tenants {
		if next.Tenants[i] != m.Tenants[i] {
			other++
		}
	}
	if other != 1 || next.Plans != m.Plans || len(next.Dropped) != 1 {
		t.Errorf("%d parts of tenants are others, %d dropped, want 1", other, len(next.Dropped))
	}
}

func (d *desk) manifest() quota.Manifest {
	d.t.Helper()
	data, _, err := d.Manifest(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	m, err := quota.DecodeManifest(data)
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

// Tenant by tenant the parts become more, and none is lost.
func TestPartsGrow(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := tenants(999)
	d.applies(c)
	for i := 990; i < 1010; i++ {
		name := fmt.Sprintf("tenant-%05d", i)
		c.Tenants[name] = quota.Tenant{Plan: "free"}
		if _, _, err := d.PutTenant(t.Context(), name, c.Tenants[name], always, by); err != nil {
			t.Fatal(err)
		}
	}
	if got, _, err := d.Export(t.Context()); err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("exports %d tenants, want %d; %v", len(got.Tenants), len(c.Tenants), err)
	}
	if m := d.manifest(); len(m.Tenants) != 2 || m.Count != 1010 {
		t.Errorf("%d tenants in %d parts", m.Count, len(m.Tenants))
	}
}

// Tenants with large limits of their own need parts of fewer tenants.
func TestPartsStaySmall(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := tenants(800)
	for name := range c.Tenants {
		var limits []quota.Limit
		for i := range 10 {
			l := bucket(fmt.Sprintf("limit-%d", i), 7)
			l.Match.Resource = rand.Text() + rand.Text() + rand.Text() + rand.Text() // no compression makes it smaller
			limits = append(limits, l)
		}
		c.Tenants[name] = quota.Tenant{Plan: "free", Limits: limits}
	}
	d.applies(c)
	if got, _, err := d.Export(t.Context()); err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("exports %d tenants, %v", len(got.Tenants), err)
	}
	m := d.manifest()
	for _, part := range m.Tenants {
		item, _, err := d.items.Get(t.Context(), configstore.Key{PK: "part/" + part[11:12], SK: part})
		if err != nil || len(item.Data) > 250_000 {
			t.Errorf("a part has %d bytes, %v", len(item.Data), err)
		}
	}
	if len(m.Tenants) < 2 {
		t.Errorf("%d parts", len(m.Tenants))
	}
}

func TestListingTenants(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := tenants(2500)
	c.Tenants["Acme"], c.Tenants["acme-eu"], c.Tenants["big.acme"] = quota.Tenant{Plan: "pro"}, quota.Tenant{Plan: "free"}, quota.Tenant{Plan: "pro"}
	d.applies(c)
	all := func(f configstore.TenantFilter) (names []string) {
		for {
			page, next, err := d.Tenants(t.Context(), f)
			if err != nil || len(page) > max(f.Limit, 100) {
				t.Fatalf("%d tenants, %v", len(page), err)
			}
			for _, tenant := range page {
				names = append(names, tenant.Name)
			}
			if f.Cursor = next; next == "" {
				return names
			}
		}
	}
	if names := all(configstore.TenantFilter{Limit: 300}); len(names) != 2503 || !slices.IsSorted(names) || len(slices.Compact(names)) != 2503 {
		t.Errorf("%d names, sorted %t", len(names), slices.IsSorted(names))
	}
	for _, c := range []struct {
		filter configstore.TenantFilter
		want   []string
	}{
		{configstore.TenantFilter{Search: "ACME", Limit: 1}, []string{"Acme", "acme-eu", "big.acme"}},
		{configstore.TenantFilter{Prefix: "acme"}, []string{"acme-eu"}},
		{configstore.TenantFilter{Plan: "pro"}, []string{"Acme", "big.acme"}},
		{configstore.TenantFilter{Prefix: "zz"}, nil},
	} {
		if names := all(c.filter); !slices.Equal(names, c.want) {
			t.Errorf("%+v: %v, want %v", c.filter, names, c.want)
		}
	}
	if _, err := d.DeleteTenant(t.Context(), "acme-eu", always, by); err != nil {
		t.Fatal(err)
	}
	if names := all(configstore.TenantFilter{Search: "acme"}); len(names) != 2 {
		t.Errorf("%v after one was deleted", names)
	}
}

func mint(tenant string) apikey.Record {
	_, r := apikey.Mint([]byte("a secret"), apikey.Options{Scopes: []apikey.Scope{apikey.CheckOwn}, Tenant: tenant, Now: noon})
	return r
}

func TestKeys(t *testing.T) {
	t.Parallel()
	d := example(t)
	ctx := t.Context()
	first, second, service := mint("acme"), mint("acme"), mint("")
	for _, r := range []apikey.Record{first, second, service} {
		if err := d.CreateKey(ctx, r, by); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.CreateKey(ctx, first, by); err == nil {
		t.Error("the same key was made twice")
	}
	keys := func(tenant string) int {
		t.Helper()
		page, next, err := d.Keys(ctx, configstore.KeyFilter{Tenant: tenant})
		if err != nil || next != "" {
			t.Errorf("%q, %v", next, err)
		}
		for _, r := range page {
			if one, ok, err := d.Key(ctx, r.ID); !ok || err != nil || !reflect.DeepEqual(one, r) {
				t.Errorf("by its id it is %+v, %t, %v, and listed %+v", one, ok, err, r)
			}
		}
		return len(page)
	}
	if keys("acme") != 2 || keys("") != 1 || keys("globex") != 0 {
		t.Error("keys are listed with another tenant")
	}
	if got, ok, err := d.Key(ctx, first.ID); !ok || err != nil || !reflect.DeepEqual(got, first) {
		t.Errorf("%+v, %t, %v, want %+v", got, ok, err, first)
	}
	if _, ok, err := d.Key(ctx, "nobody"); ok || err != nil {
		t.Errorf("a key that is not there: %t, %v", ok, err)
	}

	d.now = d.now.Add(time.Minute)
	third := mint("acme")
	old, err := d.RotateKey(ctx, first.ID, third, d.now.Add(time.Hour), by)
	if err != nil || !old.ExpiresAt.Equal(d.now.Add(time.Hour)) || keys("acme") != 3 {
		t.Errorf("rotated: %+v, %v", old, err)
	}
	if got, _, err := d.Key(ctx, first.ID); err != nil || !reflect.DeepEqual(got, old) {
		t.Errorf("the old key is %+v, %v, want %+v", got, err, old)
	}
	if sooner, err := d.RotateKey(ctx, first.ID, mint("acme"), d.now.Add(2*time.Hour), by); err != nil || sooner.ExpiresAt != old.ExpiresAt {
		t.Errorf("it expires at %s, %v, want %s still", sooner.ExpiresAt, err, old.ExpiresAt)
	}
	if _, err := d.RotateKey(ctx, first.ID, mint("globex"), d.now, by); err == nil {
		t.Error("a key was replaced by that of another tenant")
	}
	for _, want := range []configstore.Effect{configstore.Replaced, configstore.Unchanged} {
		if r, effect, err := d.RevokeKey(ctx, first.ID, by); effect != want || err != nil || !r.RevokedAt.Equal(d.now) {
			t.Errorf("revoked at %s: %q, %v, want %q", r.RevokedAt, effect, err, want)
		}
	}
	if _, err := d.RotateKey(ctx, first.ID, mint("acme"), d.now, by); !errors.Is(err, configstore.ErrNotFound) {
		t.Errorf("a revoked key was rotated: %v", err)
	}
	if _, _, err := d.RevokeKey(ctx, "nobody", by); !errors.Is(err, configstore.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := d.DeleteTenant(ctx, "acme", always, by); err != nil {
		t.Fatal(err)
	}
	page, _, _ := d.Keys(ctx, configstore.KeyFilter{Tenant: "acme"})
	for _, r := range page {
		if r.RevokedAt.IsZero() {
			t.Errorf("key %s outlived its tenant", r.ID)
		}
	}
}

func TestAuditIsComplete(t *testing.T) {
	t.Parallel()
	d := example(t)
	ctx := t.Context()
	r := mint("acme")
	steps := []struct {
		do     func() error
		action configstore.Action
		object string
		tenant string
	}{
		{func() error {
			_, _, err := d.PutTenant(ctx, "initech", quota.Tenant{Plan: "free"}, always, by)
			return err
		}, configstore.Create, "tenants/initech", "initech"},
		{func() error { _, _, err := d.PutTenant(ctx, "acme", quota.Tenant{Plan: "pro"}, always, by); return err }, configstore.Replace, "tenants/acme", "acme"},
		{func() error { _, _, err := d.PutPlan(ctx, "gold", quota.Plan{}, always, by); return err }, configstore.Create, "plans/gold", ""},
		{func() error { return d.CreateKey(ctx, r, by) }, configstore.Create, "keys/" + r.ID, "acme"},
		{func() error { _, _, err := d.RevokeKey(ctx, r.ID, by); return err }, configstore.Revoke, "keys/" + r.ID, "acme"},
		{func() error { _, err := d.SetDefaultPlan(ctx, "gold", by); return err }, configstore.Replace, "default_plan", ""},
		{func() error { _, err := d.ResetTenant(ctx, "acme", by); return err }, configstore.Reset, "tenants/acme", "acme"},
		{func() error { _, err := d.DeleteTenant(ctx, "initech", always, by); return err }, configstore.Delete, "tenants/initech", "initech"},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
	}
	entries, next, err := d.Audit(ctx, configstore.AuditFilter{})
	if err != nil || next != "" || len(entries) != len(steps)+1 {
		t.Fatalf("%d entries, %q, %v, want %d", len(entries), next, err, len(steps)+1)
	}
	slices.Reverse(entries)
	if entries[0].Action != configstore.Apply || entries[0].After != "plans 2 added, 0 changed, 0 removed; tenants 2 added, 0 changed, 0 removed" {
		t.Errorf("the first entry is %+v", entries[0])
	}
	var ofAcme []configstore.Entry
	for i, e := range entries[1:] {
		s := steps[i]
		if e.Action != s.action || e.Object != s.object || e.Tenant != s.tenant || e.Who != "alice" || e.RequestID != "r1" || !e.At.Equal(d.now) || e.Version != entries[i].Version+1 {
			t.Errorf("entry %+v, want %+v", e, s)
		}
		if one, ok, err := d.Change(ctx, e.Version); !ok || err != nil || one != e {
			t.Errorf("version %d is %+v, %t, %v", e.Version, one, ok, err)
		}
		if e.Tenant == "acme" {
			ofAcme = append([]configstore.Entry{e}, ofAcme...)
		}
	}
	if e := entries[2]; !strings.HasPrefix(e.Before, `{"plan":"free","limits":[{"name":"daily"`) || e.After != `{"plan":"pro"}` {
		t.Errorf("before %s, after %s", e.Before, e.After)
	}
	if got, _, err := d.Audit(ctx, configstore.AuditFilter{Tenant: "acme"}); err != nil || !slices.Equal(got, ofAcme) {
		t.Errorf("of acme: %+v, %v, want %+v", got, err, ofAcme)
	}
	var paged []configstore.Entry
	for f := (configstore.AuditFilter{Limit: 2}); ; {
		page, next, err := d.Audit(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, page...)
		if f.Cursor = next; next == "" {
			break
		}
	}
	slices.Reverse(paged)
	if !slices.Equal(paged, entries) {
		t.Errorf("in pages it is %+v, want %+v", paged, entries)
	}
}

// spoil replaces the item with a part by what change makes of it.
func (d *desk) spoil(part string, change func([]byte) []byte) {
	d.t.Helper()
	k := configstore.Key{PK: "part/" + part[11:12], SK: part}
	item, ok, err := d.items.Get(d.t.Context(), k)
	if err != nil || !ok {
		d.t.Fatalf("%t, %v", ok, err)
	}
	tx := configstore.Transaction{Deletes: []configstore.Key{k}}
	if data := change(slices.Clone(item.Data)); data != nil {
		tx = configstore.Transaction{Puts: []configstore.Item{{Key: k, Data: data}}}
	}
	if err := d.items.Transact(d.t.Context(), tx); err != nil {
		d.t.Fatal(err)
	}
}

func TestADamagedPartIsNotRead(t *testing.T) {
	t.Parallel()
	other := newDesk(t)
	other.applies(tenants(1))
	for _, c := range []struct {
		name   string
		change func(*desk, []byte) []byte
		want   string
	}{
		{"it is lost", func(*desk, []byte) []byte { return nil }, "there is no such part"},
		{"it is nothing", func(*desk, []byte) []byte { return []byte("nothing") }, "is damaged"},
		{"a bit is another", func(_ *desk, data []byte) []byte { data[len(data)/2] ^= 1; return data }, "is damaged"},
		{"it is cut short", func(_ *desk, data []byte) []byte { return data[:len(data)-9] }, "is damaged"},
		{"it is another's", func(d *desk, _ []byte) []byte {
			m := other.manifest()
			item, _, _ := other.items.Get(d.t.Context(), configstore.Key{PK: "part/" + m.Tenants[0][11:12], SK: m.Tenants[0]})
			return item.Data
		}, "its digest is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := example(t)
			m := d.manifest()
			d.spoil(m.Tenants[0], func(data []byte) []byte { return c.change(d, data) })
			fresh := configstore.New(d.items, configstore.Options{})
			_, _, read := fresh.Tenant(t.Context(), "acme")
			_, _, written := fresh.PutTenant(t.Context(), "acme", quota.Tenant{Plan: "pro"}, always, by)
			for _, err := range []error{read, written} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
			}
			if now := d.manifest(); now.Version != m.Version {
				t.Error("what could not be read was written over")
			}
			// It is not replaced as a whole either: somebody should know what was lost.
			if _, err := fresh.Apply(t.Context(), quota.Example(), always, by, nil); err == nil {
				t.Error("applied over what could not be read")
			}
		})
	}
}

// In a table that was restored or made anew, no version comes again.
func TestVersionsNeverGoBack(t *testing.T) {
	t.Parallel()
	d := example(t)
	d.now = d.now.Add(-time.Hour) // a clock that is behind
	version, _ := d.Version(t.Context())
	if next := d.puts("initech", quota.Tenant{Plan: "free"}, always, configstore.Created); next != version+1 {
		t.Errorf("version %d after %d", next, version)
	}
	again := newDesk(t)
	again.now = d.now.Add(2 * time.Hour)
	if a := again.applies(quota.Example()); a.Version <= version+1 {
		t.Errorf("version %d in a new table after %d", a.Version, version+1)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var mu sync.Mutex
	seen := map[int]bool{}
	_, err := d.Apply(t.Context(), tenants(3000), always, by, func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if total != 5 || done < 1 || done > total || seen[done] {
			t.Errorf("%d of %d", done, total)
		}
		seen[done] = true
	})
	if err != nil || len(seen) != 5 {
		t.Errorf("%d steps, %v, want 5: the plans and 4 parts", len(seen), err)
	}
}

func TestCursorsOfOtherLists(t *testing.T) {
	t.Parallel()
	d := example(t)
	long := strings.Repeat("x", 5000)
	for _, cursor := range []string{"acme", long} {
		if _, _, err := d.Audit(t.Context(), configstore.AuditFilter{Cursor: cursor}); !errors.Is(err, configstore.ErrCursor) {
			t.Errorf("audit: %v", err)
		}
	}
	if _, _, err := d.Keys(t.Context(), configstore.KeyFilter{Cursor: long}); !errors.Is(err, configstore.ErrCursor) {
		t.Errorf("keys: %v", err)
	}
	if _, ok, err := d.Key(t.Context(), long); ok || err != nil {
		t.Errorf("key: %t, %v", ok, err)
	}
	for _, tenant := range []string{long, "a b", "a\x00b"} {
		if page, _, err := d.Audit(t.Context(), configstore.AuditFilter{Tenant: tenant}); page != nil || err != nil {
			t.Errorf("audit of %.10q: %v, %v", tenant, page, err)
		}
		if page, _, err := d.Keys(t.Context(), configstore.KeyFilter{Tenant: tenant}); page != nil || err != nil {
			t.Errorf("keys of %.10q: %v, %v", tenant, page, err)
		}
	}
}
