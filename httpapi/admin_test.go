package httpapi

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	configmemory "github.com/seed43908478/penstock/configstore/memory"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/memory"
)

const adminKey = "the key of the first administrator"

// An office is where administrators come: the handler over a real configuration.
type office struct {
	t       *testing.T
	handler http.Handler
	config  *configstore.Store
	items   configstore.Items
	keys    *apikey.Verifier
	log     *bytes.Buffer
	now     time.Time
	key     string // of who calls
	state   store.Store
	engine  *engine.Engine
	live    *quota.Live
}

// newOffice opens an office; nothing is configured there.
func newOffice(t *testing.T, change ...func(*AdminOptions)) *office {
	t.Helper()
	o := &office{t: t, items: configmemory.New(), log: new(bytes.Buffer), now: noon, key: adminKey}
	o.state = memory.New(memory.WithClock(func() time.Time { return o.now }))
	o.open(change...)
	return o
}

func (o *office) open(change ...func(*AdminOptions)) {
	clock := func() time.Time { return o.now }
	o.config = configstore.New(o.items, configstore.Options{Now: clock})
	o.keys = apikey.NewVerifier(secret, o.config, apikey.VerifierOptions{Now: clock})
	live, err := quota.NewLive(o.t.Context(), o.config, quota.LiveOptions{Now: clock, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		o.t.Fatal(err)
	}
	o.engine = engine.New(o.state, engine.Options{Now: clock})
	o.live = live
	options := AdminOptions{
		Config: o.config, Plans: live, Counts: o.engine, Verifier: o.keys, Secret: secret, Key: adminKey, Now: clock,
		Logger: slog.New(slog.NewJSONHandler(o.log, nil)),
	}
	for _, c := range change {
		c(&options)
	}
	o.handler = conforming(o.t, NewAdmin(options))
}

// furnished is an office with the plans free and pro and the tenants acme and globex.
func furnished(t *testing.T) *office {
	t.Helper()
	return officeWith(t, quota.Example())
}

func officeWith(t *testing.T, c quota.Config) *office {
	t.Helper()
	o := newOffice(t)
	if _, err := o.config.Apply(t.Context(), c, configstore.Precondition{}, configstore.By{Who: "test"}, nil); err != nil {
		t.Fatal(err)
	}
	o.open() // what was loaded is what was applied
	return o
}

// do makes a request below /admin/v1/.
func (o *office) do(method, path, body string, header ...string) answer {
	o.t.Helper()
	return o.send(o.request(method, path, body, header...))
}

func (o *office) request(method, path, body string, header ...string) *http.Request {
	r := httptest.NewRequestWithContext(o.t.Context(), method, "/admin/v1/"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if o.key != "" {
		r.Header.Set("Authorization", "Bearer "+o.key)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

func (o *office) send(r *http.Request) answer {
	o.t.Helper()
	w := httptest.NewRecorder()
	o.handler.ServeHTTP(w, r)
	a := answer{t: o.t, Response: w.Result(), body: w.Body.String()}
	if a.body != "" && strings.Contains(a.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal([]byte(a.body), &a.members); err != nil {
			o.t.Errorf("the body is not a JSON object: %v: %s", err, a.body)
		}
	}
	if got := a.Header.Get("Cache-Control"); got != "no-store" {
		o.t.Errorf("%s %s: Cache-Control is %q", r.Method, r.URL, got)
	}
	return a
}

// ok does a request that must succeed.
func (o *office) ok(method, path, body string, header ...string) answer {
	o.t.Helper()
	a := o.do(method, path, body, header...)
	if a.StatusCode >= 300 {
		o.t.Fatalf("%s %s is answered %d: %s", method, path, a.StatusCode, a.body)
	}
	return a
}

// status does a request whose status must be the one given.
func (o *office) status(want int, method, path, body string, header ...string) answer {
	o.t.Helper()
	a := o.do(method, path, body, header...)
	if a.StatusCode != want {
		o.t.Errorf("%s %s %s %v is answered %d, want %d: %s", method, path, body, header, a.StatusCode, want, a.body)
	}
	return a
}

// names are a member of all items of a list.
func (a answer) names(member string) (names []string) {
	a.t.Helper()
	items, ok := a.members["items"].([]any)
	if !ok {
		a.t.Fatalf("not a list: %s", a.body)
	}
	for _, i := range items {
		names = append(names, i.(map[string]any)[member].(string))
	}
	return names
}

// exampleOf has an address for each route.
func exampleOf(r adminRoute) string {
	return strings.NewReplacer("{tenant}", "acme", "{plan}", "free", "{id}", "4kq7dmz2x5ab").Replace(r.path)
}

// bodyOf has what a route takes.
func bodyOf(r adminRoute) string {
	if r.method == "GET" || r.method == "DELETE" {
		return ""
	}
	return "{}"
}

// Every route × every key that is none: refused, before anything is read or changed.
func TestWhoMayAdminister(t *testing.T) {
	o := furnished(t)
	o.key = ""
	mint := func(options apikey.Options, revoke bool) string {
		options.Now = noon
		key, r := apikey.Mint(secret, options)
		if err := o.config.CreateKey(t.Context(), r, configstore.By{Who: "test"}); err != nil {
			t.Fatal(err)
		}
		if revoke {
			if _, _, err := o.config.RevokeKey(t.Context(), r.ID, configstore.By{Who: "test"}); err != nil {
				t.Fatal(err)
			}
		}
		return "Bearer " + key
	}
	forged, _ := apikey.Mint([]byte("another secret"), apikey.Options{Scopes: []apikey.Scope{apikey.Admin}, Now: noon})
	unknown, _ := apikey.Mint(secret, apikey.Options{Scopes: []apikey.Scope{apikey.Admin}, Now: noon})
	admin := []apikey.Scope{apikey.Admin}
	callers := map[string]struct {
		header string
		status int
	}{
		"nobody":           {"", 401},
		"a service":        {mint(apikey.Options{Scopes: []apikey.Scope{apikey.CheckAny}}, false), 403},
		"the tenant":       {mint(apikey.Options{Scopes: []apikey.Scope{apikey.CheckOwn}, Tenant: "acme"}, false), 403},
		"another tenant":   {mint(apikey.Options{Scopes: []apikey.Scope{apikey.CheckOwn}, Tenant: "globex"}, false), 403},
		"no scope":         {mint(apikey.Options{}, false), 403},
		"a revoked key":    {mint(apikey.Options{Scopes: admin}, true), 401},
		"an expired key":   {mint(apikey.Options{Scopes: admin, ExpiresAt: noon}, false), 401},
		"a forged key":     {"Bearer " + forged, 401},
		"an unknown key":   {"Bearer " + unknown, 401},
		"a wrong key":      {"Bearer hunter2", 401},
		"an empty key":     {"Bearer ", 401},
		"basic":            {"Basic " + adminKey, 401},
		"nearly bootstrap": {"Bearer " + adminKey[1:], 401},
	}
	before, err := o.config.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	routes := append(slices.Clone(adminRoutes), adminRoute{method: "GET", path: "elsewhere"}, adminRoute{method: "PATCH", path: "tenants"})
	for _, route := range routes {
		for name, caller := range callers {
			a := o.do(route.method, exampleOf(route), bodyOf(route), "Authorization: "+caller.header)
			if a.StatusCode != caller.status {
				t.Errorf("%s %s as %s is answered %d, want %d: %s", route.method, route.path, name, a.StatusCode, caller.status, a.body)
			}
		}
		r := o.request(route.method, exampleOf(route), bodyOf(route))
		if a := o.send(r.WithContext(WithService(r.Context()))); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s %s as the platform's service is answered %d", route.method, route.path, a.StatusCode)
		}
	}
	if after, err := o.config.Version(t.Context()); err != nil || after != before {
		t.Errorf("the version was %d and is %d, %v", before, after, err)
	}
	for name, key := range map[string]string{"the bootstrap key": "Bearer " + adminKey, "an administrator": mint(apikey.Options{Scopes: admin}, false)} {
		for _, route := range routes {
			if a := o.do(route.method, exampleOf(route), bodyOf(route), "Authorization: "+key); a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden || a.StatusCode >= 500 {
				t.Errorf("%s %s as %s is answered %d: %s", route.method, route.path, name, a.StatusCode, a.body)
			}
		}
	}
}

func TestAdminWithoutABootstrapKeyTakesNone(t *testing.T) {
	o := newOffice(t, func(o *AdminOptions) { o.Key = "" })
	for _, key := range []string{"", " ", adminKey} {
		o.status(401, "GET", "whoami", "", "Authorization: Bearer "+key)
	}
}

func TestWhoAmI(t *testing.T) {
	o := newOffice(t)
	if a := o.ok("GET", "whoami", ""); a.members["who"] != "bootstrap" {
		t.Error(a.body)
	}
	made := o.ok("POST", "keys", `{"scopes":["admin"]}`)
	o.key = made.members["key"].(string)
	if a := o.ok("GET", "whoami", ""); a.members["who"] != made.members["id"] {
		t.Error(a.body)
	}
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	o := furnished(t)
	for _, h := range []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"} {
		o.status(403, "PUT", "tenants/new", `{"plan":"free"}`, h)
		o.status(403, "DELETE", "tenants/acme", "", h)
	}
	o.ok("PUT", "tenants/new", `{"plan":"free"}`, "Sec-Fetch-Site: same-origin")
}

func TestTenantIsCreatedReplacedAndDeleted(t *testing.T) {
	o := furnished(t)
	made := o.status(201, "PUT", "tenants/initech", `{"plan":"free"}`)
	if made.Header.Get("Location") != "/admin/v1/tenants/initech" || made.members["name"] != "initech" || made.members["plan"] != "free" {
		t.Errorf("%s, %v", made.body, made.Header)
	}
	tag := made.Header.Get("ETag")
	if got := o.ok("GET", "tenants/initech", ""); got.body != made.body || got.Header.Get("ETag") != tag {
		t.Errorf("got %s %s, want %s %s", got.body, got.Header.Get("ETag"), made.body, tag)
	}
	must := o.status(428, "PUT", "tenants/initech", `{"plan":"pro"}`)
	must.has(428, "urn:penstock:precondition-required")
	if must.Header.Get("ETag") != tag || !strings.Contains(must.body, `If-Match: `) {
		t.Errorf("it does not tell what to send: %s", must.body)
	}
	o.now = o.now.Add(time.Second)
	replaced := o.status(200, "PUT", "tenants/initech", `{"plan":"pro"}`, "If-Match: "+tag)
	if replaced.members["plan"] != "pro" || replaced.Header.Get("ETag") == tag {
		t.Errorf("%s, %v", replaced.body, replaced.Header)
	}
	o.status(412, "PUT", "tenants/initech", `{"plan":"free"}`, "If-Match: "+tag).has(412, "urn:penstock:precondition-failed")
	o.status(412, "DELETE", "tenants/initech", "", "If-Match: "+tag)
	o.status(412, "PUT", "tenants/initech", `{"plan":"free"}`, "If-None-Match: *")
	same := o.status(200, "PUT", "tenants/initech", `{"plan":"pro"}`, "If-Match: *")
	if same.Header.Get("ETag") != replaced.Header.Get("ETag") {
		t.Error("a PUT that changes nothing has made a revision")
	}
	o.status(204, "DELETE", "tenants/initech", "", "If-Match: "+same.Header.Get("ETag"))
	o.status(204, "DELETE", "tenants/initech", "")
	o.status(404, "GET", "tenants/initech", "").has(404, "urn:penstock:not-found")
	o.status(412, "PUT", "tenants/initech", `{"plan":"pro"}`, "If-Match: *")
	o.status(412, "PUT", "tenants/initech", `{"plan":"pro"}`, `If-Match: "12"`)
}

func TestPreconditionsThatCannotBeRead(t *testing.T) {
	o := furnished(t)
	for _, h := range []string{"If-Match: 12", `If-Match: "12`, `If-Match: "1","2"`, "If-None-Match: \"12\""} {
		o.status(400, "PUT", "tenants/acme", `{"plan":"pro"}`, h)
	}
	r := o.request("PUT", "tenants/acme", `{"plan":"pro"}`, "If-Match: *", "If-None-Match: *")
	if a := o.send(r); a.StatusCode != http.StatusBadRequest {
		t.Errorf("both are answered %d", a.StatusCode)
	}
	for _, h := range []string{`If-Match: "x"`, `If-Match: W/"1"`, `If-Match: "-1"`, `If-Match: "0"`, `If-Match: ""`} {
		o.status(412, "PUT", "tenants/acme", `{"plan":"pro"}`, h)
	}
}

func TestListsAreRead(t *testing.T) {
	o := furnished(t)
	for i := range 5 {
		o.ok("PUT", fmt.Sprintf("tenants/Shop-%d", i), `{"plan":"pro"}`)
	}
	all := []string{"Shop-0", "Shop-1", "Shop-2", "Shop-3", "Shop-4", "acme", "globex"}
	if got := o.ok("GET", "tenants", "").names("name"); !slices.Equal(got, all) {
		t.Errorf("all: %v", got)
	}
	var paged []string
	cursor := ""
	for range 5 {
		a := o.ok("GET", "tenants?limit=3&cursor="+cursor, "")
		paged = append(paged, a.names("name")...)
		if cursor = a.members["cursor"].(string); cursor == "" {
			break
		}
	}
	if !slices.Equal(paged, all) {
		t.Errorf("by threes: %v", paged)
	}
	for query, want := range map[string]string{
		"prefix=Shop": "Shop-0 Shop-1 Shop-2 Shop-3 Shop-4", "search=OP-3": "Shop-3", "plan=free": "acme", "prefix=zz": "",
	} {
		if got := strings.Join(o.ok("GET", "tenants?"+query, "").names("name"), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"limit=", "limit=0", "limit=1001", "limit=x", "limit=1&limit=2", "colour=red", "search=%00", "a=%zz"} {
		o.status(400, "GET", "tenants?"+query, "")
	}
	if got := strings.Join(o.ok("GET", "plans?limit=1", "").names("name"), " "); got != "free" {
		t.Errorf("plans by ones: %v", got)
	}
	if got := strings.Join(o.ok("GET", "plans?cursor=free", "").names("name"), " "); got != "pro" {
		t.Errorf("plans after free: %v", got)
	}
	o.status(400, "GET", "audit?cursor=x", "").has(400, invalid)
}

func TestPlansAreChanged(t *testing.T) {
	o := furnished(t)
	const limits = `{"limits":[{"name":"burst","algorithm":"token_bucket","quota":5,"period":"1s","burst":9}]}`
	made := o.status(201, "PUT", "plans/tiny", limits)
	o.status(428, "PUT", "plans/tiny", limits)
	if got := o.ok("GET", "plans/tiny", ""); got.body != made.body || !strings.Contains(got.body, `"burst":9`) {
		t.Error(got.body)
	}
	o.status(409, "DELETE", "plans/free", "").has(409, "urn:penstock:conflict")
	if got := o.ok("PUT", "default_plan", `{"default_plan":"tiny"}`).members["default_plan"]; got != "tiny" {
		t.Errorf("default_plan %v", got)
	}
	if a := o.status(409, "DELETE", "plans/tiny", ""); !strings.Contains(a.body, "default_plan") {
		t.Error(a.body)
	}
	o.ok("PUT", "default_plan", `{"default_plan":""}`)
	o.status(400, "PUT", "default_plan", `{"default_plan":"nope"}`)
	o.status(400, "PUT", "default_plan", `{}`)
	o.status(204, "DELETE", "plans/tiny", "")
	o.status(204, "DELETE", "plans/tiny", "")
	o.status(404, "GET", "plans/tiny", "")
}

// What is wrong is named as the member of what was sent, with what to do.
func TestBadBodiesAreToldByMember(t *testing.T) {
	o := furnished(t)
	const limit = `"name":"n","algorithm":"token_bucket","quota":5,"period":"1s"`
	for _, c := range []struct{ path, body, member, remedy string }{
		{"tenants/a", `{"plan":"nope"}`, "plan", ""},
		{"tenants/a", `{}`, "plan", ""},
		{"tenants/b%20c", `{"plan":"free"}`, "", ""},
		{"tenants/a", `{"plan":"free","limits":[{"name":"n"}]}`, "limits[0].algorithm", ""},
		{"tenants/a", `{"plan":"free","colour":"red"}`, "colour", "those are plan, limits"},
		{"tenants/a", `{"plan":"free","plan":"pro"}`, "plan", "twice"},
		{"tenants/a", `{"plan":5}`, "plan", "must be a string, not a number"},
		{"tenants/a", `{"plan":null}`, "plan", "leave it out"},
		{"tenants/a", `{"plan":"free","limits":{}}`, "limits", "must be an array, not an object"},
		{"tenants/a", `{"plan":"free","limits":[null]}`, "limits[0]", "leave it out"},
		{"plans/p", `{"limits":[{` + limit + `,"quota":5}]}`, "limits[0].quota", "twice"},
		{"plans/p", `{"limits":[{` + limit + `,"burst":1.5}]}`, "limits[0].burst", "whole number"},
		{"plans/p", `{"limits":[{` + limit + `,"burst":"5"}]}`, "limits[0].burst", "must be a whole number, not a string"},
		{"plans/p", `{"limits":[{` + limit + `,"burst":99999999999999999999}]}`, "limits[0].burst", "whole number"},
		{"plans/p", `{"limits":[{` + limit + `,"match":{"attributes":{"ip":5}}}]}`, "limits[0].match.attributes.ip", "string"},
		{"plans/p", `{"limits":[{` + limit + `,"by":["subject",7]}]}`, "limits[0].by[1]", "string"},
		{"plans/p", `{"limits":[{` + limit + `,"burts":7}]}`, "limits[0].burts", "burst"},
		{"plans/p", `{"limits":[{"name":"n","algorithm":"token_bucket","quota":0,"period":"1s"}]}`, "limits[0].quota", ""},
		{"plans/Not%20A%20Plan", `{}`, "", ""},
		{"config", `{"plans":{"p":{"limits":[{"name":"n"}]}}}`, "plans.p.limits[0].algorithm", ""},
		{"config", `{"tenants":{"a.b":{"plan":7}}}`, `tenants["a.b"].plan`, "string"},
		{"config", `{"tenants":{"a":{"plan":"p"},"a":{"plan":"p"}}}`, "tenants.a", "twice"},
	} {
		header := "Accept: */*"
		if c.path == "config" {
			header = "If-Match: *"
		}
		a := o.status(400, "PUT", c.path, c.body, header)
		a.has(400, invalid)
		if got := faulty(a.members); c.member != "" && (len(got) == 0 || got[0] != c.member) {
			t.Errorf("%s %s: members %q, want %q", c.path, c.body, got, c.member)
		}
		if !strings.Contains(a.body, c.remedy) {
			t.Errorf("%s %s: no %q in %s", c.path, c.body, c.remedy, a.body)
		}
	}
	for _, body := range []string{``, `{`, `[]`, `"x"`, `{} {}`, `{"plan":"free"`, "{\"plan\":\"\xff\"}", `{"plan":"free"}x`, `nul`} {
		r := o.request("PUT", "tenants/a", body)
		r.Header.Set("Content-Type", "application/json")
		if a := o.send(r); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%q is answered %d", body, a.StatusCode)
		}
	}
	o.status(415, "PUT", "tenants/a", `{"plan":"free"}`, "Content-Type: text/yaml")
	o.status(413, "PUT", "tenants/a", `{"plan":"`+strings.Repeat("x", 1<<20)+`"}`)
	o.status(404, "GET", "tenants/a", "")
}

func TestAddressesAndMethodsThatAreNot(t *testing.T) {
	o := furnished(t)
	o.status(404, "GET", "nowhere", "").has(404, "urn:penstock:not-found")
	a := o.status(405, "PATCH", "tenants/acme", "{}")
	a.has(405, "urn:penstock:method-not-allowed")
	if got := a.Header.Get("Allow"); got != "DELETE, GET, HEAD, PUT" {
		t.Errorf("Allow is %q", got)
	}
}

func TestKeyIsMadeShownOnceRotatedAndRevoked(t *testing.T) {
	o := furnished(t)
	made := o.status(201, "POST", "tenants/acme/keys", `{"name":"ci","scopes":["check:own"],"expires_in":"720h"}`)
	key, id := made.members["key"].(string), made.members["id"].(string)
	at := "tenants/acme/keys/" + id
	if r, err := o.keys.Verify(t.Context(), key); err != nil || r.Tenant != "acme" || !r.ExpiresAt.Equal(noon.Add(720*time.Hour)) {
		t.Errorf("record %+v, %v", r, err)
	}
	if made.members["name"] != "ci" || made.members["state"] != "active" || made.Header.Get("Location") != "/admin/v1/"+at {
		t.Errorf("%s, %v", made.body, made.Header)
	}
	list := o.ok("GET", "tenants/acme/keys", "")
	if got := list.names("id"); !slices.Equal(got, []string{id}) || strings.Contains(list.body, key) || strings.Contains(list.body, "hash") {
		t.Errorf("%s", list.body)
	}
	for _, elsewhere := range []string{"tenants/globex/keys/" + id, "keys/" + id, "tenants/acme/keys/zzzzzzzzzzzz"} {
		o.status(404, "GET", elsewhere, "")
		o.status(404, "DELETE", elsewhere, "")
		o.status(404, "POST", elsewhere+"/rotate", "")
	}
	o.now = o.now.Add(time.Hour)
	next := o.status(201, "POST", at+"/rotate", `{"grace":"1h"}`)
	if next.members["name"] != "ci" || next.members["expires_at"] != o.now.Add(720*time.Hour).Format(time.RFC3339) {
		t.Errorf("rotated: %s", next.body)
	}
	for _, k := range []string{key, next.members["key"].(string)} {
		if _, err := o.keys.Verify(t.Context(), k); err != nil {
			t.Errorf("within the grace: %v", err)
		}
	}
	o.now = o.now.Add(time.Hour)
	if _, err := o.keys.Verify(t.Context(), key); err == nil {
		t.Error("the old key works after the grace")
	}
	o.status(409, "POST", at+"/rotate", "").has(409, "urn:penstock:conflict")
	at = "tenants/acme/keys/" + next.members["id"].(string)
	o.status(204, "DELETE", at, "")
	o.status(204, "DELETE", at, "")
	if _, err := o.keys.Verify(t.Context(), next.members["key"].(string)); err == nil {
		t.Error("a revoked key works")
	}
	if got := o.ok("GET", at, "").members["state"]; got != "revoked" {
		t.Errorf("state %v", got)
	}
	if entries := o.ok("GET", "audit?tenant=acme", ""); strings.Contains(entries.body, key) || strings.Contains(entries.body, "hash") {
		t.Errorf("the audit tells the key: %s", entries.body)
	}
}

func TestKeyNeedsNoBody(t *testing.T) {
	o := furnished(t)
	if a := o.status(201, "POST", "tenants/acme/keys", ""); fmt.Sprint(a.members["scopes"]) != "[check:own]" || a.members["expires_at"] != nil {
		t.Error(a.body)
	}
	if a := o.status(201, "POST", "keys", "{}"); fmt.Sprint(a.members["scopes"]) != "[check:any]" {
		t.Error(a.body)
	}
}

func TestKeysThatMayNotBeMade(t *testing.T) {
	o := furnished(t)
	for _, c := range []struct{ path, body, member string }{
		{"tenants/acme/keys", `{"scopes":["admin"]}`, "scopes[0]"},
		{"tenants/acme/keys", `{"scopes":["check:any"]}`, "scopes[0]"},
		{"tenants/acme/keys", `{"scopes":["check:own","check:own"]}`, "scopes[1]"},
		{"tenants/acme/keys", `{"scopes":[]}`, "scopes"},
		{"tenants/acme/keys", `{"scopes":[5]}`, "scopes[0]"},
		{"keys", `{"scopes":["check:own"]}`, "scopes[0]"},
		{"keys", `{"scopes":["root"]}`, "scopes[0]"},
		{"keys", `{"expires_in":"soon"}`, "expires_in"},
		{"keys", `{"expires_in":"-1h"}`, "expires_in"},
		{"keys", `{"expires_in":"9999999h"}`, "expires_in"},
		{"keys", `{"expires_in":720}`, "expires_in"},
		{"keys", `{"name":"a\nb"}`, "name"},
		{"keys", `{"tenant":"acme"}`, "tenant"},
	} {
		a := o.status(400, "POST", c.path, c.body)
		if got := faulty(a.members); len(got) == 0 || got[0] != c.member {
			t.Errorf("%s %s: members %q, want %q", c.path, c.body, got, c.member)
		}
	}
	o.status(404, "POST", "tenants/nobody/keys", "")
	o.ok("PUT", "default_plan", `{"default_plan":"free"}`)
	o.status(201, "POST", "tenants/nobody/keys", "")
	o.status(404, "POST", "tenants/no%20body/keys", "")
}

func TestConfigurationIsExportedTriedAndApplied(t *testing.T) {
	o := furnished(t)
	exported := o.ok("GET", "config", "")
	tag := exported.Header.Get("ETag")
	if a := o.ok("PUT", "config", exported.body, "If-Match: "+tag); a.members["changed"] != false || a.Header.Get("ETag") != tag {
		t.Errorf("what was exported is a change: %s", a.body)
	}
	const next = `{"plans":{"only":{"limits":[{"name":"n","algorithm":"token_bucket","quota":5,"period":"1s"}]}},"tenants":{"acme":{"plan":"only"}}}`
	tried := o.ok("PUT", "config?dry_run=true", next)
	if !strings.Contains(tried.body, `"plans":{"added":["only"],"changed":[],"removed":["free","pro"]},"tenants":{"added":[],"changed":["acme"],"removed":["globex"]}`) ||
		tried.Header.Get("ETag") != tag {
		t.Errorf("tried: %s", tried.body)
	}
	if a := o.ok("GET", "config", ""); a.body != exported.body {
		t.Error("a trial has changed something")
	}
	o.status(428, "PUT", "config", next)
	o.status(412, "PUT", "config", next, `If-Match: "1"`)
	o.status(400, "PUT", "config?dry_run=maybe", next)
	o.status(400, "PUT", "config?dry_run", next, "If-Match: "+tag)
	o.status(400, "PUT", "config?dry_run=true", `{"tenants":{"a":{"plan":"x"}}}`)
	applied := o.ok("PUT", "config", next, "If-Match: "+tag)
	if applied.members["changed"] != true || applied.Header.Get("ETag") == tag {
		t.Errorf("applied: %s", applied.body)
	}
	if got := o.ok("GET", "tenants", "").names("name"); !slices.Equal(got, []string{"acme"}) {
		t.Errorf("tenants %v", got)
	}
	empty := newOffice(t)
	empty.ok("PUT", "config", next)
}

func TestAuditTellsWhoAndByWhichRequest(t *testing.T) {
	o := furnished(t)
	if a := o.ok("PUT", "tenants/new", `{"plan":"free"}`, "X-Request-Id: req-1"); a.Header.Get("X-Request-Id") != "req-1" {
		t.Errorf("X-Request-Id is %q", a.Header.Get("X-Request-Id"))
	}
	made := o.ok("DELETE", "tenants/new", "", "X-Request-Id: bad id\x7f")
	a := o.ok("GET", "audit?tenant=new", "")
	if got := a.names("action"); !slices.Equal(got, []string{"delete", "create"}) {
		t.Fatalf("actions %v: %s", got, a.body)
	}
	if got := a.names("who"); !slices.Equal(got, []string{"bootstrap", "bootstrap"}) {
		t.Errorf("who %v", got)
	}
	id := made.Header.Get("X-Request-Id")
	if got := a.names("request_id"); len(id) != 20 || !slices.Equal(got, []string{id, "req-1"}) {
		t.Errorf("requests %v, the second %q", got, id)
	}
}

// What would be answered to a PUT is known before: nothing is written, and no revision asked for.
func TestPutsAreTried(t *testing.T) {
	o := furnished(t)
	before := o.ok("GET", "config", "")
	acme := o.ok("GET", "tenants/acme", "")
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"tenants/acme", `{"plan":"pro"}`, 200, `{"changed":true}`},
		{"tenants/globex", `{"plan":"pro"}`, 200, `{"changed":false}`},
		{"tenants/new", `{"plan":"pro"}`, 200, `{"changed":true}`},
		{"tenants/new", `{"plan":"none"}`, 400, `"member":"plan"`},
		{"plans/new", `{"limits":[]}`, 200, `{"changed":true}`},
		{"plans/free", `{"limits":[{"name":"n"}]}`, 400, `"member":"limits[0].algorithm"`},
		{"plans/new", `{"limits":[{"name":"n","algorithm":"token_bucket","quota":5000,"period":"1s"}]}`, 200, `{"changed":true,"warnings":[{"member":"limits[0].quota",`},
		{"tenants/acme", `{"plan":"pro","limits":[{"name":"n","algorithm":"token_bucket","quota":5000,"period":"1s"}]}`, 200, `"warnings":[{"member":"limits[0].quota",`},
	} {
		a := o.status(c.status, "PUT", c.path+"?dry_run=true", c.body)
		if !strings.Contains(a.body, c.says) {
			t.Errorf("%s %s: %s, want %s", c.path, c.body, a.body, c.says)
		}
		if c.path == "tenants/acme" && a.Header.Get("ETag") != acme.Header.Get("ETag") {
			t.Errorf("ETag is %q", a.Header.Get("ETag"))
		}
	}
	if after := o.ok("GET", "config", ""); after.body != before.body || after.Header.Get("ETag") != before.Header.Get("ETag") {
		t.Errorf("a trial has changed %s to %s", before.body, after.body)
	}
	hot := `{"limits":[{"name":"n","algorithm":"token_bucket","quota":5000,"period":"1s"}]}`
	if a := o.status(201, "PUT", "plans/hot", hot); !strings.Contains(a.body, `"warnings":[{"member":"limits[0].quota"`) {
		t.Error(a.body)
	}
	if a := o.ok("PUT", "config?dry_run=true", `{"plans":{"hot":`+hot+`}}`); !strings.Contains(a.body, `"warnings":[{"member":"plans.hot.limits[0].quota"`) {
		t.Error(a.body)
	}
}
