package httpapi

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
)

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		typ, allow   string
	}{
		{"GET", "/healthz", 200, "", ""},
		{"POST", "/healthz", 405, "urn:penstock:method-not-allowed", "GET, HEAD"},
		{"GET", "/v1/check", 405, "urn:penstock:method-not-allowed", "POST"},
		{"HEAD", "/v1/check", 405, "urn:penstock:method-not-allowed", "POST"},
		{"OPTIONS", "/v1/check", 405, "urn:penstock:method-not-allowed", "POST"},
		{"PUT", "/v1/checks", 405, "urn:penstock:method-not-allowed", "POST"},
		{"GET", "/", 404, "urn:penstock:not-found", ""},
		{"POST", "/v1/check/", 404, "urn:penstock:not-found", ""},
		{"POST", "/v1/Check", 404, "urn:penstock:not-found", ""},
		{"POST", "/v2/check", 404, "urn:penstock:not-found", ""},
		{"DELETE", "/v1", 404, "urn:penstock:not-found", ""},
	} {
		d := newDoor(t)
		a := d.send(httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))
		a.has(c.status, c.typ)
		if got := a.Header.Get("Allow"); got != c.allow {
			t.Errorf("%s %s: Allow is %q, want %q", c.method, c.path, got, c.allow)
		}
		if len(d.calls) > 0 {
			t.Errorf("%s %s was decided", c.method, c.path)
		}
	}
}

func TestHealthAsksNobody(t *testing.T) {
	d := newDoor(t)
	d.err, d.noPlan, d.panics = errors.New("down"), errors.New("down"), "no"
	a := d.send(httptest.NewRequestWithContext(t.Context(), "GET", "/healthz", nil))
	a.has(200, "")
	if a.body != `{"status":"ok"}`+"\n" || len(d.calls)+len(d.requests) > 0 {
		t.Errorf("got %s after %d questions", a.body, len(d.calls)+len(d.requests))
	}
}

func TestBrowsersOfOtherOriginsAreRefused(t *testing.T) {
	for header, want := range map[string]int{
		"Sec-Fetch-Site: same-origin":          200,
		"Sec-Fetch-Site: none":                 200,
		"Sec-Fetch-Site: same-site":            403,
		"Sec-Fetch-Site: cross-site":           403,
		"Origin: https://evil.example":         403,
		"Origin: null":                         403,
		"Origin: http://example.com":           200, // the host that httptest asks
		"Origin: http://example.com.evil.test": 403,
	} {
		for _, path := range []string{"/v1/check", "/v1/checks"} {
			d := newDoor(t)
			body := `{"tenant":"acme","resource":"r"}`
			if path == "/v1/checks" {
				body = `{"checks":[` + body + `]}`
			}
			a := d.post(path, body, header)
			if want == 200 {
				a.has(200, "")
				continue
			}
			a.has(403, notAllowed)
			if len(d.calls) > 0 {
				t.Errorf("%s %s was decided", path, header)
			}
		}
	}
}

func TestPreflightIsNotAnswered(t *testing.T) {
	d := newDoor(t)
	r := httptest.NewRequestWithContext(t.Context(), "OPTIONS", "/v1/check", nil)
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	d.send(r).has(405, "urn:penstock:method-not-allowed") // send looks for CORS headers
}

func TestUnknownTenantIsNotFound(t *testing.T) {
	d := newDoor(t)
	d.noPlan = quota.ErrUnknownTenant
	d.check().has(404, "urn:penstock:unknown-tenant")
	if len(d.calls) > 0 {
		t.Error("it was decided")
	}
	if strings.Contains(d.log.String(), "WARN") {
		t.Error("a caller's mistake was logged as ours")
	}
}

func TestPlansThatCannotBeKnownAreUnavailable(t *testing.T) {
	d := newDoor(t)
	d.noPlan = errors.New("the table said no")
	a := d.check()
	a.has(503, notAvailable)
	if a.Header.Get("Retry-After") != "1" || strings.Contains(a.body, "the table") {
		t.Errorf("got %s", wire(a))
	}
	if !strings.Contains(d.log.String(), "the table said no") {
		t.Errorf("the reason was not logged: %s", d.log)
	}
}

func TestCallThatEndedIsNotAllowed(t *testing.T) {
	for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
		d := newDoor(t)
		d.decision, d.err = engine.Decision{}, err
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a := d.send(post("/v1/check", padded(100)).WithContext(ctx))
		a.has(503, notAvailable)
		if want := "The call ended before anything was decided; nothing was charged."; a.members["detail"] != want {
			t.Errorf("detail is %v", a.members["detail"])
		}
		if strings.Contains(d.log.String(), "WARN") {
			t.Error("a caller's leaving was logged as our fault")
		}
	}
}

func TestPanicEndsAtTheEdge(t *testing.T) {
	d := newDoor(t)
	d.panics = "index out of range"
	a := d.check()
	a.has(500, "urn:penstock:internal")
	if strings.Contains(a.body, "index out of range") {
		t.Error("the caller was told of the panic")
	}
	if log := d.log.String(); !strings.Contains(log, "index out of range") || !strings.Contains(log, "door_test.go") {
		t.Errorf("the panic was not logged with its stack: %s", log)
	}
	d.panics = nil
	d.check().has(200, "")
}

func TestAbortIsPassedOn(t *testing.T) {
	d := newDoor(t)
	d.panics = http.ErrAbortHandler
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("recovered %v", err)
		}
	}()
	d.check()
}

func TestRequestsAreLoggedAtDebugOnly(t *testing.T) {
	d := newDoor(t)
	d.check()
	if log := d.log.String(); !strings.Contains(log, `"level":"DEBUG"`) || !strings.Contains(log, `"route":"POST /v1/check"`) || !strings.Contains(log, `"status":200`) {
		t.Errorf("log is %s", log)
	}
	var quiet bytes.Buffer
	d = newDoor(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&quiet, nil)) })
	d.check()
	d.post("/v1/check", "{")
	if quiet.Len() > 0 {
		t.Errorf("log is %s", &quiet)
	}
}
