package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// counted has limits by nothing, by subject and by two parts, one that is spread and one that is off.
func counted(t *testing.T) *office {
	t.Helper()
	c, err := quota.ParseYAML([]byte(`
plans:
  free:
    limits:
      - {name: daily, algorithm: fixed_window, quota: 100, period: day}
      - {name: per-user, by: [subject], algorithm: sliding_window_log, quota: 10, period: minute}
      - {name: per-route, by: [subject, resource], algorithm: token_bucket, quota: 5, period: minute}
      - {name: exports, match: {resource: "POST /exports*"}, algorithm: token_bucket, quota: 5, period: minute}
      - {name: wide, algorithm: token_bucket, quota: 40, period: minute, spread: 4}
      - {name: nothing, algorithm: token_bucket, quota: 5, period: minute, mode: off}
tenants:
  acme:
    plan: free
    limits:
      - {name: daily, algorithm: fixed_window, quota: 200, period: day}
  globex: {plan: free}
`))
	if err != nil {
		t.Fatal(err)
	}
	return officeWith(t, c)
}

// check charges a call, as an instance does that has the same configuration.
func (o *office) check(tenant, resource, subject string, cost int64) engine.Decision {
	o.t.Helper()
	items, err := o.live.Match(o.t.Context(), quota.Request{Tenant: tenant, Resource: resource, Subject: subject})
	if err != nil {
		o.t.Fatal(err)
	}
	d, err := o.engine.Decide(o.t.Context(), engine.Call{Items: items, Cost: cost})
	if err != nil {
		o.t.Fatal(err)
	}
	return d
}

// used are the limits of a usage, as "name=used/capacity".
func (a answer) used() string {
	var said []string
	for _, l := range a.members["limits"].([]any) {
		m := l.(map[string]any)
		said = append(said, fmt.Sprintf("%s=%v/%v", m["name"], m["used"], m["capacity"]))
	}
	return strings.Join(said, " ")
}

func TestUsageTellsWhatIsUsedNow(t *testing.T) {
	o := counted(t)
	o.check("acme", "GET /a", "alice", 3)
	o.check("acme", "GET /a", "bob", 1)
	a := o.ok("GET", "tenants/acme/usage", "")
	if got := a.used(); got != "daily=4/200 exports=0/5 wide=4/40" {
		t.Errorf("of the tenant: %s", got)
	}
	if !strings.Contains(a.body, `"more":[{"name":"per-user","by":["subject"]},{"name":"per-route","by":["subject","resource"]}]`) || a.members["plan"] != "free" {
		t.Error(a.body)
	}
	if got := o.ok("GET", "tenants/acme/usage?subject=alice", "").used(); got != "daily=4/200 per-user=3/10 exports=0/5 wide=4/40" {
		t.Errorf("with alice's: %s", got)
	}
	if got := o.ok("GET", "tenants/acme/usage?subject=bob&resource=GET%20/a", "").used(); got != "daily=4/200 per-user=1/10 per-route=1/5 exports=0/5 wide=4/40" {
		t.Errorf("with bob's: %s", got)
	}
	if got := o.ok("GET", "tenants/globex/usage?subject=", "").used(); got != "daily=0/100 per-user=0/10 exports=0/5 wide=0/40" {
		t.Errorf("globex with nobody's: %s", got)
	}
	o.status(404, "GET", "tenants/nobody/usage", "").has(404, "urn:penstock:unknown-tenant")
	o.status(400, "GET", "tenants/acme/usage?subject=a&subject=b", "")
	o.status(400, "GET", "tenants/acme/usage?attributes.=b", "")
}

