package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/memory"
)

// The plans of the tests over the real engine.
const realPlans = `
plans:
  free:
    limits:
      - {name: per-user, by: [subject], algorithm: token_bucket, quota: 10, period: 1s, burst: 20}
      - {name: daily, algorithm: token_bucket, quota: 1000, period: day}
      - {name: exports, match: {resource: "POST /exports*"}, algorithm: sliding_window_log, quota: 2, period: minute, on_store_error: deny}
  open:
    limits: []
  trial:
    limits:
      - {name: candidate, mode: shadow, by: [subject], algorithm: token_bucket, quota: 1, period: minute}
      - {name: per-user, by: [subject], algorithm: token_bucket, quota: 2, period: minute}
tenants:
  umbrella: {plan: trial}
  acme: {plan: free}
  hooli: {plan: open}
`

func snapshot(t testing.TB, yaml string) Plans {
	t.Helper()
	config, err := quota.ParseYAML([]byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	s, err := config.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return quota.NewStatic(s)
}

// A house is a handler over the engine, real plans and a store, at a time of its own.
type house struct {
	*door
	now time.Time
}

func newHouse(t *testing.T, s store.Store, change ...func(*Options)) *house {
	h := &house{now: noon}
	clock := func() time.Time { return h.now }
	if s == nil {
		s = memory.New(memory.WithClock(clock))
	}
	h.door = newDoor(t, append([]func(*Options){func(o *Options) {
		o.Decider, o.Plans = engine.New(s, engine.Options{Now: clock}), snapshot(t, realPlans)
	}}, change...)...)
	return h
}

func (h *house) at(since time.Duration) { h.now = noon.Add(since) }

// gets sends a check and expects a status, the limit that decided and what it leaves.
func (h *house) gets(body string, status int, name string, remaining float64) answer {
	h.t.Helper()
	a := h.post("/v1/check", body)
	if a.StatusCode != status || a.members["limit"] != name || a.members["remaining"] != remaining {
		h.t.Errorf("at %s: status %d, limit %v, remaining %v; want %d, %s, %v: %s",
			h.now.Sub(noon), a.StatusCode, a.members["limit"], a.members["remaining"], status, name, remaining, a.body)
	}
	return a
}

func TestBucketOverTime(t *testing.T) {
	h := newHouse(t, nil)
	const alice = `{"tenant":"acme","resource":"GET /search","subject":"alice"}`
	const bob = `{"tenant":"acme","resource":"GET /search","subject":"bob"}`
	for left := 19.0; left >= 0; left-- {
		h.gets(alice, 200, "per-user", left)
	}
	a := h.gets(alice, 429, "per-user", 0)
	a.has(429, quotaExceeded.uri)
	if a.members["retry_after_ms"] != 100.0 || a.Header.Get("Retry-After") != "1" || a.Header.Get("RateLimit") != `"per-user";r=0;t=1` {
		t.Errorf("refused with %s", wire(a))
	}
	h.gets(bob, 200, "per-user", 19)
	h.at(99 * time.Millisecond)
	h.gets(alice, 429, "per-user", 0)
	h.at(100 * time.Millisecond)
	h.gets(alice, 200, "per-user", 0)
	h.gets(alice, 429, "per-user", 0)
}

func TestRepeatedRequestIsAnsweredAndNotCharged(t *testing.T) {
	h := newHouse(t, nil)
	const call = `{"tenant":"acme","resource":"POST /exports","subject":"alice","request_id":"4f1c"}`
	for i, repeat := range []bool{false, true, true} {
		a := h.gets(call, 200, "exports", 1)
		if a.members["repeat"] != repeat || a.members["allowed"] != true {
			t.Errorf("call %d: %s", i, a.body)
		}
	}
	h.gets(`{"tenant":"acme","resource":"POST /exports","subject":"alice"}`, 200, "exports", 0)
	if a := h.gets(call, 200, "exports", 0); a.members["repeat"] != true { // though the limit is used up since
		t.Errorf("got %s", a.body)
	}
	h.gets(`{"tenant":"acme","resource":"POST /exports","subject":"alice","request_id":"4f1d"}`, 429, "exports", 0)
}

func TestShadowIsToldAndRefusesNobody(t *testing.T) {
	h := newHouse(t, nil)
	const call = `{"tenant":"umbrella","resource":"GET /search","subject":"alice"}`
	h.gets(call, 200, "per-user", 1)
	a := h.gets(call, 200, "per-user", 0)
	if !strings.Contains(a.body, `{"name":"candidate","algorithm":"token_bucket","mode":"shadow","quota":1,"period_ms":60000,"burst":1,"remaining":0,"retry_after_ms":60000,"reset_after_ms":60000,"allowed":false,"over":false}`) {
		t.Errorf("got %s", a.body)
	}
	a = h.gets(call, 429, "per-user", 0)
	if !strings.Contains(a.body, `"violated-policies":["per-user"]`) || a.Header.Get("RateLimit-Policy") != `"per-user";q=2;w=60` {
		t.Errorf("got %s", wire(a))
	}
}

func TestLookingChargesNothing(t *testing.T) {
	h := newHouse(t, nil)
	const look = `{"tenant":"acme","resource":"POST /exports","subject":"alice","cost":0}`
	const export = `{"tenant":"acme","resource":"POST /exports","subject":"alice"}`
	for range 3 {
		a := h.gets(look, 200, "per-user", 20)
		if a.members["allowed"] != true {
			t.Errorf("not allowed: %s", a.body)
		}
	}
	h.gets(export, 200, "exports", 1)
	h.gets(export, 200, "exports", 0)
	a := h.gets(look, 200, "exports", 0)
	if a.members["allowed"] != false || a.members["retry_after_ms"] != 60_000.0 {
		t.Errorf("looked at: %s", a.body)
	}
	h.gets(export, 429, "exports", 0)
}

func TestCostAboveWhatIsHeldIsNeverGiven(t *testing.T) {
	h := newHouse(t, nil)
	a := h.gets(`{"tenant":"acme","resource":"GET /search","subject":"alice","cost":21}`, 429, "per-user", 20)
	if a.members["never"] != true || a.Header.Get("Retry-After") != "" || a.Header.Get("X-RateLimit-Retry-After") != "" {
		t.Errorf("got %s", wire(a))
	}
	h.gets(`{"tenant":"acme","resource":"GET /search","subject":"alice","cost":20}`, 200, "per-user", 0)
}

func TestPlanWithoutLimitsLetsEverythingPass(t *testing.T) {
	h := newHouse(t, nil)
	a := h.gets(`{"tenant":"hooli","resource":"GET /search","cost":1000000}`, 200, "", 0)
	if a.Header.Get("RateLimit-Policy") != "" || a.members["allowed"] != true || len(a.members["limits"].([]any)) != 0 {
		t.Errorf("got %s", wire(a))
	}
}

func TestTenantWithoutAPlanIsUnknown(t *testing.T) {
	newHouse(t, nil).post("/v1/check", `{"tenant":"initech","resource":"GET /search"}`).has(404, unknownTenant.uri)
}

func TestBatchIsDecidedInOrder(t *testing.T) {
	h := newHouse(t, nil)
	const export = `{"tenant":"acme","resource":"POST /exports","subject":"alice"}`
	a := h.post("/v1/checks", `{"checks":[`+export+`,{"tenant":"initech","resource":"r"},`+export+`,`+export+`]}`)
	a.has(200, "")
	var got []float64
	for _, e := range results(t, a) {
		got = append(got, e["status"].(float64))
	}
	if want := []float64{200, 404, 200, 429}; len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
		t.Errorf("statuses are %v, want %v", got, want)
	}
}

