package quota_test

import (
	"errors"
	"testing"

	"github.com/seed43908478/penstock/quota"
)

func TestItemOfACharge(t *testing.T) {
	c := quota.Config{
		Plans: map[string]quota.Plan{"free": {Limits: []quota.Limit{
			{Name: "all", Algorithm: "token_bucket", Quota: 100, Period: "1s", Spread: 4},
			{Name: "search", Algorithm: "token_bucket", Quota: 10, Period: "1s", By: []string{"subject"}, Match: quota.Match{Resource: "GET /search"}},
			{Name: "daily", Algorithm: "fixed_window", Quota: 1000, Period: "day", By: []string{"subject"}},
		}}},
		Tenants: map[string]quota.Tenant{"acme": {Plan: "free"}},
	}
	s, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	items, err := s.Match(quota.Request{Tenant: "acme", Resource: "GET /pages", Subject: "alice"})
	if err != nil || len(items) != 2 {
		t.Fatalf("%+v, %v", items, err)
	}
	got, ok, err := s.Item("acme", items[0].ShardKey(3))
	if err != nil || !ok || got.Key != items[0].ShardKey(3) || got.Shards > 1 || got.Rules[0].Limit.Policy().Quota != 25 {
		t.Errorf("a shard: %+v, %v, %v", got, ok, err)
	}
	got, ok, err = s.Item("acme", items[1].Key)
	if err != nil || !ok || len(got.Rules) != 2 || got.Memory != items[1].Memory {
		t.Errorf("of alice: %+v, %v, %v; want both rules", got, ok, err)
	}
	for _, key := range []string{"acme|resource|x", "globex|subject|x", "acme", ""} {
		if _, ok, err := s.Item("acme", key); ok || err != nil {
			t.Errorf("%q is an item: %v", key, err)
		}
	}
	if _, _, err := s.Item("globex", items[1].Key); !errors.Is(err, quota.ErrUnknownTenant) {
		t.Errorf("%v", err)
	}
}
