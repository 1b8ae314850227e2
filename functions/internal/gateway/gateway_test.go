package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed43908478/penstock/functions/internal/gateway"
)

// TestMain keeps the log of what tests provoke out of the way.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// A seen is what a handler saw of a request.
type seen struct {
	Method, Path, Query, Host, Caller, Body string
	Header                                  http.Header
	ByIAM                                   bool
}

type iamKey struct{}

func markIAM(ctx context.Context) context.Context { return context.WithValue(ctx, iamKey{}, true) }

// echo answers with what it saw.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	byIAM, _ := r.Context().Value(iamKey{}).(bool)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(seen{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Host: r.Host, Caller: r.RemoteAddr,
		Body: string(body), Header: r.Header, ByIAM: byIAM,
	})
})

// An answer is what both kinds of API read of an answer.
type answer struct {
	StatusCode        int
	Headers           map[string]string
	MultiValueHeaders map[string][]string
	Cookies           []string
	Body              string
	IsBase64Encoded   bool
}

// header returns a header of the answer, wherever it stands.
func (a answer) header(name string) string {
	if value, ok := a.Headers[name]; ok {
		return value
	}
	return strings.Join(a.MultiValueHeaders[name], ",")
}

// invoke has h answer an event, and fails when the answer has no status code.
func invoke(t *testing.T, h *gateway.Handler, event []byte) answer {
	t.Helper()
	payload, err := h.Invoke(t.Context(), event)
	if err != nil {
		t.Fatalf("Invoke returned the error %v; it must answer", err)
	}
	var a answer
	if err := json.Unmarshal(payload, &a); err != nil {
		t.Fatalf("answer %s: %v", payload, err)
	}
	if a.StatusCode == 0 {
		t.Fatalf("answer without a statusCode, which an HTTP API makes a 200: %s", payload)
	}
	return a
}

func event(t *testing.T, name string) []byte {
	t.Helper()
	e, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// look returns what a handler sees of the event.
func look(t *testing.T, e []byte) seen {
	t.Helper()
	a := invoke(t, gateway.New(echo, markIAM), e)
	if a.StatusCode != http.StatusOK {
		t.Fatalf("answer %+v, want 200", a)
	}
	var s seen
	if err := json.Unmarshal([]byte(a.Body), &s); err != nil {
		t.Fatalf("body %q: %v", a.Body, err)
	}
	return s
}

func TestEveryEventIsTheSameRequest(t *testing.T) {
	const check = `{"tenant":"acme","resource":"GET /search","subject":"user:42","attributes":{"ip":"203.0.113.9"}}`
	for name, want := range map[string]struct {
		seen
		header map[string]string
	}{
		"v2_check":         {seen: seen{Query: "a=1&a=2&b=x%20y"}, header: map[string]string{"Cookie": "a=1; b=2, 3"}},
		"v2_check_iam":     {seen: seen{ByIAM: true}},
		"v2_check_base64":  {},
		"v2_named_stage":   {},
		"v2_default_route": {},
		"v2_proxy_route":   {},
		"v2_custom_domain": {seen: seen{Host: "limits.example.com"}},
		"v2_checks":        {seen: seen{Path: "/v1/checks", Body: `{"checks":[` + check + `]}`}},
		"v2_healthz":       {seen: seen{Method: "GET", Path: "/healthz", Body: "none"}},
		"v1_check":         {header: map[string]string{"Authorization": "Bearer pk_0123_secret_mac"}},
		"v1_check_iam":     {seen: seen{ByIAM: true}},
		"v1_check_base64":  {},
		"v1_proxy":         {},
		"v1_custom_domain": {seen: seen{Host: "api.example.com"}},
		"v1_http_api":      {seen: seen{Host: "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"}},
		"v1_healthz":       {seen: seen{Method: "GET", Path: "/healthz", Body: "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := look(t, event(t, name))
			expect(t, "method", got.Method, or(want.Method, "POST"))
			expect(t, "path", got.Path, or(want.Path, "/v1/check"))
			expect(t, "body", or(got.Body, "none"), or(want.Body, check))
			expect(t, "caller", got.Caller, "203.0.113.9:0")
			expect(t, "host", got.Host, or(want.Host, map[byte]string{
				'2': "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com",
				'1': "z9y8x7w6v5.execute-api.eu-central-1.amazonaws.com",
			}[name[1]]))
			expect(t, "by IAM", got.ByIAM, want.ByIAM)
			if want.Query != "" {
				expect(t, "query", got.Query, want.Query)
			}
			for k, v := range want.header {
				expect(t, k, got.Header.Get(k), v)
			}
		})
	}
}

func TestQueryOfARESTEventKeepsEveryValue(t *testing.T) {
	// The order of names is lost in the event; that of one name's values is not.
	got := look(t, event(t, "v1_check")).Query
	if got != "a=1&a=2&b=x+y" && got != "b=x+y&a=1&a=2" {
		t.Errorf("query %q", got)
	}
}

func TestHeaderValuesStayWhole(t *testing.T) {
	v2 := look(t, event(t, "v2_check")).Header
	for name, want := range map[string]string{
		"X-Policy":          `"burst";q=100;w=60, "day, long";q=1000`,
		"Expires":           "Sat, 21 Nov 2026 10:31:00 GMT",
		"If-Modified-Since": "Sat, 21 Nov 2026 10:30:00 GMT",
		"Accept":            "application/json, application/problem+json;q=0.9",
	} {
		if got := v2.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("HTTP API: %s is %q, want the one value %q", name, got, want)
		}
	}
	v1 := look(t, event(t, "v1_check")).Header
	expect(t, "X-Policy", fmt.Sprintf("%q", v1.Values("X-Policy")), `["\"burst\";q=100;w=60, \"day, long\";q=1000" "\"month\";q=9"]`)
}

