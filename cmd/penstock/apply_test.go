package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed43908478/penstock/quota"
)

const changedConfig = `plans:
  free:
    limits:
      - {name: exports, match: {resource: "POST /exports*"}, algorithm: sliding_window_log, quota: 6, period: minute, on_store_error: deny}
      - {name: new, algorithm: token_bucket, quota: 1, period: 1s}
  trial: {}
tenants:
  acme: {plan: trial}
default_plan: free
`

func TestApplySaysWhatChanges(t *testing.T) {
	s := open(t)
	file := write(t, changedConfig)
	diff := `plans
  + trial
  ~ free
      limits.daily: removed
      limits.exports.quota: 5 → 6
      limits.new: added, algorithm: token_bucket, period: 1s, quota: 1
      limits.per-ip: removed
      limits.per-user: removed
  - pro
tenants
  ~ acme
      plan: free → trial
      limits.daily: removed
  - globex
default_plan: free
`
	dry := s.run("apply", file, "--dry-run")
	dry.want(t, exitChanges, "")
	if dry.out != diff {
		t.Errorf("prints\n%s\nwant\n%s", dry.out, diff)
	}
	s.fails(exitUsage, "This deletes 1 plan and 1 tenant, and revokes their keys: add --yes", "apply", file)
	s.prints("acme\nglobex\n:4\n", "__complete", "tenants", "get", "") // nothing was done
	s.prints(diff+"2 plans, 1 tenant: applied as version VERSION\n", "apply", file, "--yes")
	s.prints("2 plans, 1 tenant: unchanged, it is version VERSION\n", "apply", file)
	s.prints("2 plans, 1 tenant: nothing would change\n", "apply", file, "--dry-run")
}

func TestApplyPrintsJSON(t *testing.T) {
	s := open(t)
	r := s.with(changedConfig, "apply", "-", "--dry-run", "--json")
	r.want(t, exitChanges, "")
	var d struct {
		Changed bool
		Plans   struct{ Added, Removed []string }
	}
	if err := json.Unmarshal([]byte(r.out), &d); err != nil || !d.Changed || len(d.Plans.Added) != 1 || len(d.Plans.Removed) != 1 {
		t.Errorf("%v: %s", err, r.out)
	}
	if r := s.with(changedConfig, "apply", "-", "--yes", "--json"); r.code != 0 || !json.Valid([]byte(r.out)) {
		t.Errorf("%+v", r)
	}
}

func TestApplySaysWhatIsWrongByLine(t *testing.T) {
	s := open(t)
	file := write(t, "plans:\n  free:\n    limits: [{name: a, quota: x}]\n")
	s.fails(exitFailed, file+":3: plans.free.limits[0].quota: ", "apply", file)
	s.fails(exitFailed, "no such file", "apply", file+".none")
	s.with("a: [", "apply", "-").want(t, exitFailed, "-:2: not YAML: ")
}

// Names and values that YAML would take for something else.
const oddConfig = `plans:
  "007":
    limits:
      - {name: "off", match: {resource: "* : #", attributes: {"on": "*", "1": "null"}}, by: [attributes.on], algorithm: token_bucket, quota: 1, period: 1s, mode: "off"}
      - {name: "1e3", algorithm: fixed_window, quota: 1, period: month, anchor_day: 28}
  "null": {}
tenants:
  "123": {plan: "007"}
  "true": {plan: "null", limits: [{name: "off", mode: "off"}]}
  a@b:c: {plan: "007"}
  "2026-11-21": {plan: "007"}
default_plan: "null"
`

func TestWhatIsExportedIsAppliedUnchanged(t *testing.T) {
	for _, config := range []string{"{}", oddConfig, ""} {
		s := open(t)
		if config != "" {
			s.with(config, "apply", "-", "--yes").want(t, 0, "")
		}
		exported := s.ok("export")
		if r := s.with(exported, "apply", "-"); !strings.Contains(r.out, "unchanged") {
			t.Errorf("%+v\nof\n%s", r, exported)
		}
		other := open(t, exported)
		if again := other.ok("export"); again != exported {
			t.Errorf("exported again it is\n%s\nit was\n%s", again, exported)
		}
		if a, b := s.ok("export", "--json"), other.ok("export", "--json"); a != b {
			t.Errorf("%s\nis not\n%s", a, b)
		}
	}
}

