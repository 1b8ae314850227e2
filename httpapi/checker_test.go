package httpapi

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
)

// asked is a call of acme's.
var asked = quota.Request{Tenant: "acme", Resource: "GET /search"}

func TestACheckerDecidesAsTheEndpointDoes(t *testing.T) {
	away := refused(refuses(perUser(t), 0, time.Second, time.Second))
	away.Reason, away.Source = engine.StoreError, engine.LocalBucket
	open := allowed(lets(perUser(t), 19, 0))
	open.Degraded, open.Unknown = engine.DegradedOpen, true
	for name, decision := range map[string]engine.Decision{
		"allowed":  allowed(lets(perUser(t), 19, 100*time.Millisecond), lets(perDay(t), 7, time.Hour)),
		"refused":  refused(refuses(perUser(t), 0, 1500*time.Millisecond, 2*time.Second)),
		"away":     away,
		"open":     open,
		"no limit": {Allowed: true, Deciding: -1, Source: engine.Store},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t)
			d.decision = decision
			got, err := NewChecker(d, d).Check(t.Context(), asked)
			a := d.check()
			if err != nil || got.Status != a.StatusCode {
				t.Fatalf("status %d, %v; POST /v1/check says %d", got.Status, err, a.StatusCode)
			}
			want := map[string]string{}
			for name, field := range map[string]string{
				"rateLimit": "RateLimit", "rateLimitPolicy": "RateLimit-Policy", "retryAfter": "Retry-After",
				"quota": "X-RateLimit-Limit", "remaining": "X-RateLimit-Remaining", "reset": "X-RateLimit-Reset",
			} {
				want[name] = a.Header.Get(field)
			}
			want["allowed"] = map[bool]string{true: "true", false: "false"}[a.members["allowed"].(bool)]
			for _, name := range []string{"tenant", "limit", "reason", "source", "degraded", "outcome"} {
				want[name] = a.members[name].(string)
			}
			maps.DeleteFunc(want, func(_, value string) bool { return value == "" })
			if !maps.Equal(got.Passed, want) {
				t.Errorf("passes on %v, want %v", got.Passed, want)
			}
			if call := d.calls[0]; call.Cost != 1 || call.Tenant != "acme" || call.RequestID != "" || call.MaxWait != 0 {
				t.Errorf("asked %+v", call)
			}
		})
	}
}

func TestACheckerTellsWhyItCannotDecide(t *testing.T) {
	d := newDoor(t)
	d.noPlan = quota.ErrUnknownTenant
	if _, err := NewChecker(d, d).Check(t.Context(), asked); !errors.Is(err, quota.ErrUnknownTenant) {
		t.Errorf("error %v, want an unknown tenant", err)
	}
	for member, r := range map[string]quota.Request{
		"tenant":        {Tenant: "a b", Resource: "r"},
		"resource":      {Tenant: "acme"},
		"subject":       {Tenant: "acme", Resource: "r", Subject: strings.Repeat("x", 1025)},
		"attributes.ip": {Tenant: "acme", Resource: "r", Attributes: map[string]string{"ip": "\n"}},
	} {
		d := newDoor(t)
		_, err := NewChecker(d, d).Check(t.Context(), r)
		if invalid, ok := errors.AsType[*InvalidError](err); !ok || invalid.Member != member || len(d.calls) > 0 {
			t.Errorf("error %v, want one of %s", err, member)
		}
	}
	long := quota.Request{Tenant: "acme", Resource: strings.Repeat("x", 513)}
	if _, err := NewChecker(d, d).Check(t.Context(), long); err == nil {
		t.Error("a resource of 513 bytes is taken")
	}
}

// What a decision passes on sets the fields that the endpoint would have set.
func TestBackendsTellWhatTheAuthorizerPassedOn(t *testing.T) {
	d := newDoor(t)
	d.decision = allowed(lets(perUser(t), 19, 100*time.Millisecond))
	checked, err := NewChecker(d, d).Check(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{"principalId": "acme", "integrationLatency": 12}
	for name, value := range checked.Passed {
		values[name] = value
	}
	backend := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	serve := func(values map[string]any) http.Header {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("RateLimit", "a caller's")
		WithRateLimit(backend, func(*http.Request) map[string]any { return values }).ServeHTTP(w, r)
		return w.Header()
	}
	got, want := serve(values), d.check().Header
	for _, field := range []string{"RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if got.Get(field) == "" || got.Get(field) != want.Get(field) {
			t.Errorf("%s is %q, want %q", field, got.Get(field), want.Get(field))
		}
	}
	if len(got) != 5 {
		t.Errorf("header is %v", got)
	}
	if h := serve(nil); len(h) > 0 {
		t.Errorf("without an authorizer the header is %v", h)
	}
	if h := serve(map[string]any{"rateLimit": 7, "quota": ""}); len(h) > 0 {
		t.Errorf("of what is no text the header is %v", h)
	}
}
