package httpapi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
)

// script is a decider and plans by tenant, for batches.
type script struct {
	decisions map[string]engine.Decision
	errs      map[string]error
	asked     []string
	now       string
}

func (s *script) Match(_ context.Context, r quota.Request) ([]quota.Item, error) {
	s.now = r.Tenant
	if r.Tenant == "nobody" {
		return nil, quota.ErrUnknownTenant
	}
	return nil, nil
}

func (*script) Settle(context.Context, engine.Settlement) (engine.Settled, error) {
	return engine.Settled{}, nil
}

func (*script) Item(context.Context, string, string) (quota.Item, error) { return quota.Item{}, nil }

func (*script) Outdated(int64) {}

func (s *script) Decide(context.Context, engine.Call) (engine.Decision, error) {
	s.asked = append(s.asked, s.now)
	return s.decisions[s.now], s.errs[s.now]
}

// results returns the entries of a batch's answer.
func results(t *testing.T, a answer) (entries []map[string]any) {
	t.Helper()
	list, ok := a.members["results"].([]any)
	if !ok {
		t.Fatalf("no results: %s", a.body)
	}
	for _, e := range list {
		entries = append(entries, e.(map[string]any))
	}
	return entries
}

func TestBatchAnswersEachCheckInOrder(t *testing.T) {
	user := perUser(t)
	down := refused(refuses(user, 0, time.Second, 0))
	down.Reason = engine.StoreError
	s := &script{
		decisions: map[string]engine.Decision{
			"acme":    allowed(lets(user, 19, 100*time.Millisecond)),
			"globex":  refused(refuses(user, 0, 100*time.Millisecond, 2*time.Second)),
			"initech": down,
		},
		errs: map[string]error{"gone": context.Canceled, "broken": errors.New("plans away")},
	}
	d := newDoor(t, func(o *Options) { o.Decider, o.Plans = s, s })
	a := d.post("/v1/checks", `{"checks":[
		{"tenant":"acme","resource":"r"},
		{"tenant":"globex","resource":"r"},
		{"tenant":"acme"},
		7,
		{"tenant":"nobody","resource":"r"},
		{"tenant":"initech","resource":"r"},
		{"tenant":"gone","resource":"r"},
		{"tenant":"broken","resource":"r"},
		{"tenant":"globex","resource":"r","cost":0},
		{"tenant":"acme","resource":"r"}]}`)
	a.has(200, "")
	want := []struct {
		status  float64
		typ     string
		allowed any
		named   []string
	}{
		{200, "", true, nil},
		{429, quotaExceeded.uri, false, nil},
		{400, invalid, nil, []string{"resource"}},
		{400, invalid, nil, []string{""}},
		{404, unknownTenant.uri, nil, nil},
		{503, reducedCapacity.uri, false, nil},
		{503, notAvailable, nil, nil},
		{503, notAvailable, nil, nil},
		{200, "", false, nil},
		{200, "", true, nil},
	}
	got := results(t, a)
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d: %s", len(got), len(want), a.body)
	}
	for i, w := range want {
		e := got[i]
		if e["status"] != w.status || e["allowed"] != w.allowed || !slices.Equal(faulty(e), w.named) {
			t.Errorf("result %d is %v, want %+v", i, e, w)
		}
		if w.typ != "" {
			isProblem(t, e, int(w.status), w.typ)
		}
	}
	if order := strings.Join(s.asked, " "); order != "acme globex initech gone broken globex acme" {
		t.Errorf("decided in the order %s", order)
	}
	for name := range a.Header {
		if strings.Contains(name, "Ratelimit") || name == "Retry-After" {
			t.Errorf("a batch has %s", name)
		}
	}
}

