package httpapi

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/receipt"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// A door is a handler with a decider and plans that do as they are told, and tell
// what they were asked.
type door struct {
	t        *testing.T
	handler  http.Handler
	log      *bytes.Buffer
	decision engine.Decision
	err      error // of the decider
	noPlan   error // of the plans
	rules    []*quota.Rule
	calls    []engine.Call
	requests []quota.Request
	panics   any
	revision int64 // of the plans; the decider has seen newest
	newest   int64
	outdated []int64 // what the plans were told
	refresh  int64   // what they find then; 0: nothing

	settled     engine.Settled
	settlements []engine.Settlement
	unsettled   error // of the decider
	lookups     []string
	lookupFails error // of the plans
}

// newDoor opens a door: open, unless options say otherwise.
func newDoor(t *testing.T, change ...func(*Options)) *door {
	t.Helper()
	d := &door{t: t, log: new(bytes.Buffer), decision: engine.Decision{Allowed: true, Deciding: -1, Source: engine.Store}}
	o := Options{
		Decider: d, Plans: d, Auth: AuthOpen, Receipts: receipts,
		Logger: slog.New(slog.NewJSONHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&o)
	}
	d.handler = conforming(t, New(o))
	return d
}

func (d *door) Decide(_ context.Context, call engine.Call) (engine.Decision, error) {
	d.calls = append(d.calls, call)
	if d.panics != nil {
		panic(d.panics)
	}
	if !call.AnyRevision && d.revision < d.newest {
		return engine.Decision{}, engine.ErrOutdated
	}
	if d.decision.At.IsZero() {
		d.decision.At = noon
	}
	decision := d.decision
	if decision.Allowed && decision.Granted == 0 {
		decision.Granted = call.Least // no lease grants less
	}
	return decision, d.err
}

func (d *door) Match(_ context.Context, r quota.Request) ([]quota.Item, error) {
	d.requests = append(d.requests, r)
	return []quota.Item{{Key: r.Tenant, Rules: d.rules, Revision: d.revision}}, d.noPlan
}

func (d *door) Outdated(revision int64) {
	d.outdated = append(d.outdated, revision)
	d.revision = max(d.revision, d.refresh)
}

func (d *door) Settle(_ context.Context, s engine.Settlement) (engine.Settled, error) {
	d.settlements = append(d.settlements, s)
	if d.settled == (engine.Settled{}) {
		return engine.Settled{Cost: s.Cost}, d.unsettled
	}
	return d.settled, d.unsettled
}

func (d *door) Item(_ context.Context, tenant, key string) (quota.Item, error) {
	d.lookups = append(d.lookups, tenant+" "+key)
	return quota.Item{Key: key, Rules: d.rules}, d.lookupFails
}

// An answer as a caller sees it.
type answer struct {
	t *testing.T
	*http.Response
	body    string
	members map[string]any
}

// send makes a request and reads the answer.
func (d *door) send(r *http.Request) answer {
	d.t.Helper()
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	a := answer{t: d.t, Response: w.Result(), body: w.Body.String()}
	if err := json.Unmarshal([]byte(a.body), &a.members); err != nil {
		d.t.Errorf("the body is not a JSON object: %v: %s", err, a.body)
	}
	if got := a.Header.Get("Cache-Control"); got != "no-store" {
		d.t.Errorf("Cache-Control is %q", got)
	}
	for name := range a.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			d.t.Errorf("the answer has %s", name)
		}
	}
	return a
}

// post sends a body to a path, as JSON unless a header ("Name: value") says otherwise.
func (d *door) post(path, body string, header ...string) answer {
	d.t.Helper()
	return d.send(post(path, body, header...))
}

func post(path, body string, header ...string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), "POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

// check sends a check of acme's.
func (d *door) check(header ...string) answer {
	d.t.Helper()
	return d.post("/v1/check", `{"tenant":"acme","resource":"GET /search"}`, header...)
}

func (a answer) has(status int, typ string) {
	a.t.Helper()
	if a.StatusCode != status {
		a.t.Errorf("status is %d, want %d: %s", a.StatusCode, status, a.body)
	}
	switch got := a.Header.Get("Content-Type"); {
	case typ == "" && got != "application/json":
		a.t.Errorf("Content-Type is %q", got)
	case typ == "":
	case got != "application/problem+json":
		a.t.Errorf("Content-Type of a problem is %q", got)
	default:
		isProblem(a.t, a.members, status, typ)
	}
}

