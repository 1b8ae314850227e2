package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/memory"
)

func item(t *testing.T, q int64) quota.Item {
	t.Helper()
	l, err := limit.New(limit.Policy{Algorithm: "token_bucket", Quota: q, Period: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	r := &quota.Rule{Name: "hourly", ID: "hourly.tb", Limit: l, Mode: quota.Enforce, OnStoreError: quota.Deny}
	return quota.Item{Key: "k", Rules: []*quota.Rule{r}, Memory: l.Memory()}
}

func exposed(t *testing.T, r *Recorder) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	return w.Body.String()
}

func TestDecisionsAreCounted(t *testing.T) {
	r := New(Options{Named: func(name string) bool { return name == "acme" }, StoreAway: func() bool { return true }, PlansAge: func() time.Duration { return 7 * time.Second }})
	e := engine.New(memory.New(), engine.Options{Observe: r.Observe})
	for range 5 {
		if _, err := e.Decide(t.Context(), engine.Call{Tenant: "acme", Items: []quota.Item{item(t, 3)}, Cost: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Decide(t.Context(), engine.Call{Tenant: "invented", Cost: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Decide(t.Context(), engine.Call{Tenant: "acme", Items: []quota.Item{item(t, 3)}}); err != nil { // a look
		t.Fatal(err)
	}
	got := exposed(t, r)
	for _, want := range []string{
		`rate_limiter_requests_total{allowed="true",tenant="acme"} 3`,
		`rate_limiter_requests_total{allowed="false",tenant="acme"} 2`,
		`rate_limiter_requests_total{allowed="true",tenant="other"} 1`,
		`rate_limiter_tokens_remaining{limit="hourly",tenant="acme"} 0`,
		`rate_limiter_decisions_total{degraded="",outcome="known",reason="quota",source="memory"} 2`,
		`rate_limiter_latency_seconds_count{source="store"} 4`,
		`rate_limiter_writes_count 6`,
		`rate_limiter_store_away 1`,
		`rate_limiter_plans_age_seconds 7`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
}

func TestErrorsAreCounted(t *testing.T) {
	r := New(Options{})
	e := engine.New(broken{memory.New()}, engine.Options{Observe: r.Observe})
	call := engine.Call{Tenant: "acme", Items: []quota.Item{item(t, 3)}, Cost: 1}
	if d, err := e.Decide(t.Context(), call); err != nil || d.Reason != engine.StoreError {
		t.Fatalf("%+v, %v", d, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Decide(ended, call); err == nil {
		t.Fatal("decided")
	}
	for kind, want := range map[string]float64{"denied": 1, "none": 1, "local": 0} {
		if got := testutil.ToFloat64(r.errors.WithLabelValues(kind)); got != want {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
}

type broken struct{ store.Store }

func (broken) Apply(context.Context, store.Write) (store.Result, error) {
	return store.Result{}, &store.Error{Reason: store.Unavailable, Err: errors.New("away")}
}

func TestInventedTenantsMakeNoSeries(t *testing.T) {
	r := New(Options{Named: func(name string) bool { return strings.HasPrefix(name, "known") }})
	for i := range 3 * MaxTenants {
		for _, name := range []string{"invented", "known"} {
			r.Observe(engine.Observation{Tenant: fmt.Sprint(name, i), Cost: 1, Decision: &engine.Decision{At: time.Now(), Deciding: -1, Allowed: true}})
		}
	}
	if n := testutil.CollectAndCount(r.requests); n != MaxTenants+1 {
		t.Errorf("%d series, want %d", n, MaxTenants+1)
	}
}