// A result has the members that the answer to the check alone would have.
func TestResultsHaveTheMembersOfTheAnswer(t *testing.T) {
	for name, decision := range map[string]engine.Decision{
		"allowed": allowed(lets(perUser(t), 19, 0)),
		"refused": refused(refuses(perUser(t), 0, time.Second, 2*time.Second)),
	} {
		d := newDoor(t)
		d.decision = decision
		alone := strings.TrimSpace(d.check().body)
		if name == "allowed" {
			alone = `{"status":200,` + alone[1:]
		}
		got := d.post("/v1/checks", `{"checks":[{"tenant":"acme","resource":"GET /search"}]}`).body
		if want := `{"results":[` + alone + `]}` + "\n"; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestBadBatchesGetNoDecision(t *testing.T) {
	const good = `{"tenant":"acme","resource":"r"}`
	for _, c := range []struct {
		name, body string
		members    []string
	}{
		{"empty body", ``, nil},
		{"array", `[` + good + `]`, []string{""}},
		{"null", `null`, []string{""}},
		{"a check", good, []string{"checks", "resource", "tenant"}},
		{"no checks", `{}`, []string{"checks"}},
		{"checks null", `{"checks":null}`, []string{"checks"}},
		{"checks an object", `{"checks":` + good + `}`, []string{"checks"}},
		{"none", `{"checks":[]}`, []string{"checks"}},
		{"26", `{"checks":[` + strings.Repeat(good+",", 25) + good + `]}`, []string{"checks"}},
		{"10,000 beyond", `{"checks":[` + strings.Repeat("1,", 10_000) + `1]}`, []string{"checks"}},
		{"unknown member", `{"checks":[` + good + `],"atomic":true}`, []string{"atomic"}},
		{"checks twice", `{"checks":[` + good + `],"checks":[]}`, []string{"checks"}},
		{"something follows", `{"checks":[` + good + `]} 1`, nil},
		{"cut short", `{"checks":[` + good, nil},
		{"cut short after a comma", `{"checks":[` + good + `,`, nil},
		{"comma at the end", `{"checks":[` + good + `,]}`, []string{"checks"}},
		{"no comma", `{"checks":[` + good + good + `]}`, []string{"checks"}},
		{"member of a check twice", `{"checks":[` + good + `,{"tenant":"acme","tenant":"acme"}]}`, []string{"checks[1].tenant"}},
		{"bad UTF-8 in a check", `{"checks":[` + good + `,{"resource":"` + "\xff" + `"}]}`, []string{"checks[1].resource"}},
		{"bad attribute in a check", `{"checks":[{"attributes":{"ip":tru}}]}`, []string{"checks[0].attributes.ip"}},
		{"deep", `{"checks":[` + strings.Repeat("[", 100_000), []string{"checks[0].0.0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDoor(t)
			a := d.post("/v1/checks", c.body)
			a.has(400, invalid)
			if got := faulty(a.members); !slices.Equal(got, c.members) {
				t.Errorf("named %q, want %q: %s", got, c.members, a.body)
			}
			if len(d.calls) > 0 {
				t.Error("some of it was decided")
			}
		})
	}
}

func TestBatchOfTwentyFive(t *testing.T) {
	d := newDoor(t)
	a := d.post("/v1/checks", `{"checks":[`+strings.Repeat(`{"tenant":"acme","resource":"r"},`, 24)+`{"tenant":"acme","resource":"r"}]}`)
	a.has(200, "")
	if n := len(results(t, a)); n != 25 || len(d.calls) != 25 {
		t.Errorf("%d results of %d decisions", n, len(d.calls))
	}
}

func TestFaultsOfOneCheckStayItsOwn(t *testing.T) {
	d := newDoor(t)
	a := d.post("/v1/checks", `{"checks":[{"cost":-1},{"tenant":"acme","resource":"r"},{"x":1}]}`)
	var got [][]string
	for _, e := range results(t, a) {
		got = append(got, faulty(e))
	}
	want := [][]string{{"cost", "resource", "tenant"}, nil, {"resource", "tenant", "x"}}
	if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("named %q, want %q", got, want)
	}
}

func TestBatchOfATenantIsForItself(t *testing.T) {
	keys := newKeyring()
	d := newDoor(t, func(o *Options) { o.Auth, o.Verifier = AuthKeys, keys.verifier })
	a := d.post("/v1/checks", `{"checks":[{"resource":"r"},{"tenant":"globex","resource":"r"},{"tenant":"acme","resource":"r"}]}`,
		"Authorization: Bearer "+keys.mint("acme", apikey.CheckOwn))
	got := results(t, a)
	if got[0]["status"] != 200.0 || got[0]["tenant"] != "acme" || got[2]["status"] != 200.0 {
		t.Errorf("its own checks: %v, %v", got[0], got[2])
	}
	isProblem(t, got[1], 403, notAllowed)
	d.post("/v1/checks", `{"checks":[]}`).has(401, notKnown)
}
