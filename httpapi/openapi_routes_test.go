package httpapi

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"

	"github.com/seed43908478/penstock/activity"
	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/metrics"
)

// operations are all there are in the file, as "GET /healthz".
func operations() map[string]*openapi3.Operation {
	all := map[string]*openapi3.Operation{}
	for path, item := range described().document.Paths.Map() {
		for method, operation := range item.Operations() {
			all[method+" "+path] = operation
		}
	}
	return all
}

func TestOpenAPIIsValid(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(openapiYAML)
	if err != nil {
		t.Fatal(err)
	}
	if !document.IsOpenAPI31OrLater() {
		t.Errorf("it is OpenAPI %s", document.OpenAPI)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

// A route that is in no table does not exist, so none can be left out of the file; and the
// file has none that there is not.
func TestOpenAPIHasAllRoutes(t *testing.T) {
	var served []string
	for _, r := range slices.Concat(checkRoutes, []route{metricsRoute}, docsRoutes) {
		served = append(served, r.method+" "+r.path)
	}
	for _, r := range adminRoutes {
		served = append(served, r.method+" "+adminRoot+r.path)
	}
	slices.Sort(served)
	if in := slices.Sorted(maps.Keys(operations())); !slices.Equal(in, served) {
		t.Errorf("the file has\n%s\nand there are\n%s", strings.Join(in, "\n"), strings.Join(served, "\n"))
	}
}

// A whole is all endpoints in one handler, over what they have in production but for the
// store, which is in memory.
type whole struct {
	t       *testing.T
	handler http.Handler
	config  *configstore.Store
}

func newWhole(t *testing.T) *whole {
	t.Helper()
	o := furnished(t)
	clock := func() time.Time { return o.now }
	logger := slog.New(slog.DiscardHandler)
	mux := http.NewServeMux()
	mux.Handle("/", New(Options{
		Decider: o.engine, Plans: o.live, Auth: AuthKeys, Verifier: o.keys, Receipts: receipts,
		Metrics: metrics.New(metrics.Options{}).Handler(), Logger: logger,
	}))
	mux.Handle(adminRoot, NewAdmin(AdminOptions{
		Config: o.config, Plans: o.live, Counts: o.engine, Verifier: o.keys, Secret: secret, Key: adminKey,
		Activity: activity.New(), Now: clock, Logger: logger,
	}))
	HandleDocs(mux, logger)
	return &whole{t, conforming(t, mux), o.config}
}

// mint makes a key.
func (w *whole) mint(options apikey.Options) (key, id string) {
	w.t.Helper()
	options.Now = noon
	key, r := apikey.Mint(secret, options)
	if err := w.config.CreateKey(w.t.Context(), r, configstore.By{Who: "test"}); err != nil {
		w.t.Fatal(err)
	}
	return key, r.ID
}

// call makes the request of an operation: addresses by its examples, and the body given.
func (w *whole) call(name, key string, body []byte, replace ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	method, path, _ := strings.Cut(name, " ")
	r := httptest.NewRequestWithContext(w.t.Context(), method, w.address(name, path, replace...), bytes.NewReader(body))
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	seen := httptest.NewRecorder()
	w.handler.ServeHTTP(seen, r)
	return seen
}

var inBraces = regexp.MustCompile(`{(\w+)}`)

// address fills in the parameters of a path, and adds those of the query that are required.
func (w *whole) address(name, path string, replace ...string) string {
	query := ""
	values := map[string]string{}
	for _, p := range slices.Concat(described().document.Paths.Find(path).Parameters, operations()[name].Parameters) {
		switch {
		case p.Value.In == openapi3.ParameterInPath:
			values[p.Value.Name] = p.Value.Example.(string)
		case p.Value.In == openapi3.ParameterInQuery && p.Value.Required:
			query = "?" + p.Value.Name + "=" + p.Value.Example.(string)
		}
	}
	for i := 0; i+1 < len(replace); i += 2 {
		values[replace[i]] = replace[i+1]
	}
	return inBraces.ReplaceAllStringFunc(path, func(s string) string { return values[strings.Trim(s, "{}")] }) + query
}

// bodies are the examples of what an operation takes; one that is empty when it takes nothing.
func bodies(t *testing.T, operation *openapi3.Operation) map[string][]byte {
	if operation.RequestBody == nil {
		return map[string][]byte{"": nil}
	}
	all := map[string][]byte{}
	for name, example := range operation.RequestBody.Value.Content["application/json"].Examples {
		body, err := json.Marshal(example.Value.Value)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = body
	}
	return all
}

// withReceipt puts a receipt of acme's into the body of a settlement.
func (w *whole) withReceipt(name string, body []byte) []byte {
	w.t.Helper()
	if name != "POST /v1/settle" {
		return body
	}
	key, _ := w.mint(apikey.Options{Scopes: []apikey.Scope{apikey.CheckAny}})
	seen := w.call("POST /v1/check", key, []byte(`{"tenant":"acme","resource":"GET /search"}`))
	var answer struct {
		Receipt string `json:"receipt"`
	}
	if err := json.Unmarshal(seen.Body.Bytes(), &answer); err != nil || answer.Receipt == "" {
		w.t.Fatalf("no receipt: %v %s", err, seen.Body)
	}
	return bytes.ReplaceAll(body, []byte("AZUM8yTk…"), []byte(answer.Receipt))
}

// What the file has as an example of a request is answered 2xx.
func TestExamplesOfOpenAPIAreServed(t *testing.T) {
	for name, operation := range operations() {
		if operation.RequestBody != nil && len(bodies(t, operation)) == 0 {
			t.Errorf("%s has no example", name)
		}
		for example, body := range bodies(t, operation) {
			w := newWhole(t)
			tenant, plan, owner := "acme", "free", ""
			switch operation.OperationID { // what creates
			case "putTenant":
				tenant = "initech"
			case "putPlan", "deletePlan":
				plan = "tiny"
			case "putConfig":
				w = bare(t)
			}
			if strings.Contains(name, "{tenant}") {
				owner = tenant
			}
			key, id := adminKey, ""
			if operation.OperationID != "putConfig" {
				_, id = w.mint(apikey.Options{Tenant: owner})
			}
			if strings.HasPrefix(name, "POST /v1/") {
				key, _ = w.mint(apikey.Options{Scopes: []apikey.Scope{apikey.CheckAny}})
			}
			if seen := w.call(name, key, w.withReceipt(name, body), "tenant", tenant, "plan", plan, "id", id); seen.Code >= 300 {
				t.Errorf("%s, example %q: %s is answered %d %s", name, example, body, seen.Code, seen.Body)
			}
		}
	}
}

// bare is a whole where nothing is configured yet.
func bare(t *testing.T) *whole {
	t.Helper()
	return &whole{t: t, handler: newOffice(t).handler}
}

// A stranger calls an operation of the file and is turned away.
type stranger struct {
	name string
	key  string
	// check and admin are the statuses where a key for checks is asked for, and one of an administrator.
	check, admin int
}

func (w *whole) strangers() []stranger {
	service, own, admin := []apikey.Scope{apikey.CheckAny}, []apikey.Scope{apikey.CheckOwn}, []apikey.Scope{apikey.Admin}
	mint := func(o apikey.Options) string { key, _ := w.mint(o); return key }
	revoked := func(scopes ...apikey.Scope) string {
		key, id := w.mint(apikey.Options{Scopes: scopes})
		if _, _, err := w.config.RevokeKey(w.t.Context(), id, configstore.By{Who: "test"}); err != nil {
			w.t.Fatal(err)
		}
		return key
	}
	both := []apikey.Scope{apikey.CheckAny, apikey.Admin}
	forged, _ := apikey.Mint([]byte("another secret"), apikey.Options{Scopes: both, Now: noon})
	unknown, _ := apikey.Mint(secret, apikey.Options{Scopes: both, Now: noon})
	const mayDo = http.StatusOK
	return []stranger{
		{"nobody", "", 401, 401},
		{"a key that is none", "hunter2", 401, 401},
		{"a forged key", forged, 401, 401},
		{"an unknown key", unknown, 401, 401},
		{"a revoked key", revoked(both...), 401, 401},
		{"an expired key", mint(apikey.Options{Scopes: both, ExpiresAt: noon}), 401, 401},
		{"a key without a scope", mint(apikey.Options{Tenant: "acme"}), 403, 403},
		{"a service", mint(apikey.Options{Scopes: service}), mayDo, 403},
		{"the tenant", mint(apikey.Options{Scopes: own, Tenant: "acme"}), mayDo, 403},
		{"another tenant", mint(apikey.Options{Scopes: own, Tenant: "globex"}), 403, 403},
		{"an administrator", mint(apikey.Options{Scopes: admin}), 403, mayDo}, // the last, as it deletes what others need
	}
}

// Every operation of the file × every key that is not good there. What an operation asks
// for is what the file says, and only what serves everybody asks for nothing.
func TestWhoMayCallWhat(t *testing.T) {
	forAll := []string{"GET /docs", "GET /docs/{file}", "GET /healthz", "GET /metrics", "GET /openapi.json", "GET /openapi.yaml"}
	var open []string
	tried := 0
	for name, operation := range operations() {
		needs := described().document.Security
		if operation.Security != nil {
			needs = *operation.Security
		}
		if len(needs) == 0 {
			open = append(open, name)
			continue
		}
		_, forChecks := needs[0]["checkKey"]
		w := newWhole(t)
		for _, s := range w.strangers() {
			for _, body := range bodies(t, operation) {
				want := s.admin
				if forChecks {
					want = s.check
				}
				seen := w.call(name, s.key, w.withReceipt(name, body), "tenant", "acme", "plan", "free")
				if tried++; !turnedAway(want, name, seen) {
					t.Errorf("%s as %s is answered %d %s, want %d", name, s.name, seen.Code, seen.Body, want)
				}
			}
		}
	}
	if slices.Sort(open); !slices.Equal(open, forAll) {
		t.Errorf("no key is needed for %v, want %v", open, forAll)
	}
	t.Logf("%d calls", tried)
}

// turnedAway tells whether an answer has the status. A batch is answered for each check.
func turnedAway(want int, name string, seen *httptest.ResponseRecorder) bool {
	switch {
	case want == http.StatusOK:
		return seen.Code != http.StatusUnauthorized && seen.Code != http.StatusForbidden
	case want == http.StatusForbidden && name == "POST /v1/checks" && seen.Code == http.StatusOK:
		return !strings.Contains(seen.Body.String(), `"allowed"`) && strings.Contains(seen.Body.String(), fmt.Sprintf(`"status":%d`, want))
	}
	return seen.Code == want
}

// The page needs nothing from elsewhere, and lets nothing in.
func TestDocs(t *testing.T) {
	w := newWhole(t)
	page := w.call("GET /docs", "", nil)
	if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self';") {
		t.Errorf("the policy is %q", policy)
	}
	text := page.Body.String()
	if strings.Contains(text, "//") || regexp.MustCompile(`<script[^>]*>[^<]|<style| on\w+=`).MatchString(text) {
		t.Errorf("the page has something from elsewhere, or a script in it:\n%s", text)
	}
	files := regexp.MustCompile(`(?:src|href)="docs/([^"]+)"`).FindAllStringSubmatch(text, -1)
	if len(files) != 3 {
		t.Errorf("the page has files %q", files)
	}
	for _, f := range files {
		if got := w.call("GET /docs/{file}", "", nil, "file", f[1]); got.Code != http.StatusOK || got.Body.Len() == 0 {
			t.Errorf("%s is answered %d", f[1], got.Code)
		}
	}
	for _, name := range []string{"nothing.js", "..%2Fopenapi.yaml", "README.md", ""} {
		if got := w.call("GET /docs/{file}", "", nil, "file", name); got.Code != http.StatusNotFound {
			t.Errorf("%q is answered %d", name, got.Code)
		}
	}
}

func TestMethodsThatAreNot(t *testing.T) {
	w := newWhole(t)
	for name := range operations() {
		_, path, _ := strings.Cut(name, " ")
		r := httptest.NewRequestWithContext(t.Context(), "PATCH", w.address(name, path), io.NopCloser(strings.NewReader("")))
		r.Header.Set("Authorization", "Bearer "+adminKey)
		seen := httptest.NewRecorder()
		w.handler.ServeHTTP(seen, r)
		if seen.Code != http.StatusMethodNotAllowed || seen.Header().Get("Allow") == "" {
			t.Errorf("PATCH %s is answered %d, Allow %q", path, seen.Code, seen.Header().Get("Allow"))
		}
	}
}
