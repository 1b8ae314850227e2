package quota_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/seed43908478/penstock/quota"
	"pgregory.net/rapid"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	config, err := quota.ParseYAML([]byte(`
plans:
  free:
    limits:
      - {name: per-user, by: [subject], algorithm: token_bucket, quota: 10, period: 1s}
      - {name: exports, match: {resource: "POST /exports*"}, algorithm: token_bucket, quota: 5, period: minute}
      - {name: daily, algorithm: token_bucket, quota: 1000, period: day}
      - {name: free-ai, match: {attributes: {model: "small*", tier: "*"}}, algorithm: token_bucket, quota: 5, period: minute}
tenants:
  acme:
    plan: free
    limits:
      - {name: own, algorithm: token_bucket, quota: 7, period: day}
      - {name: daily, algorithm: token_bucket, quota: 2000, period: day}
      - {name: per-user, mode: off}
default_plan: free
`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := config.Compile()
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		name     string
		from     quota.Origin
		replaces bool
		quota    int64
		id       string
		reason   string
	}
	explains := func(r quota.Request, known bool, want ...line) {
		t.Helper()
		e, err := s.Explain(r)
		if err != nil || e.Known != known || e.Plan != "free" || len(e.Limits) != len(want) {
			t.Fatalf("%+v, %v", e, err)
		}
		for i, l := range e.Limits {
			got := line{l.Name, l.From, l.Replaces, l.Quota, l.ID, l.Reason}
			if got != want[i] || l.Matched != (l.Reason == "") {
				t.Errorf("%+v, matched %t, want %+v", got, l.Matched, want[i])
			}
		}
	}
	explains(quota.Request{Tenant: "acme", Resource: "GET /a", Attributes: map[string]string{"model": "large", "tier": ""}}, true,
		line{"per-user", quota.FromTenant, true, 0, "", "mode is off"},
		line{"exports", quota.FromPlan, false, 5, "exports.tb", `resource "GET /a" does not match "POST /exports*"`},
		line{"daily", quota.FromTenant, true, 2000, "daily.tb", ""},
		line{"free-ai", quota.FromPlan, false, 5, "free-ai.tb", `attribute model "large" does not match "small*"`},
		line{"own", quota.FromTenant, false, 7, "own.tb", ""},
	)
	explains(quota.Request{Tenant: "initech", Resource: "POST /exports/7", Attributes: map[string]string{"model": "small"}}, false,
		line{"per-user", quota.FromPlan, false, 10, "per-user.tb", ""},
		line{"exports", quota.FromPlan, false, 5, "exports.tb", ""},
		line{"daily", quota.FromPlan, false, 1000, "daily.tb", ""},
		line{"free-ai", quota.FromPlan, false, 5, "free-ai.tb", "attribute tier is missing"},
	)
	if _, err := new(quota.Snapshot).Explain(quota.Request{Tenant: "acme"}); !errors.Is(err, quota.ErrUnknownTenant) {
		t.Errorf("%v, want ErrUnknownTenant", err)
	}
}

// What is said to match is what matches.
func TestExplainAgreesWithMatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig.Draw(t, "config")
		s, err := c.Compile()
		if err != nil {
			t.Fatal(err)
		}
		r := quota.Request{
			Tenant:   rapid.SampledFrom(append(slices.Sorted(maps.Keys(c.Tenants)), "nobody")).Draw(t, "tenant"),
			Resource: anyPattern.Draw(t, "resource"), Attributes: map[string]string{"ip": anyPattern.Draw(t, "ip")},
		}
		items, err := s.Match(r)
		e, explained := s.Explain(r)
		if err != nil || explained != nil {
			if !errors.Is(explained, err) {
				t.Fatalf("explained %v, matched %v", explained, err)
			}
			return
		}
		var want, got []string
		for _, item := range items {
			for _, rule := range item.Rules {
				want = append(want, item.Key+" "+rule.ID)
			}
		}
		for _, l := range e.Limits {
			if l.Matched {
				got = append(got, l.Item+" "+l.ID)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("explained %q, matched %q", got, want)
		}
	})
}