// What a caller puts into headers must not pass for what API Gateway says.
func TestACallerCannotSpeakForTheGateway(t *testing.T) {
	for _, name := range []string{"v2_check", "v1_check"} {
		got := look(t, event(t, name))
		for header := range got.Header {
			if strings.HasPrefix(strings.ToLower(header), "x-golambdaproxy") {
				t.Errorf("%s: the handler sees %s: %q", name, header, got.Header[header])
			}
		}
		host, port, err := net.SplitHostPort(got.Caller)
		if err != nil || host != "203.0.113.9" || port != "0" {
			t.Errorf("%s: caller %q (%v), want the request context's, not X-Forwarded-For's", name, got.Caller, err)
		}
		if got.ByIAM {
			t.Errorf("%s: a header made the caller one authenticated by IAM", name)
		}
	}
}

func TestTheHostIsTheGatewaysAndNoHeader(t *testing.T) {
	t.Setenv("GO_API_HOST", "https://elsewhere.example.com") // the adapter would take it
	for name, want := range map[string]string{"v2_custom_domain": "limits.example.com", "v1_custom_domain": "api.example.com"} {
		got := look(t, event(t, name))
		expect(t, name+": host", got.Host, want)
		if host, ok := got.Header["Host"]; ok {
			t.Errorf("%s: the handler sees a header Host: %q; net/http has none", name, host)
		}
	}
}

func TestIPv6Caller(t *testing.T) {
	e := replaced(t, "v2_check", `"sourceIp": "203.0.113.9"`, `"sourceIp": "2001:db8::1"`)
	expect(t, "caller", look(t, e).Caller, "[2001:db8::1]:0")
}

func TestEmulatorWithoutHeaderLists(t *testing.T) {
	e := replaced(t, "v1_check", `"multiValueHeaders"`, `"dropped"`)
	expect(t, "authorization", look(t, e).Header.Get("Authorization"), "Bearer pk_0123_secret_mac")
}

// API Gateway decodes paths; what was %3F or %25 must not end the path or break it.
func TestDecodedPath(t *testing.T) {
	e := replaced(t, "v2_proxy_route", `"proxy": "check"`, `"proxy": "a?b%zz c"`)
	expect(t, "path", look(t, e).Path, "/v1/a?b%zz c")
}

func TestStageIsASegment(t *testing.T) {
	for path, want := range map[string]string{
		"/prod/v1/check": "/v1/check",
		"/production/v1": "/production/v1",
		"/prod":          "/",
		"/v1/prod":       "/v1/prod",
	} {
		e := replaced(t, "v2_default_route", `"rawPath": "/prod/v1/check"`, fmt.Sprintf(`"rawPath": %q`, path))
		expect(t, path, look(t, e).Path, want)
	}
}

func TestWrongEventsAreAnsweredClearly(t *testing.T) {
	h := gateway.New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was asked") }), markIAM)
	for name, e := range map[string][]byte{
		"nothing":           nil,
		"garbage":           []byte("\x00\xff{"),
		"null":              []byte("null"),
		"a string":          []byte(`"hello"`),
		"a list":            []byte(`[]`),
		"an object":         []byte(`{}`),
		"only a version":    []byte(`{"version":"2.0"}`),
		"wrong types":       []byte(`{"version":"2.0","headers":[1,2],"requestContext":"x"}`),
		"wrong types in v1": []byte(`{"httpMethod":"POST","headers":7}`),
		"no base64":         replaced(t, "v2_check_base64", `"body": "eyJ0`, `"body": "*`),
		"no base64 in v1":   replaced(t, "v1_check_base64", `"body": "eyJ0`, `"body": "*`),
		"a method":          replaced(t, "v2_check", `"method": "POST"`, `"method": "P OST"`),
		"an SQS batch":      event(t, "wrong_sqs"),
		"v2 authorizer":     event(t, "wrong_authorizer_v2"),
		"v1 authorizer":     event(t, "wrong_authorizer_v1"),
	} {
		t.Run(name, func(t *testing.T) {
			a := invoke(t, h, e)
			expect(t, "status", a.StatusCode, http.StatusBadRequest)
			expect(t, "type", a.header("Content-Type"), "application/problem+json")
			if !strings.Contains(a.Body, "not a request from an API Gateway HTTP API or REST API") {
				t.Errorf("body %s", a.Body)
			}
		})
	}
}

