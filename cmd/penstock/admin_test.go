package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestFromNothingToTheFirstRefusal(t *testing.T) {
	s := open(t, "{}")
	s.prints("plans/trial: created\n", "plans", "set", "trial", "--limit", "name: requests, algorithm: token_bucket, quota: 2, period: minute")
	s.prints("tenants/newco: created\n", "tenants", "set", "newco", "--plan", "trial")
	s.prints("allowed: 1 left of requests\n", "check", "newco", "GET /")
	s.prints("allowed: 0 left of requests\n", "check", "newco", "GET /")
	if r := s.run("check", "newco", "GET /"); r.code != exitRefused || !strings.HasPrefix(r.out, "refused by requests (quota), again in ") {
		t.Errorf("%+v", r)
	}
}

func TestTenants(t *testing.T) {
	s := open(t)
	s.prints(`TENANT  PLAN  OWN LIMITS
acme    free  daily 2000 per day
globex  pro
`, "tenants", "list")
	s.prints("TENANT  PLAN  OWN LIMITS\nglobex  pro\n", "tenants", "ls", "--plan", "pro")
	if r := s.run("tenants", "list", "--prefix", "z"); r != (result{0, "", "There are none.\n"}) {
		t.Errorf("%+v", r)
	}
	if r := s.run("tenants", "list", "--limit", "1"); r.stderr != "There are more than these 1: --limit 0 prints all.\n" || strings.Contains(r.out, "globex") {
		t.Errorf("%+v", r)
	}
	s.prints(`plan: free
limits:
  - name: daily
    algorithm: token_bucket
    quota: 2000
    period: day
`, "tenants", "get", "acme")
	s.prints(`{"name":"globex","plan":"pro","revision":VERSION}`+"\n", "tenants", "get", "globex", "--json")

	s.prints("tenants/acme: changed\n", "tenants", "set", "acme", "--plan", "pro")
	s.prints("tenants/acme: unchanged\n", "tenants", "set", "acme", "--plan", "pro")
	s.prints("tenants/acme: changed\n", "tenants", "set", "acme", "--limit", "name: daily, algorithm: token_bucket, quota: 7, period: day",
		"--limit", "name: hourly, algorithm: token_bucket, quota: 3, period: hour")
	s.prints("TENANT  PLAN  OWN LIMITS\nacme    pro   daily 7 per day; hourly 3 per hour\n", "tenants", "list", "--search", "cm")
	s.prints("tenants/acme: changed\n", "tenants", "set", "acme", "--remove-limit", "hourly")
	got := s.ok("tenants", "get", "acme")
	if r := s.with(strings.ReplaceAll(got, "quota: 7", "quota: 8"), "tenants", "set", "acme", "-"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	s.prints("TENANT  PLAN  OWN LIMITS\nacme    pro   daily 8 per day\n", "tenants", "list", "--prefix", "a")

	s.fails(exitUsage, "This deletes tenant acme, and revokes its keys: add --yes", "tenants", "delete", "acme")
	s.prints("tenants/acme: deleted\n", "tenants", "delete", "acme", "--yes")
	s.prints("tenants/acme: was not there\n", "tenants", "delete", "acme")
}

func TestListsOfManyPages(t *testing.T) {
	var many strings.Builder
	for i := range 2100 {
		fmt.Fprintf(&many, "  t%04d: {plan: free}\n", i)
	}
	s := open(t, "plans: {free: {}}\ntenants:\n"+many.String())
	for limit, want := range map[string]int{"0": 2100, "1500": 1500, "2100": 2100, "5000": 2100} {
		if lines := strings.Count(s.ok("tenants", "list", "--limit", limit), "\n"); lines != want+1 {
			t.Errorf("--limit %s: %d lines", limit, lines)
		}
	}
	var list struct {
		Items  []struct{ Name string }
		Cursor string
	}
	if err := json.Unmarshal([]byte(s.ok("tenants", "list", "--limit", "1001", "--json")), &list); err != nil || len(list.Items) != 1001 || list.Items[1000].Name != "t1000" || list.Cursor == "" {
		t.Errorf("%v, %d items, then %q", err, len(list.Items), list.Cursor)
	}
}

func TestPlans(t *testing.T) {
	s := open(t, "plans: {free: {limits: [{name: a, algorithm: token_bucket, quota: 1, period: 1s}]}}\ntenants: {acme: {plan: free}}")
	s.prints("PLAN  LIMITS\nfree  1       a 1 per 1s\n", "plans", "list")
	s.prints("plans/free: changed\n", "plans", "set", "free", "--limit", `name: b, match: {resource: "GET /*", attributes: {ip: "*"}}, by: [subject, resource], algorithm: token_bucket, quota: 1, period: 1s, mode: shadow`)
	s.prints("PLAN  LIMITS\nfree  2       a 1 per 1s; b 1 per 1s by subject+resource of GET /* with ip=* (shadow)\n", "plans", "list")
	s.prints("none: tenants that are not known by name are refused\n", "plans", "default")
	s.prints("free\n", "plans", "default", "free")
	s.prints(`{"default_plan":"free"}`+"\n", "plans", "default", "--json")
	s.prints("none: tenants that are not known by name are refused\n", "plans", "default", "--none")
	s.fails(exitConflict, "Plan free is in use", "plans", "delete", "free", "--yes")
	s.fails(exitNotFound, `There is no plan "pro"`, "plans", "get", "pro")
	copied := s.with(s.ok("plans", "get", "free"), "plans", "set", "copy", "-")
	copied.want(t, 0, "")
	s.prints("plans/copy: deleted\n", "plans", "delete", "copy", "--yes")
}

func TestKeys(t *testing.T) {
	s := open(t)
	key := strings.TrimSpace(s.ok("keys", "create", "--tenant", "acme", "--name", "ci", "--expires-in", "720h"))
	id := strings.Split(key, "_")[1]
	if got := s.ok("keys", "list", "--tenant", "acme"); !strings.Contains(got, id+"  ci    check:own  active") || strings.Contains(got, key) {
		t.Errorf("lists\n%s", got)
	}
	next := strings.TrimSpace(s.ok("keys", "rotate", id, "--tenant", "acme", "--grace", "0"))
	s.fails(exitConflict, "This key is", "keys", "rotate", id, "--tenant", "acme")
	nextID := strings.Split(next, "_")[1]
	s.fails(exitNotFound, "of a tenant's key say --tenant", "keys", "revoke", nextID, "--yes")
	s.fails(exitUsage, "This ends key "+nextID+" ci: add --yes", "keys", "revoke", nextID, "--tenant", "acme")
	s.prints("key "+nextID+": revoked\n", "keys", "revoke", nextID, "--tenant", "acme", "--yes")
	s.prints("key "+nextID+": was revoked before\n", "keys", "revoke", nextID, "--tenant", "acme")

	administrator := strings.TrimSpace(s.ok("keys", "create", "--scope", "admin"))
	s.ok("tenants", "list", "--key", administrator)
	s.fails(exitFailed, "scopes[0]: must be check:own", "keys", "create", "--tenant", "acme", "--scope", "admin")
	s.fails(exitUsage, "--expires-in must not be negative", "keys", "create", "--expires-in", "-1s")
}

func TestAuditSaysWhatChanged(t *testing.T) {
	s := open(t)
	s.ok("tenants", "set", "acme", "--plan", "pro")
	s.ok("tenants", "delete", "globex", "--yes")
	s.prints(`AT                    WHO        ACTION   OBJECT          CHANGE
TIME  bootstrap  delete   tenants/globex
TIME  bootstrap  replace  tenants/acme    plan: free → pro
`, "audit", "--limit", "2")
	if got := s.ok("audit", "--tenant", "acme"); strings.Contains(got, "globex") {
		t.Errorf("lists\n%s", got)
	}
}

func TestOfWhoHasNoKey(t *testing.T) {
	s := open(t)
	s.ok("tenants", "list", "--url", s.url+"/admin/v1/") // as the template puts it out
	service := strings.TrimSpace(s.ok("keys", "create"))
	s.env = s.env[:1]
	s.fails(exitFailed, "No key was sent: give --key, or set PENSTOCK_ADMIN_KEY.", "tenants", "list")
	s.fails(exitFailed, "The key in --key is none that this server knows", "plans", "list", "--key", "wrong")
	s.env = append(s.env, "PENSTOCK_KEY="+service)
	s.fails(exitFailed, "The key in PENSTOCK_KEY is not enough: it must be one with the scope admin", "audit")
}

func TestWhatIsWrongOnTheCommandLine(t *testing.T) {
	s := open(t)
	for says, args := range map[string][]string{
		"usage: penstock tenants get NAME":                                 {"tenants", "get"},
		"usage: penstock usage TENANT":                                     {"usage", "a", "b"},
		`penstock has no "tenant" (did you mean tenants?)`:                 {"tenant", "list"},
		`penstock has no "zzzzzzzz" (penstock --help says what it has)`:    {"zzzzzzzz"},
		`penstock tenants has no "lst" (did you mean list or get or set?)`: {"tenants", "lst"},
		"say what it is to be":                                             {"tenants", "set", "acme"},
		"say what it is to be: either a FILE, or --limit":                  {"plans", "set", "a", "-", "--limit", "name: a"},
		"--limit must not be negative":                                     {"audit", "--limit", "-1"},
		"is no address: write it as":                                       {"plans", "list", "--url", "127.0.0.1:8080"},
		`limits[0].qouta: is unknown: remove it; there are`:                {"plans", "set", "a", "--limit", "name: a, qouta: 1"},
		"--remove-limit none: there is no such limit":                      {"tenants", "set", "acme", "--remove-limit", "none"},
		"say either a NAME or --none":                                      {"plans", "default", "free", "--none"},
		"unknown flag: --nme (penstock keys create --help says more)":      {"keys", "create", "--nme"},
	} {
		s.fails(exitUsage, says, args...)
	}
	s.fails(exitFailed, "limits[0].quota: ", "plans", "set", "a", "--limit", "name: a, algorithm: token_bucket, quota: 0, period: 1s")
	s.fails(exitFailed, "plan: ", "tenants", "set", "new", "--plan", "none")
	s.with("limits:\n  - name: a\n    qouta: 1\n", "plans", "set", "a", "-").want(t, exitFailed, "-:3: limits[0].qouta: is unknown")
	s.fails(exitNotFound, "The tenant has no plan", "check", "nobody", "GET /")
	if out := s.ok("help", "exit-codes"); !strings.Contains(out, "  4  apply --dry-run: there are changes") {
		t.Error(out)
	}
}

func TestServerIsDown(t *testing.T) {
	s := &shop{t: t, env: []string{"PENSTOCK_URL=http://127.0.0.1:1"}}
	for _, args := range [][]string{{"tenants", "list"}, {"check", "acme", "GET /"}, {"settle", "x", "--cost", "1"}, {"export"}} {
		s.fails(exitFailed, "http://127.0.0.1:1 cannot be reached: dial tcp 127.0.0.1:1: connect: connection refused (is penstock serve running? --url says where)", args...)
	}
}

func TestCompletionsComeFromTheServer(t *testing.T) {
	s := open(t)
	for want, args := range map[string][]string{
		"acme\n:4\n":         {"tenants", "get", "a"},
		"acme\nglobex\n:4\n": {"check", ""},
		"free\npro\n:4\n":    {"tenants", "set", "acme", "--plan", ""},
		"pro\n:4\n":          {"plans", "delete", "p"},
		":4\n":               {"plans", "get", "free", ""},
	} {
		s.prints(want, append([]string{"__complete"}, args...)...)
	}
	s.env = []string{"PENSTOCK_URL=http://127.0.0.1:1"}
	s.prints(":4\n", "__complete", "tenants", "get", "")
}

const bucketAndLog = `plans:
  free:
    limits:
      - {name: per-user, by: [subject], algorithm: token_bucket, quota: 2, period: hour}
      - {name: daily, algorithm: fixed_window, quota: 10, period: day}
      - {name: exports, match: {resource: "POST /exports*"}, by: [attributes.ip], algorithm: sliding_window_log, quota: 5, period: hour}
tenants: {acme: {plan: free}}
`

func TestUsageExplainAndReset(t *testing.T) {
	s := open(t, bucketAndLog)
	for range 3 {
		s.run("check", "acme", "GET /", "--subject", "user:42")
	}
	s.prints(`tenant acme, plan free, TIME
LIMIT  USED  LEFT  OF  WHOLE IN  FROM
daily  2  8  10  DURATION  plan
per-user counts by subject: name whose with --subject
exports counts by attributes.ip: name whose with --attribute ip=…
`, "usage", "acme")
	s.prints(`tenant acme, plan free, TIME
LIMIT  USED  LEFT  OF  WHOLE IN  FROM
per-user  2  0  2  DURATION  plan  full, again in DURATION
daily  2  8  10  DURATION  plan
exports  0  5  5  0s  plan
`, "usage", "acme", "--subject", "user:42", "--attribute", "ip=1.2.3.4")
	s.prints(`GET / by user:42: refused by per-user, passes in DURATION.
Tenant acme has plan free (version VERSION of the configuration).

per-user: token_bucket, 2 per DURATION, by subject
  from the plan; apply by SOMEBODY at TIME
  2 of 2 used: 1 too few, passes in DURATION

daily: fixed_window, 10 per DURATION
  from the plan; apply by SOMEBODY at TIME
  2 of 10 used: passes

exports: sliding_window_log, 5 per DURATION, by attributes.ip
  from the plan; apply by SOMEBODY at TIME
  does not match: resource "GET /" does not match "POST /exports*"
`, "explain", "acme", "GET /", "--subject", "user:42")
	if got := s.ok("explain", "acme", "GET /", "--json"); !strings.Contains(got, `"allowed":true`) {
		t.Error(got)
	}
	if got := s.ok("usage", "acme", "--json"); !strings.HasPrefix(got, `{"tenant":"acme","plan":"free"`) {
		t.Error(got)
	}

	s.fails(exitUsage, "This resets counts of tenant acme: add --yes", "reset", "acme", "--subject", "user:42")
	s.prints("reset: per-user; every instance knows within 10s\n", "reset", "acme", "--subject", "user:42", "--yes")
	s.prints("allowed: 1 left of per-user\n", "check", "acme", "GET /", "--subject", "user:42")
	s.prints("reset: daily; every instance knows within 10s\n", "reset", "acme", "--limit", "daily", "--yes")
	s.prints("reset: per-user, daily, exports; every instance knows within 30s\n", "reset", "acme", "--yes")
	s.fails(exitFailed, "limit: is none that this tenant has", "reset", "acme", "--limit", "none", "--yes")
	s.fails(exitNotFound, "", "usage", "nobody")
	s.fails(exitNotFound, "", "explain", "nobody", "GET /")
}