func TestWhatChangesIsSaidByMember(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"", "", ""},
		{"{name: a, quota: 1}", "{name: a, quota: 2}", "limits.a.quota: 1 → 2"},
		{"{name: a, quota: 1, burst: 5}", "{name: a, quota: 1}", "limits.a.burst: 5 → none"},
		{"{name: a, by: [subject]}", "{name: a, by: [resource]}", `limits.a.by: ["subject"] → ["resource"]`},
		{"{name: a}, {name: b}", "{name: b}, {name: a}", "limits: in another order, b, a"},
	} {
		plans := make([]quota.Plan, 2)
		for i, text := range []string{c.before, c.after} {
			var err error
			if plans[i], err = quota.ReadPlanYAML([]byte("limits: [" + text + "]")); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(memberDiff(plans[0], plans[1]), "; "); got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

func TestManyNamesAreCounted(t *testing.T) {
	s := open(t)
	var many strings.Builder
	for i := range 25 {
		fmt.Fprintf(&many, "  t%02d: {plan: free}\n", i)
	}
	r := s.with("plans: {free: {}}\ntenants:\n"+many.String(), "apply", "-", "--dry-run")
	if !strings.Contains(r.out, "  + t19  plan: free\n  + 5 more\n") {
		t.Error(r.out)
	}
}

// between puts a handler before a server; it returns false for what is to go on to it.
func (s *shop) between(t *testing.T, answers func(w http.ResponseWriter, r *http.Request) bool) {
	t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	s.env = append([]string{"PENSTOCK_URL=" + front.URL}, s.env[1:]...)
}

// Somebody else is faster, between what is read and what is written.
func TestConflicts(t *testing.T) {
	s := open(t)
	direct := s.env
	plans := []string{"pro", "free"}
	var n atomic.Int64
	s.between(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			if r := finish(t, process(t, direct, "tenants", "set", "globex", "--plan", plans[n.Add(1)%2])); r.code != 0 {
				t.Error(r)
			}
		}
		return false
	})
	s.fails(exitConflict, "Somebody changed tenants/globex meanwhile, and nothing was done", "tenants", "set", "globex", "--limit", "name: a, algorithm: token_bucket, quota: 1, period: 1s")
	s.with(changedConfig, "apply", "-", "--yes").want(t, exitConflict, "Somebody changed the configuration meanwhile, and nothing was applied")
	s.env = direct
	s.prints("tenants/globex: unchanged\n", "tenants", "set", "globex", "--plan", plans[n.Load()%2])
}

func TestAServerThatIsBusyIsAskedOnceMore(t *testing.T) {
	s := open(t)
	var n atomic.Int64
	busy := func(times int64) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if n.Add(1) > times {
				return false
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", "1")
			w.Header().Set("X-Request-Id", "r1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"title":"Service Unavailable","status":503,"detail":"The table cannot be asked at the moment."}`))
			return true
		}
	}
	direct := s.env
	s.between(t, busy(1))
	s.ok("plans", "list")
	n.Store(0)
	s.env = direct
	s.between(t, busy(2))
	s.fails(exitFailed, "The table cannot be asked at the moment. (request r1)", "plans", "list")
	n.Store(0)
	s.fails(exitFailed, "The table cannot be asked", "keys", "create") // not repeated: it may have been made
	if n.Load() != 1 {
		t.Errorf("%d requests", n.Load())
	}
}

func TestSomethingElseAnswers(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = bytes.NewBufferString("<html>").WriteTo(w)
	}))
	defer web.Close()
	s := &shop{t: t, env: []string{"PENSTOCK_URL=" + web.URL}}
	s.fails(exitFailed, web.URL+" is not Penstock: it answered 200 and no JSON", "tenants", "list")
	s.fails(exitFailed, "is not Penstock", "check", "acme", "GET /")
}

// A server with members that this command does not know is not robbed of them.
func TestWhatIsNotKnownIsNotLost(t *testing.T) {
	newer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"name":"acme","plan":"free","limits":[{"name":"a","colour":"red"}],"revision":1}`))
	}))
	defer newer.Close()
	s := &shop{t: t, env: []string{"PENSTOCK_URL=" + newer.URL}}
	s.fails(exitFailed, `unknown field "colour"): use the version of the server`, "tenants", "set", "acme", "--plan", "pro")
	s.ok("tenants", "get", "acme")
}
