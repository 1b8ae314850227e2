package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
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
	if n := r.activity.series.Len(); n > maxSeries {
		t.Errorf("%d series are remembered", n)
	}
}

func TestActivityIsTheLastHour(t *testing.T) {
	a := newActivity()
	start := time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)
	add := func(after time.Duration, allowed bool) { a.add(start.Add(after), "acme", "hourly", allowed) }
	add(0, true)
	add(9*time.Second, false)
	add(25*time.Second, true)
	a.add(start, "globex", "hourly", true)
	check := func(after time.Duration, steps int, allowed, refused []uint32) {
		t.Helper()
		got := a.Recent("acme", start.Add(after), steps)
		if len(got) != 1 || got[0].Limit != "hourly" || !slices.Equal(got[0].Allowed, allowed) || !slices.Equal(got[0].Refused, refused) {
			t.Fatalf("%+v; want %v, %v", got, allowed, refused)
		}
	}
	check(29*time.Second, 4, []uint32{0, 1, 0, 1}, []uint32{0, 1, 0, 0})
	check(time.Hour, 2, []uint32{0, 0}, []uint32{0, 0})
	add(time.Hour+5*time.Second, true) // takes the place of the first
	check(time.Hour+5*time.Second, 3, []uint32{0, 0, 1}, []uint32{0, 0, 0})
	check(5*time.Second, 1, []uint32{0}, []uint32{0}) // a clock set back finds nothing of another time
	add(0, true)                                      // too late to be counted
	check(time.Hour+5*time.Second, 3, []uint32{0, 0, 1}, []uint32{0, 0, 0})
}
