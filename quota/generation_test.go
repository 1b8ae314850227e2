package quota_test

import (
	"testing"

	"github.com/seed43908478/penstock/quota"
)

// What a tenant's request counts in, when these are its generations.
func generations(t *testing.T, tenant int64, limits map[string]int64) (*quota.Snapshot, []quota.Item) {
	t.Helper()
	config := quota.Config{
		Plans: map[string]quota.Plan{"free": {Limits: []quota.Limit{
			{Name: "daily", Algorithm: "token_bucket", Quota: 1000, Period: "day"},
			{Name: "hourly", Algorithm: "token_bucket", Quota: 100, Period: "hour"},
			{Name: "per-user", By: []string{"subject"}, Algorithm: "token_bucket", Quota: 10, Period: "1s"},
		}}},
		Tenants: map[string]quota.Tenant{"acme": {Plan: "free"}, "globex": {Plan: "free"}},
	}
	m := manifestOf(t, 9, config, 1)
	data, err := quota.EncodeTenants(map[string]quota.SavedTenant{
		"acme":   {Tenant: config.Tenants["acme"], Revision: 9, Generation: tenant, Generations: limits},
		"globex": {Tenant: config.Tenants["globex"], Revision: 9},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.parts["tenants 0 of 9"] = data
	live, err := quota.NewLive(t.Context(), &table{manifest: m.manifest, version: 9, parts: m.parts}, quota.LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := live.Snapshot(t.Context())
	items, err := s.Match(quota.Request{Tenant: "acme", Resource: "r", Subject: "alice"})
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	return s, items
}

// What is stored is named by key and rule: a reset has other names, of that tenant's and that limit's alone.
func TestGenerationsNameWhatHasNothingStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tenant             int64
		limits             map[string]int64
		key, userKey       string
		daily, hourly, own string
	}{
		{0, nil, "acme||", "acme|subject|SAy71MWsxhML1U3tr97yeQ", "daily.tb", "hourly.tb", "per-user.tb"},
		{35, nil, "acme#z||", "acme#z|subject|SAy71MWsxhML1U3tr97yeQ", "daily.tb", "hourly.tb", "per-user.tb"},
		{0, map[string]int64{"per-user": 35}, "acme||", "acme|subject|SAy71MWsxhML1U3tr97yeQ", "daily.tb", "hourly.tb", "per-user.tb#z"},
		{1, map[string]int64{"daily": 36, "gone": 5}, "acme#1||", "acme#1|subject|SAy71MWsxhML1U3tr97yeQ", "daily.tb#10", "hourly.tb", "per-user.tb"},
	} {
		s, items := generations(t, c.tenant, c.limits)
		if items[0].Key != c.key || items[1].Key != c.userKey {
			t.Errorf("%d %v: keys %s, %s", c.tenant, c.limits, items[0].Key, items[1].Key)
		}
		if items[0].Rules[0].ID != c.daily || items[0].Rules[1].ID != c.hourly || items[1].Rules[0].ID != c.own {
			t.Errorf("%d %v: %s, %s, %s", c.tenant, c.limits, items[0].Rules[0].ID, items[0].Rules[1].ID, items[1].Rules[0].ID)
		}
		found, ok, err := s.Item("acme", c.userKey)
		if err != nil || !ok || found.Rules[0].ID != c.own {
			t.Errorf("%d %v: item %+v, %t, %v", c.tenant, c.limits, found, ok, err)
		}
		if _, ok, _ := s.Item("acme", "acme#old|subject|SAy71MWsxhML1U3tr97yeQ"); ok {
			t.Error("an item of another generation is found")
		}
		e, err := s.Explain(quota.Request{Tenant: "acme", Resource: "r", Subject: "alice"})
		if err != nil || e.Limits[0].Item != c.key || e.Limits[0].ID != c.daily || e.Limits[2].Item != c.userKey || e.Limits[2].ID != c.own {
			t.Errorf("explained as %+v, %v", e, err)
		}
		if other, err := s.Match(quota.Request{Tenant: "globex", Resource: "r"}); err != nil || other[0].Key != "globex||" || other[0].Rules[0].ID != "daily.tb" {
			t.Errorf("globex: %+v, %v", other, err)
		}
	}
}