func TestResetOfWhatIsNamed(t *testing.T) {
	for _, c := range []struct {
		body         string
		scope        string
		limits       []string
		alice, bob   string
		otherSubject string
	}{
		{`{"subject":"alice"}`, "key", []string{"per-user"}, "daily=6/200 per-user=0/10 per-route=3/5 exports=0/5 wide=6/40", "daily=6/200 per-user=3/10 per-route=3/5 exports=0/5 wide=6/40", ""},
		{`{"subject":"alice","resource":"GET /a"}`, "key", []string{"per-user", "per-route"}, "daily=6/200 per-user=0/10 per-route=0/5 exports=0/5 wide=6/40", "daily=6/200 per-user=3/10 per-route=3/5 exports=0/5 wide=6/40", ""},
		{`{"subject":"alice","resource":"GET /a","limit":"per-route"}`, "key", []string{"per-route"}, "daily=6/200 per-user=3/10 per-route=0/5 exports=0/5 wide=6/40", "daily=6/200 per-user=3/10 per-route=3/5 exports=0/5 wide=6/40", ""},
		{`{"limit":"daily"}`, "key", []string{"daily"}, "daily=0/200 per-user=3/10 per-route=3/5 exports=0/5 wide=6/40", "daily=0/200 per-user=3/10 per-route=3/5 exports=0/5 wide=6/40", ""},
		{`{"limit":"wide"}`, "key", []string{"wide"}, "daily=6/200 per-user=3/10 per-route=3/5 exports=0/5 wide=0/40", "daily=6/200 per-user=3/10 per-route=3/5 exports=0/5 wide=0/40", ""},
		{`{"limit":"per-user"}`, "limit", []string{"per-user"}, "daily=6/200 per-user=0/10 per-route=3/5 exports=0/5 wide=6/40", "daily=6/200 per-user=0/10 per-route=3/5 exports=0/5 wide=6/40", ""},
		{`{}`, "tenant", []string{"daily", "per-user", "per-route", "exports", "wide"}, "daily=0/200 per-user=0/10 per-route=0/5 exports=0/5 wide=0/40", "daily=0/200 per-user=0/10 per-route=0/5 exports=0/5 wide=0/40", ""},
	} {
		t.Run(c.body, func(t *testing.T) {
			o := counted(t)
			for _, tenant := range []string{"acme", "globex"} {
				o.check(tenant, "GET /a", "alice", 3)
				o.check(tenant, "GET /a", "bob", 3)
			}
			a := o.ok("POST", "tenants/acme/reset", c.body)
			var done struct {
				Scope  string
				Limits []string
			}
			if err := json.Unmarshal([]byte(a.body), &done); err != nil || done.Scope != c.scope || !slices.Equal(done.Limits, c.limits) {
				t.Errorf("%s, %v", a.body, err)
			}
			if got := o.ok("GET", "tenants/acme/usage?subject=alice&resource=GET+/a", "").used(); got != c.alice {
				t.Errorf("alice has\n%s, want\n%s", got, c.alice)
			}
			if got := o.ok("GET", "tenants/acme/usage?subject=bob&resource=GET+/a", "").used(); got != c.bob {
				t.Errorf("bob has\n%s, want\n%s", got, c.bob)
			}
			if got := o.ok("GET", "tenants/globex/usage?subject=bob", "").used(); got != "daily=6/100 per-user=3/10 exports=0/5 wide=6/40" {
				t.Errorf("globex has %s", got)
			}
			if d := o.check("acme", "GET /a", "alice", 1); !d.Allowed {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestResetsThatNameNothing(t *testing.T) {
	o := counted(t)
	o.check("acme", "GET /a", "alice", 3)
	for body, member := range map[string]string{
		`{"limit":"nope"}`:                                           "limit",
		`{"limit":"nothing"}`:                                        "limit",
		`{"limit":"per-route","subject":"a"}`:                        "resource",
		`{"limit":"daily","subject":"a"}`:                            "subject",
		`{"limit":"per-user","attributes":{}}`:                       "",
		`{"resource":"GET /a"}`:                                      "",
		`{"attributes":{"ip":"::1"}}`:                                "",
		`{"subjects":"a"}`:                                           "subjects",
		`{"subject":"a\u0000"}`:                                      "subject",
		`{"subject":5}`:                                              "subject",
		`{"subject":"a","attributes":{"ip":"i"},"limit":"per-user"}`: "attributes.ip",
	} {
		want := 400
		if body == `{"limit":"per-user","attributes":{}}` {
			want = 200 // nothing is named by it: all counts of the limit
		}
		a := o.status(want, "POST", "tenants/globex/reset", body)
		if got := faulty(a.members); member != "" && !slices.Contains(got, member) {
			t.Errorf("%s: %v, want %s", body, got, member)
		}
	}
	o.status(400, "POST", "tenants/acme/reset", "", "Content-Type: application/json")
	o.status(404, "POST", "tenants/nobody/reset", "{}")
	o.ok("PUT", "default_plan", `{"default_plan":"free"}`)
	o.status(409, "POST", "tenants/nobody/reset", "{}")
	o.status(200, "POST", "tenants/nobody/reset", `{"subject":"alice"}`)
	if got := o.ok("GET", "tenants/acme/usage?subject=alice", "").used(); got != "daily=3/200 per-user=3/10 exports=0/5 wide=3/40" {
		t.Errorf("acme has %s", got)
	}
}

func TestResetsAreInTheAudit(t *testing.T) {
	o := counted(t)
	o.ok("POST", "tenants/acme/reset", `{"subject":"alice@example.com"}`)
	o.ok("POST", "tenants/acme/reset", `{"limit":"daily"}`)
	o.ok("POST", "tenants/acme/reset", `{"limit":"per-user"}`)
	o.ok("POST", "tenants/acme/reset", `{}`)
	a := o.ok("GET", "audit?tenant=acme", "")
	if got := a.names("action"); !slices.Equal(got, []string{"reset", "reset", "reset", "reset"}) {
		t.Errorf("audit %v", got)
	}
	for _, what := range []string{`"after":"limit per-user"`, `"after":"daily of acme||"`, `"after":"per-user of acme|subject|`} {
		if !strings.Contains(a.body, what) {
			t.Errorf("no %s in %s", what, a.body)
		}
	}
	if strings.Contains(a.body, "alice") {
		t.Errorf("the audit tells whose count it was: %s", a.body)
	}
}

func (o *office) explains(body string, header ...string) answer {
	o.t.Helper()
	return o.ok("POST", "explain", body, header...)
}

func TestExplainTellsWhatAndWhoAndWhen(t *testing.T) {
	o := counted(t)
	for range 5 {
		o.check("acme", "GET /a", "alice", 1)
	}
	o.now = o.now.Add(time.Second)
	o.ok("PUT", "tenants/globex", `{"plan":"free","limits":[{"name":"own","algorithm":"token_bucket","quota":3,"period":"1s"}]}`, "If-Match: *")
	a := o.explains(`{"tenant":"acme","resource":"GET /a","subject":"alice","cost":2}`)
	if a.members["allowed"] != false || a.members["limit"] != "per-route" || a.members["cost"] != 2.0 || a.members["plan"] != "free" {
		t.Error(a.body)
	}
	limits := map[string]map[string]any{}
	for _, l := range a.members["limits"].([]any) {
		m := l.(map[string]any)
		limits[m["name"].(string)] = m
	}
	route := limits["per-route"]
	n := route["count"].(map[string]any)
	if n["allowed"] != false || n["short"] != 2.0 || n["used"] != 5.0 || n["retry_after_ms"] != 23_000.0 || route["policy"] != "5 per 1m0s" {
		t.Errorf("per-route: %v", route)
	}
	if limits["exports"]["count"] != nil || limits["exports"]["matched"] != false || !strings.Contains(limits["exports"]["reason"].(string), "does not match") {
		t.Errorf("exports: %v", limits["exports"])
	}
	if limits["daily"]["from"] != "tenant" || limits["daily"]["replaces"] != true || limits["nothing"]["reason"] != "mode is off" {
		t.Errorf("daily: %v", limits["daily"])
	}
	if changed := route["changed"].(map[string]any); changed["who"] != "test" || changed["action"] != "apply" {
		t.Errorf("changed: %v", changed)
	}
	// What was just changed here is what is explained.
	b := o.explains(`{"tenant":"globex","resource":"GET /a","cost":5}`)
	if b.members["limit"] != "own" || b.members["never"] != true || !strings.Contains(b.body, `"who":"bootstrap"`) {
		t.Error(b.body)
	}
	for range 2 {
		if c := o.explains(`{"tenant":"globex","resource":"GET /a","subject":"x"}`); c.members["allowed"] != true || c.members["limit"] != "" {
			t.Errorf("explaining has charged: %s", c.body)
		}
	}
	o.status(400, "POST", "explain", `{"tenant":"acme"}`)
	o.status(400, "POST", "explain", `{"tenant":"acme","resource":"r","x":1}`)
	o.status(404, "POST", "explain", `{"tenant":"nobody","resource":"r"}`)
	o.status(413, "POST", "explain", `{"tenant":"acme","resource":"`+strings.Repeat("x", maxCheckBody)+`"}`)
}

func TestExplainInWords(t *testing.T) {
	o := counted(t)
	for range 5 {
		o.check("acme", "GET /a", "alice", 1)
	}
	a := o.explains(`{"tenant":"acme","resource":"GET /a","subject":"alice"}`, "Accept: text/plain")
	if got := a.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("Content-Type %s", got)
	}
	version, err := o.config.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`GET /a by alice: refused by per-route, passes in 12s.
Tenant acme has plan free (version %d of the configuration).

daily: fixed_window, 200 per 24h0m0s
  from the tenant, in place of the plan's; apply by test at 2026-03-01T12:00:00Z
  5 of 200 used: passes

per-user: sliding_window_log, 10 per 1m0s, by subject
  from the plan; apply by test at 2026-03-01T12:00:00Z
  5 of 10 used: passes

per-route: token_bucket, 5 per 1m0s, by subject, resource
  from the plan; apply by test at 2026-03-01T12:00:00Z
  5 of 5 used: 1 too few, passes in 12s

exports: token_bucket, 5 per 1m0s
  from the plan; apply by test at 2026-03-01T12:00:00Z
  does not match: resource "GET /a" does not match "POST /exports*"

wide: token_bucket, 40 per 1m0s
  from the plan; apply by test at 2026-03-01T12:00:00Z
  5 of 40 used: passes

nothing: token_bucket, mode off
  from the plan; apply by test at 2026-03-01T12:00:00Z
  does not match: mode is off
`, version)
	if a.body != want {
		t.Errorf("got\n%s\nwant\n%s", a.body, want)
	}
}

// A stopped is a state table that cannot be asked.
type stopped struct{}

var errStopped = &store.Error{Reason: store.Unavailable, Err: errors.New("connection refused")}

func (stopped) Apply(context.Context, store.Write) (store.Result, error) {
	return store.Result{}, errStopped
}

func (stopped) Read(context.Context, string, []string) ([]limit.State, error) { return nil, errStopped }

func TestWithoutTheStateTableTheRestIsExplained(t *testing.T) {
	o := counted(t)
	o.state = stopped{}
	o.open()
	a := o.explains(`{"tenant":"acme","resource":"GET /a"}`)
	if _, there := a.members["allowed"]; there || strings.Contains(a.body, `"count"`) || !strings.Contains(a.body, `"matched":true`) {
		t.Error(a.body)
	}
	if text := o.explains(`{"tenant":"acme","resource":"GET /a"}`, "Accept: text/plain").body; !strings.Contains(text, "cannot be known") {
		t.Error(text)
	}
	for _, r := range []struct{ method, path, body string }{{"GET", "tenants/acme/usage", ""}, {"POST", "tenants/acme/reset", `{"subject":"a"}`}} {
		a := o.status(503, r.method, r.path, r.body)
		a.has(503, notAvailable)
		if a.Header.Get("Retry-After") != "1" || strings.Contains(a.body, "refused") {
			t.Errorf("%s %v", a.body, a.Header)
		}
	}
	o.ok("GET", "tenants", "")
}

// Another instance has what was changed here when its configuration is 30 s old, not before.
func TestAChangeReachesOtherInstancesWithinItsAge(t *testing.T) {
	o := counted(t)
	there, err := quota.NewLive(t.Context(), o.config, quota.LiveOptions{Now: func() time.Time { return o.now }})
	if err != nil {
		t.Fatal(err)
	}
	quotaThere := func() int64 {
		items, err := there.Match(t.Context(), quota.Request{Tenant: "acme", Resource: "r"})
		if err != nil {
			t.Fatal(err)
		}
		return items[0].Rules[0].Limit.Policy().Quota
	}
	o.ok("PUT", "tenants/acme", `{"plan":"free","limits":[{"name":"daily","algorithm":"fixed_window","quota":7,"period":"day"}]}`, "If-Match: *")
	if d := o.check("acme", "r", "", 1); d.Verdicts[0].Rule.Limit.Policy().Quota != 7 {
		t.Error("here it is not in force with the next call")
	}
	o.now = noon.Add(30*time.Second - 1)
	if got := quotaThere(); got != 200 {
		t.Errorf("there it is %d after less than 30 s", got)
	}
	o.now = noon.Add(30 * time.Second)
	if got := quotaThere(); got != 7 {
		t.Errorf("there it is %d after 30 s", got)
	}
}
