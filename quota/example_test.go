package quota_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/seed43908478/penstock/quota"
)

func TestExample(t *testing.T) {
	t.Parallel()
	snapshot, err := quota.Example().Compile()
	if err != nil {
		t.Fatal(err)
	}
	if snapshot.Tenants() != 2 || snapshot.Plans() != 2 {
		t.Errorf("%d tenants, %d plans, want 2 and 2", snapshot.Tenants(), snapshot.Plans())
	}
	search := quota.Request{Tenant: "acme", Resource: "GET /search", Subject: "user:42"}
	export := quota.Request{Tenant: "acme", Resource: "POST /exports/2026/may", Subject: "user:42"}
	fromAddress := search
	fromAddress.Attributes = map[string]string{"ip": "203.0.113.9"}
	ofGlobex := export
	ofGlobex.Tenant = "globex"
	for _, c := range []struct {
		name    string
		request quota.Request
		want    []string
	}{
		{
			"a search of acme's", search,
			[]string{"subject: per-user 10 per 1s, burst 20", ": daily 2000 per 24h0m0s"},
		},
		{
			"an export of acme's", export,
			[]string{"subject: per-user 10 per 1s, burst 20", ": daily 2000 per 24h0m0s; exports 5 per 1m0s"},
		},
		{
			"a search that tells its address", fromAddress,
			[]string{"subject: per-user 10 per 1s, burst 20", ": daily 2000 per 24h0m0s", "attributes.ip: per-ip 100 per 1m0s"},
		},
		{
			"an export of globex's", ofGlobex,
			[]string{"subject: per-user 100 per 1s, burst 200", ": daily 1000000 per 24h0m0s, burst 50000; exports 60 per 1m0s"},
		},
	} {
		if got := matched(t, snapshot, c.request); !slices.Equal(got, c.want) {
			t.Errorf("%s counts in\n%q, want\n%q", c.name, got, c.want)
		}
	}
	if _, err := snapshot.Match(quota.Request{Tenant: "initech", Resource: "GET /"}); !errors.Is(err, quota.ErrUnknownTenant) {
		t.Errorf("a tenant nobody configured: %v, want ErrUnknownTenant", err)
	}
}