func TestTenantsKeyChargesTheTenant(t *testing.T) {
	keys := newKeyring()
	h := newHouse(t, nil, func(o *Options) { o.Auth, o.Verifier = AuthKeys, keys.verifier })
	key := "Authorization: Bearer " + keys.mint("acme", apikey.CheckOwn)
	h.post("/v1/check", `{"resource":"POST /exports"}`, key).has(200, "")
	h.post("/v1/check", `{"tenant":"acme","resource":"POST /exports"}`, key).has(200, "")
	h.post("/v1/check", `{"resource":"POST /exports"}`, key).has(429, quotaExceeded.uri)
	h.post("/v1/check", `{"tenant":"hooli","resource":"POST /exports"}`, key).has(403, notAllowed)
}

// awayStore is a store that cannot be reached.
type awayStore struct{}

func (awayStore) Apply(context.Context, store.Write) (store.Result, error) {
	return store.Result{}, &store.Error{Reason: store.Unavailable, Err: errors.New("connection refused")}
}

func (awayStore) Read(context.Context, string, []string) ([]limit.State, error) {
	return nil, &store.Error{Reason: store.Unavailable, Err: errors.New("connection refused")}
}

func TestStoreThatIsAway(t *testing.T) {
	h := newHouse(t, awayStore{})
	a := h.post("/v1/check", `{"tenant":"acme","resource":"GET /search","subject":"alice"}`)
	a.has(200, "")
	if a.members["degraded"] != "local" || a.members["source"] != "local" {
		t.Errorf("got %s", a.body)
	}
	a = h.post("/v1/check", `{"tenant":"acme","resource":"POST /exports","subject":"alice"}`)
	a.has(503, reducedCapacity.uri)
	if a.members["reason"] != "store_error" || a.Header.Get("Retry-After") == "" {
		t.Errorf("got %s", wire(a))
	}
	h.post("/v1/check", `{"tenant":"acme","resource":"POST /exports","cost":0}`).has(200, "")
}