// isProblem checks the members that RFC 9457 has of a problem.
func isProblem(t *testing.T, members map[string]any, status int, typ string) {
	t.Helper()
	if members["type"] != typ || members["status"] != float64(status) {
		t.Errorf("problem is of type %v and status %v, want %s and %d", members["type"], members["status"], typ, status)
	}
	if s, _ := members["title"].(string); s == "" {
		t.Error("problem has no title")
	}
	if s, _ := members["detail"].(string); !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "…") {
		t.Errorf("detail is not a sentence: %q", s)
	}
}

// faulty returns the names of the members an answer complains of.
func faulty(members map[string]any) (names []string) {
	list, _ := members["errors"].([]any)
	for _, e := range list {
		f := e.(map[string]any)
		names = append(names, f["member"].(string))
		if s, _ := f["detail"].(string); s == "" {
			names = append(names, "(no detail)")
		}
	}
	slices.Sort(names)
	return names
}

// rule makes a rule of a plan.
func rule(t testing.TB, name string, p limit.Policy) *quota.Rule {
	t.Helper()
	l, err := limit.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return &quota.Rule{Name: name, ID: name + "." + l.Code(), Limit: l}
}

func perUser(t testing.TB) *quota.Rule {
	return rule(t, "per-user", limit.Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second, Burst: 20})
}

func perDay(t testing.TB) *quota.Rule {
	return rule(t, "per-day", limit.Policy{Algorithm: "sliding_window_log", Quota: 1000, Period: 24 * time.Hour})
}

// lets is the verdict of a limit that lets a call pass.
func lets(r *quota.Rule, remaining int64, reset time.Duration) engine.Verdict {
	return engine.Verdict{Rule: r, Allowed: true, Standing: limit.Standing{Remaining: remaining, ResetAfter: reset}}
}

// refuses is the verdict of a limit that does not.
func refuses(r *quota.Rule, remaining int64, retry, reset time.Duration) engine.Verdict {
	return engine.Verdict{Rule: r, Standing: limit.Standing{Remaining: remaining, RetryAfter: retry, ResetAfter: reset}}
}

// allowed is a decision for a call; the first verdict decided.
func allowed(verdicts ...engine.Verdict) engine.Decision {
	return engine.Decision{Allowed: true, Verdicts: verdicts, Source: engine.Store}
}

// refused is a decision against a call; the first verdict decided.
func refused(verdicts ...engine.Verdict) engine.Decision {
	return engine.Decision{Verdicts: verdicts, Source: engine.Store, Reason: engine.QuotaUsed, RetryAfter: verdicts[0].RetryAfter}
}

// secret is what the keys of the tests are signed with.
var secret = []byte("a secret for the tests, 32 bytes")

// receipts are those of the tests.
var receipts = receipt.New(secret)

// A keyring has keys and their verifier.
type keyring struct {
	verifier *apikey.Verifier
	source   *keySource
}

type keySource struct {
	apikey.Static
	down error
}

func (s *keySource) Key(ctx context.Context, id string) (apikey.Record, bool, error) {
	if s.down != nil {
		return apikey.Record{}, false, s.down
	}
	return s.Static.Key(ctx, id)
}

func newKeyring() *keyring {
	source := &keySource{Static: apikey.Static{}}
	clock := func() time.Time { return noon }
	return &keyring{apikey.NewVerifier(secret, source, apikey.VerifierOptions{Now: clock}), source}
}

// mint makes a key that is in force.
func (k *keyring) mint(tenant string, scopes ...apikey.Scope) string {
	return k.keep(apikey.Options{Tenant: tenant, Scopes: scopes, Now: noon})
}

func (k *keyring) keep(o apikey.Options) string {
	key, r := apikey.Mint(secret, o)
	k.source.Static[r.ID] = r
	return key
}

func (k *keyring) revoked() string {
	key, r := apikey.Mint(secret, apikey.Options{Scopes: []apikey.Scope{apikey.CheckAny}, Now: noon})
	r.RevokedAt = noon
	k.source.Static[r.ID] = r
	return key
}