// both runs a test on an event of each kind of API.
func both(t *testing.T, next http.HandlerFunc, test func(*testing.T, answer)) {
	for _, name := range []string{"v2_check", "v1_check"} {
		t.Run(name, func(t *testing.T) { test(t, invoke(t, gateway.New(next, nil), event(t, name))) })
	}
}

func TestAnswerHasStatusHeadersAndBody(t *testing.T) {
	both(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit", `"burst";r=0;t=5`)
		w.Header().Add("Vary", "Origin")
		w.Header().Add("Vary", "Accept")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"allowed":false}`)
	}, func(t *testing.T, a answer) {
		expect(t, "status", a.StatusCode, 429)
		expect(t, "RateLimit", a.header("Ratelimit"), `"burst";r=0;t=5`)
		expect(t, "Vary", a.header("Vary"), "Origin,Accept")
		expect(t, "body", a.Body, `{"allowed":false}`)
	})
}

func TestHandlerThatWritesNothingIsAnError(t *testing.T) {
	both(t, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, a answer) {
		expect(t, "status", a.StatusCode, http.StatusInternalServerError)
	})
}

func TestStatusAloneIsAnAnswer(t *testing.T) {
	both(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, func(t *testing.T, a answer) {
		expect(t, "status", a.StatusCode, http.StatusNoContent)
		expect(t, "body", a.Body, "")
	})
}

func TestHeadersAfterTheStatusStayBehind(t *testing.T) {
	both(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "1")
		w.WriteHeader(http.StatusOK)
	}, func(t *testing.T, a answer) {
		expect(t, "status", a.StatusCode, http.StatusTeapot)
		expect(t, "X-Late", a.header("X-Late"), "")
	})
}

func TestPanicsAreAnswered(t *testing.T) {
	for name, next := range map[string]http.HandlerFunc{
		"panic":            func(http.ResponseWriter, *http.Request) { panic("boom") },
		"panic, half sent": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK); panic("boom") },
		"no such status":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(700) },
	} {
		t.Run(name, func(t *testing.T) {
			both(t, next, func(t *testing.T, a answer) {
				expect(t, "status", a.StatusCode, http.StatusInternalServerError)
				if strings.Contains(a.Body, "boom") {
					t.Errorf("the caller is told %s", a.Body)
				}
			})
		})
	}
}

func TestBinaryBody(t *testing.T) {
	both(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0xfe, 0}) }, func(t *testing.T, a answer) {
		expect(t, "base64", a.IsBase64Encoded, true)
		expect(t, "body", a.Body, base64.StdEncoding.EncodeToString([]byte{0xff, 0xfe, 0}))
	})
}

// One instance may be asked by many at once; each must get its own answer.
func TestConcurrentEvents(t *testing.T) {
	h := gateway.New(echo, markIAM)
	var wg sync.WaitGroup
	for i := range 64 {
		e := replaced(t, []string{"v2_check", "v1_check"}[i%2], "user:42", fmt.Sprintf("user:%d.", i))
		wg.Go(func() {
			payload, err := h.Invoke(context.Background(), e)
			if err != nil || !strings.Contains(string(payload), fmt.Sprintf("user:%d.", i)) {
				t.Errorf("call %d: %v, %.200s", i, err, payload)
			}
		})
	}
	wg.Wait()
}

// FuzzInvoke: whatever comes in, an answer with a status code comes out.
func FuzzInvoke(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no events: %v", err)
	}
	for _, file := range files {
		e, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e)
	}
	h := gateway.New(echo, markIAM)
	f.Fuzz(func(t *testing.T, e []byte) { invoke(t, h, e) })
}

// replaced returns an event with one piece of its text replaced.
func replaced(t *testing.T, name, old, replacement string) []byte {
	t.Helper()
	e := string(event(t, name))
	if !strings.Contains(e, old) {
		t.Fatalf("%s has no %s", name, old)
	}
	return []byte(strings.ReplaceAll(e, old, replacement))
}

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// or returns s, or what stands for nothing.
func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