// A sink is a ResponseWriter that keeps no more than it must.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

// rewound is a body that can be read again.
type rewound struct{ strings.Reader }

func (*rewound) Close() error { return nil }

// BenchmarkCheck is a whole check without the network: JSON in, engine, memory store, JSON out.
func BenchmarkCheck(b *testing.B) {
	const plans = `
plans:
  plenty:
    limits:
      - {name: per-user, by: [subject], algorithm: token_bucket, quota: 1000, period: 1s, burst: 1000000000}
  both:
    limits:
      - {name: per-user, by: [subject], algorithm: token_bucket, quota: 1000, period: 1s, burst: 1000000000}
      - {name: per-day, by: [subject], algorithm: token_bucket, quota: 1000, period: 1s, burst: 2000000000}
  none-left:
    limits:
      - {name: per-user, by: [subject], algorithm: sliding_window_log, quota: 1, period: 24h}
tenants:
  acme: {plan: plenty}
  globex: {plan: both}
  initech: {plan: none-left}
`
	keys := newKeyring()
	key := "Bearer " + keys.mint("", apikey.CheckAny)
	for _, c := range []struct{ name, body, key string }{
		{"one-limit", `{"tenant":"acme","resource":"GET /search","subject":"user:42"}`, ""},
		{"one-limit-attributes", `{"tenant":"acme","resource":"GET /search","subject":"user:42","attributes":{"ip":"203.0.113.9"},"cost":1}`, ""},
		{"one-limit-key", `{"tenant":"acme","resource":"GET /search","subject":"user:42"}`, key},
		{"two-limits", `{"tenant":"globex","resource":"GET /search","subject":"user:42"}`, ""},
		{"refused", `{"tenant":"initech","resource":"GET /search","subject":"user:42"}`, ""},
		{"invalid", `{"tenant":"acme","resource":"GET /search","cost":-1}`, ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			handler := New(Options{Decider: engine.New(memory.New(), engine.Options{}), Plans: snapshot(b, plans), Auth: AuthOpen, Verifier: keys.verifier, Receipts: receipts})
			body := new(rewound)
			r := post("/v1/check", "")
			if c.key != "" {
				r.Header.Set("Authorization", c.key)
			}
			r.Body, r.ContentLength = body, int64(len(c.body))
			w := &sink{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				body.Reset(c.body)
				handler.ServeHTTP(w, r)
			}
			if want := map[string]int{"refused": 429, "invalid": 400}[c.name]; w.status != want && (want != 0 || w.status != 200) {
				b.Errorf("status is %d", w.status)
			}
		})
	}
}
