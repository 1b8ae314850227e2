package quota_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/quota"
)

// matched tells the items of a request: "by: limit; limit".
func matched(t *testing.T, s *quota.Snapshot, r quota.Request) []string {
	t.Helper()
	items, err := s.Match(r)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, item := range items {
		var rules []string
		for _, rule := range item.Rules {
			rules = append(rules, rule.Name+" "+rule.Limit.Policy().String())
		}
		told = append(told, strings.Split(item.Key, "|")[1]+": "+strings.Join(rules, "; "))
	}
	return told
}

func mustCompile(t testing.TB, yaml string) *quota.Snapshot {
	t.Helper()
	config, err := quota.ParseYAML([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	s, err := config.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onePlan is a configuration of the tenant acme with these limits, one a line.
func onePlan(limits ...string) string {
	return "plans: {p: {limits: [\n" + strings.Join(limits, ",\n") + "\n]}}\ntenants: {acme: {plan: p}}\n"
}

// bucket is a token bucket of 10 a second with other members.
func bucket(name string, members ...string) string {
	return fmt.Sprintf("{name: %s, algorithm: token_bucket, quota: 10, period: 1s%s}", name, strings.Join(append([]string{""}, members...), ", "))
}

func names(items []quota.Item) (names []string) {
	for _, item := range items {
		for _, rule := range item.Rules {
			names = append(names, rule.Name)
		}
	}
	return names
}

func TestMatchConditions(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, onePlan(
		bucket("any"),
		bucket("search", `match: {resource: "GET /search*"}`),
		bucket("exact", `match: {resource: "GET /"}`),
		bucket("v2-of-any", `match: {resource: "* /v2/*"}`),
		bucket("has-ip", `match: {attributes: {ip: "*"}}`),
		bucket("mobile-search", `match: {resource: "GET /search*", attributes: {device: "mobile-*"}}`),
	))
	for _, c := range []struct {
		name    string
		request quota.Request
		want    string
	}{
		{"a resource nobody named", quota.Request{Resource: "GET /other"}, "any"},
		{"the resource itself", quota.Request{Resource: "GET /search"}, "any search"},
		{"a star matches a slash", quota.Request{Resource: "GET /search/a/b"}, "any search"},
		{"a pattern without a star is the whole resource", quota.Request{Resource: "GET /"}, "any exact"},
		{"a star in front", quota.Request{Resource: "DELETE /v2/things"}, "any v2-of-any"},
		{"an attribute that is there", quota.Request{Resource: "GET /x", Attributes: map[string]string{"ip": "::1"}}, "any has-ip"},
		{"an attribute that is there and empty", quota.Request{Resource: "GET /x", Attributes: map[string]string{"ip": ""}}, "any has-ip"},
		{"all conditions hold", quota.Request{Resource: "GET /search", Attributes: map[string]string{"device": "mobile-3"}}, "any search mobile-search"},
		{"one condition does not", quota.Request{Resource: "GET /x", Attributes: map[string]string{"device": "mobile-3"}}, "any"},
		{"letters have a case", quota.Request{Resource: "get /search"}, "any"},
	} {
		c.request.Tenant = "acme"
		items, err := s.Match(c.request)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(items), " "); got != c.want {
			t.Errorf("%s: matched %s, want %s", c.name, got, c.want)
		}
	}
}

func TestMatchGroupsByWhatLimitsAreBy(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, onePlan(
		bucket("a", "by: [subject, resource]"),
		bucket("b"),
		bucket("c", "by: [resource, subject]"),
		bucket("d", "by: [attributes.ip]", `match: {resource: "never"}`),
		`{name: e, algorithm: token_bucket, quota: 1, period: week, match: {resource: "never"}}`,
	))
	items, err := s.Match(quota.Request{Tenant: "acme", Resource: "GET /", Subject: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 2 {
		t.Fatalf("%d items, want 2: one by subject and resource, one of the tenant", len(items))
	}
	both, own := items[0], items[1]
	if both.Parts != 2 || own.Parts != 0 {
		t.Errorf("parts %d and %d, want 2 and 0", both.Parts, own.Parts)
	}
	if got := names(items); !slices.Equal(got, []string{"a", "c", "b"}) {
		t.Errorf("rules %v, want a and c together, then b", got)
	}
	if r := both.Rules[1]; r.ID != "c.tb" || r.Order != 2 || r.OnStoreError != quota.Local {
		t.Errorf("third of the plan is %+v, want c.tb, 2, local", r)
	}
	if !strings.HasPrefix(both.Key, "acme|resource+subject|") || own.Key != "acme||" {
		t.Errorf("keys %q and %q", both.Key, own.Key)
	}
	// e did not match, but its week may be stored in the tenant's item.
	if own.Memory != 7*24*time.Hour || both.Memory != time.Second {
		t.Errorf("memories %v and %v, want a week and a second", own.Memory, both.Memory)
	}
}

func TestMatchTakesSomeRulesOfAGroup(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, onePlan(
		bucket("a", `match: {resource: "*a*"}`),
		bucket("b", `match: {resource: "*b*"}`),
		bucket("c", `match: {resource: "*c*"}`),
		bucket("d", `match: {resource: "*d*"}`),
	))
	for subset := range 1 << 4 {
		want := ""
		for i, letter := range []string{"a", "b", "c", "d"} {
			if subset&(1<<i) != 0 {
				want += letter
			}
		}
		// Twice, as a match must not change what it was taken from.
		for range 2 {
			items, err := s.Match(quota.Request{Tenant: "acme", Resource: want})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(names(items), ""); got != want {
				t.Errorf("%q matched %q", want, got)
			}
		}
	}
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `
plans:
  p:
    limits:
      - {name: a, algorithm: token_bucket, quota: 1, period: 1s}
      - {name: b, algorithm: token_bucket, quota: 2, period: 1s, match: {resource: never}}
      - {name: c, algorithm: token_bucket, quota: 3, period: 1s}
      - {name: d, algorithm: token_bucket, quota: 4, period: 1s, mode: "off"}
  none: {}
tenants:
  plain: {plan: p}
  changed:
    plan: p
    limits:
      - {name: z, algorithm: token_bucket, quota: 9, period: 1s}
      - {name: b, algorithm: leaky_bucket, quota: 7, period: 1s}
      - {name: c, mode: off}
  unlimited: {plan: none}
default_plan: p
`)
	for _, c := range []struct{ tenant, want string }{
		{"plain", "a 1 per 1s; c 3 per 1s"},
		{"changed", "a 1 per 1s; b 7 per 1s; z 9 per 1s"}, // without the plan's condition: replaced whole
		{"never-heard-of", "a 1 per 1s; c 3 per 1s"},
		{"unlimited", ""},
	} {
		got := strings.Join(matched(t, s, quota.Request{Tenant: c.tenant, Resource: "GET /"}), " / ")
		if got = strings.TrimPrefix(got, ": "); got != c.want {
			t.Errorf("%s has %q, want %q", c.tenant, got, c.want)
		}
	}
	items, _ := s.Match(quota.Request{Tenant: "changed", Resource: "GET /"})
	if r := items[0].Rules[1]; r.ID != "b.lb" || r.Order != 1 {
		t.Errorf("the replaced limit is %s at %d, want b.lb at 1", r.ID, r.Order)
	}
}

func TestTenantsWithoutOverridesShareTheirPlan(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, "plans: {p: {limits: ["+bucket("a")+"]}}\ntenants: {x: {plan: p}, y: {plan: p}}")
	x, _ := s.Match(quota.Request{Tenant: "x", Resource: "r"})
	y, _ := s.Match(quota.Request{Tenant: "y", Resource: "r"})
	if x[0].Rules[0] != y[0].Rules[0] {
		t.Error("each tenant has its own copy of the plan's rules")
	}
}

func TestZeroSnapshotKnowsNobody(t *testing.T) {
	t.Parallel()
	if _, err := new(quota.Snapshot).Match(quota.Request{Tenant: "acme"}); !errors.Is(err, quota.ErrUnknownTenant) {
		t.Errorf("%v, want ErrUnknownTenant", err)
	}
}
