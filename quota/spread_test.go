package quota_test

import (
	"slices"
	"testing"
	"time"

	"github.com/seed43908478/penstock/quota"
)

// itemsOf are the items of a request of acme's by alice.
func itemsOf(t *testing.T, s *quota.Snapshot, resource string) []quota.Item {
	t.Helper()
	items, err := s.Match(quota.Request{Tenant: "acme", Subject: "alice", Resource: resource})
	if err != nil {
		t.Fatal(err)
	}
	return items
}

func TestASpreadLimitHasItsOwnItem(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, onePlan(
		bucket("plain", "by: [subject]"),
		"{name: wide, by: [subject], algorithm: token_bucket, quota: 800, period: 1s, burst: 1600, spread: 8, slack: 50ms, on_store_error: deny}",
		"{name: daily, by: [subject], algorithm: fixed_window, quota: 8000, period: month, spread: 8, mode: shadow}",
		"{name: other, by: [subject], algorithm: token_bucket, quota: 800, period: 1s, spread: 4}",
		bucket("tenant", "spread: 2"),
	))
	items := itemsOf(t, s, "GET /")
	var keys []string
	for _, item := range items {
		keys = append(keys, item.ShardKey(item.Shards-1))
	}
	digest := items[0].Key[len("acme|subject|"):]
	if want := []string{"acme|subject|" + digest + "|0", "acme|subject*8|" + digest + "|7", "acme|subject*4|" + digest + "|3", "acme|*2||1"}; !slices.Equal(keys, want) {
		t.Errorf("the last shards are %q, want %q", keys, want)
	}
	if got := names(items[1:2]); !slices.Equal(got, []string{"wide", "daily"}) {
		t.Errorf("%q are spread over 8", got)
	}
	if items[1].Memory < 31*24*time.Hour {
		t.Errorf("a month is remembered for %s", items[1].Memory)
	}
	if plain := items[0].Rules[0]; plain.Shard != nil || plain.Whole != nil {
		t.Error("a limit that is not spread has a shard")
	}
}

func TestAShardEnforcesItsPart(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, onePlan(
		bucket("first"),
		"{name: wide, by: [subject], algorithm: token_bucket, quota: 800, period: 1s, burst: 1600, spread: 8, slack: 50ms, soft_percent: 10, on_store_error: deny, shadows: first}",
	))
	whole := itemsOf(t, s, "GET /")[1].Rules[0]
	shard := whole.Shard
	if got := whole.Limit.Policy(); got.Quota != 800 || got.Burst != 1600 {
		t.Errorf("the whole is %s", got)
	}
	want := whole.Limit.Policy()
	want.Quota, want.Burst = 100, 200
	if got := shard.Limit.Policy(); got != want {
		t.Errorf("a shard is %+v, want %+v", got, want)
	}
	if shard.Whole != whole || shard.Shard != nil {
		t.Error("a shard does not know its whole")
	}
	same := *shard
	same.Limit, same.Whole, same.Shard = whole.Limit, nil, shard
	if same != *whole {
		t.Errorf("a shard is %+v, of %+v", same, *whole)
	}
	if whole.Shadows != "first" || whole.Mode != quota.Shadow || whole.OnStoreError != quota.Deny {
		t.Errorf("%+v", *whole)
	}
}

func TestRequestIDsAreOfAllLimitsOfAnItem(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, onePlan(
		bucket("some", "by: [subject]", "request_ids: 4"),
		bucket("searches", "by: [subject]", "request_ids: 40", `match: {resource: "GET /search"}`),
		bucket("few", "request_ids: 2"),
		bucket("default", "by: [resource]"),
		bucket("fewer-than-default", "by: [resource]", "request_ids: 8"),
	))
	for _, resource := range []string{"GET /search", "GET /"} {
		var got []int
		for _, item := range itemsOf(t, s, resource) {
			got = append(got, item.RequestIDs)
		}
		if want := []int{40, 2, 16}; !slices.Equal(got, want) {
			t.Errorf("%s: %d ids are remembered, want %d", resource, got, want)
		}
	}
}

func TestACandidateIsAShadow(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, onePlan(
		bucket("live"),
		bucket("unsaid", "shadows: live"),
		bucket("said", "shadows: live", "mode: shadow"),
		bucket("off", "shadows: live", "mode: off"),
	))
	rules := itemsOf(t, s, "GET /")[0].Rules
	if len(rules) != 3 || rules[0].Shadows != "" || rules[0].Mode != quota.Enforce {
		t.Fatalf("%d rules, the first %+v", len(rules), rules[0])
	}
	for _, r := range rules[1:] {
		if r.Mode != quota.Shadow || r.Shadows != "live" {
			t.Errorf("%s has mode %s and shadows %q", r.Name, r.Mode, r.Shadows)
		}
	}
}
