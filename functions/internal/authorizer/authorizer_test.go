package authorizer_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/functions/internal/authorizer"
	"github.com/seed43908478/penstock/httpapi"
	"github.com/seed43908478/penstock/quota"
)

// TestMain keeps the log of what tests provoke out of the way.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// An object is JSON.
type object = map[string]any

// A checker decides as it is told, and tells what it was asked.
type checker struct {
	checked  httpapi.Checked
	err      error
	panics   bool
	asked    []quota.Request
	deadline time.Duration
}

func (c *checker) Check(ctx context.Context, r quota.Request) (httpapi.Checked, error) {
	c.asked = append(c.asked, r)
	if end, ok := ctx.Deadline(); ok {
		c.deadline = time.Until(end)
	}
	if c.panics {
		panic("index out of range")
	}
	d := c.checked
	d.Passed = maps.Clone(d.Passed)
	if d.Passed == nil {
		d.Passed = map[string]string{}
	}
	d.Passed["tenant"] = r.Tenant
	return d, c.err
}

func says(status int) *checker { return &checker{checked: httpapi.Checked{Status: status}} }

// event returns an event, changed.
func event(t *testing.T, name string, change ...func(object)) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var e object
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(e)
	}
	if data, err = json.Marshal(e); err != nil {
		t.Fatal(err)
	}
	return data
}

// with sets a header of an event; with no values it is removed.
func with(name string, values ...string) func(object) {
	return func(e object) {
		if e["type"] == "TOKEN" {
			e["authorizationToken"] = strings.Join(values, ",")
			return
		}
		headers := e["headers"].(object)
		multi, isMulti := e["multiValueHeaders"].(object)
		if !isMulti {
			name = strings.ToLower(name)
		} else {
			multi[name] = values
		}
		delete(headers, name)
		if len(values) > 0 {
			headers[name] = strings.Join(values, ",")
		}
	}
}

// identity reads an identity that must be right.
func identity(t *testing.T, tenant, subject string) authorizer.Identity {
	t.Helper()
	id, err := authorizer.ParseIdentity(tenant, subject)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// secret signs the keys of the tests.
var secret = []byte("a secret for the tests, 32 bytes")

// A keyring has keys.
type keyring struct {
	apikey.Static
	down error
}

func (k *keyring) Key(ctx context.Context, id string) (apikey.Record, bool, error) {
	if k.down != nil {
		return apikey.Record{}, false, k.down
	}
	return k.Static.Key(ctx, id)
}

func (k *keyring) mint(tenant string, scope apikey.Scope) (key, id string) {
	key, r := apikey.Mint(secret, apikey.Options{Scopes: []apikey.Scope{scope}, Tenant: tenant, Now: time.Now()})
	k.Static[r.ID] = r
	return key, r.ID
}

func newKeyring() *keyring { return &keyring{Static: apikey.Static{}} }

func (k *keyring) verifier() *apikey.Verifier {
	return apikey.NewVerifier(secret, k, apikey.VerifierOptions{})
}

// answer has a handler answer an event.
func answer(t *testing.T, c *checker, id authorizer.Identity, k *keyring, e []byte) (object, error) {
	t.Helper()
	o := authorizer.Options{Checker: c, Identity: id}
	if k != nil {
		o.Verifier = k.verifier()
	}
	payload, err := authorizer.New(o).Invoke(t.Context(), e)
	if err != nil {
		if payload != nil {
			t.Errorf("beside the error %v there is an answer: %s", err, payload)
		}
		return nil, err
	}
	var a object
	if err := json.Unmarshal(payload, &a); err != nil {
		t.Fatal(err)
	}
	return a, nil
}

var apis = []string{"rest_token", "rest_request", "http_v1", "http_v2"}

// allows reads what an answer says, as API Gateway does.
func allows(t *testing.T, api string, a object) bool {
	t.Helper()
	if api == "http_v2" {
		return a["isAuthorized"].(bool)
	}
	if a["principalId"] != "acme" {
		t.Errorf("principalId is %v, want acme", a["principalId"])
	}
	document := a["policyDocument"].(object)
	statements := document["Statement"].([]any)
	if document["Version"] != "2012-10-17" || len(statements) != 1 {
		t.Fatalf("policy %v", document)
	}
	s := statements[0].(object)
	if actions := s["Action"].([]any); len(actions) != 1 || actions[0] != "execute-api:Invoke" {
		t.Errorf("action %v", actions)
	}
	return s["Effect"] == "Allow"
}

func TestAllowedAndRefused(t *testing.T) {
	for _, api := range apis {
		for status, want := range map[int]bool{200: true, 429: false} {
			c := says(status)
			c.checked.Passed = map[string]string{"rateLimit": `"per-user";r=0;t=1`, "retryAfter": "1"}
			a, err := answer(t, c, identity(t, "fixed:acme", ""), nil, event(t, api))
			if err != nil {
				t.Fatalf("%s: %v", api, err)
			}
			if got := allows(t, api, a); got != want {
				t.Errorf("%s: allowed %v for status %d", api, got, status)
			}
			for name, value := range a["context"].(object) {
				if _, ok := value.(string); !ok {
					t.Errorf("%s: %s of the context is %v, not a text", api, name, value)
				}
			}
			if got := a["context"].(object)["rateLimit"]; got != `"per-user";r=0;t=1` {
				t.Errorf("%s: rateLimit of the context is %v", api, got)
			}
			if c.deadline <= 0 || c.deadline > 5*time.Second {
				t.Errorf("%s: the deadline is in %s", api, c.deadline)
			}
		}
	}
}

func TestWhatIsAsked(t *testing.T) {
	const rest, http = "z9y8x7w6v5", "a1b2c3d4e5"
	for api, want := range map[string]quota.Request{
		"rest_token":   {Resource: "GET *", Attributes: map[string]string{"api": rest, "stage": "prod"}},
		"rest_request": {Resource: "GET /pets/{id}", Attributes: map[string]string{"api": rest, "stage": "prod", "ip": "203.0.113.9"}},
		"http_v1":      {Resource: "GET /pets/{id}", Attributes: map[string]string{"api": http, "stage": "$default", "ip": "203.0.113.9"}},
		"http_v2":      {Resource: "GET /pets/{id}", Attributes: map[string]string{"api": http, "stage": "$default", "ip": "203.0.113.9"}},
	} {
		c := says(200)
		if _, err := answer(t, c, identity(t, "fixed:acme", ""), nil, event(t, api)); err != nil {
			t.Fatalf("%s: %v", api, err)
		}
		got := c.asked[0]
		if got.Tenant != "acme" || got.Subject != "" || got.Resource != want.Resource || !maps.Equal(got.Attributes, want.Attributes) {
			t.Errorf("%s: asked %+v, want %+v", api, got, want)
		}
	}
}

func TestRoutesOfAnHTTPAPI(t *testing.T) {
	for key, want := range map[string]string{"ANY /pets/{proxy+}": "GET /pets/{proxy+}", "$default": "GET $default"} {
		c := says(200)
		_, err := answer(t, c, identity(t, "fixed:acme", ""), nil, event(t, "http_v2", func(e object) { e["routeKey"] = key }))
		if err != nil || c.asked[0].Resource != want {
			t.Errorf("%s: resource %+v, %v; want %s", key, c.asked, err, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"203.0.113.9":                   "203.0.113.9",
		"2001:db8:1:2:3:4:5:6":          "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff:ffff:ffff:1": "2001:db8:1:2::/64",
		"::ffff:203.0.113.9":            "203.0.113.9",
		"fe80::1%eth0":                  "fe80::/64",
		"test-invoke-source-ip":         "",
		"":                              "",
	} {
		c := says(200)
		_, err := answer(t, c, identity(t, "fixed:acme", ""), nil, event(t, "http_v2", func(e object) {
			e["requestContext"].(object)["http"].(object)["sourceIp"] = address
		}))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := c.asked[0].Attributes["ip"]; got != want || ok != (want != "") {
			t.Errorf("%s: ip is %q, want %q", address, got, want)
		}
	}
}

// Deny says that a limit is used up, Unauthorized that the caller is nobody, and another error
// that neither is known.
func TestTheThreeEnds(t *testing.T) {
	away := errors.New("the table is away")
	for name, c := range map[string]struct {
		checker *checker
		want    string // the error; "" is Deny
	}{
		"used up":                {says(429), ""},
		"away, and a limit says": {says(503), "undecided"},
		"no plans":               {&checker{err: away}, "undecided"},
		"the call ended":         {&checker{err: context.DeadlineExceeded}, "undecided"},
		"a panic":                {&checker{panics: true}, "undecided"},
		"resource too long":      {&checker{err: &httpapi.InvalidError{Member: "resource"}}, "undecided"},
		"unknown tenant":         {&checker{err: quota.ErrUnknownTenant}, "Unauthorized"},
		"no tenant's name":       {&checker{err: &httpapi.InvalidError{Member: "tenant"}}, "Unauthorized"},
		"subject too long":       {&checker{err: &httpapi.InvalidError{Member: "subject"}}, "Unauthorized"},
	} {
		for _, api := range apis {
			a, err := answer(t, c.checker, identity(t, "fixed:acme", ""), nil, event(t, api))
			switch c.want {
			case "":
				if err != nil || allows(t, api, a) {
					t.Errorf("%s, %s: %v, %v; want Deny", name, api, a, err)
				}
			case "Unauthorized":
				if err == nil || err.Error() != "Unauthorized" {
					t.Errorf("%s, %s: %v, %v; want the error Unauthorized", name, api, a, err)
				}
			default:
				if err == nil || strings.Contains(err.Error(), "Unauthorized") || strings.Contains(err.Error(), "table") {
					t.Errorf("%s, %s: %v, %v; want an error that tells nothing", name, api, a, err)
				}
			}
		}
	}
}

func TestWhatIsNoEventIsNotAllowed(t *testing.T) {
	for name, payload := range map[string][]byte{
		"no JSON":        []byte("{"),
		"a request":      []byte(`{"version":"2.0","routeKey":"GET /"}`),
		"no method":      event(t, "http_v2", func(e object) { e["requestContext"].(object)["http"] = object{} }),
		"no ARN":         event(t, "rest_token", func(e object) { delete(e, "methodArn") }),
		"not an ARN":     event(t, "rest_token", func(e object) { e["methodArn"] = "arn:aws:lambda:x" }),
		"a WebSocket":    event(t, "rest_request", func(e object) { delete(e, "httpMethod") }),
		"without route":  event(t, "rest_request", func(e object) { delete(e, "resource"); delete(e["requestContext"].(object), "resourcePath") }),
		"another type":   event(t, "rest_request", func(e object) { e["type"] = "OTHER" }),
		"wrong types":    event(t, "rest_request", func(e object) { e["headers"] = 1 }),
		"wrong types v2": event(t, "http_v2", func(e object) { e["headers"] = 1 }),
	} {
		c := says(200)
		a, err := answer(t, c, identity(t, "fixed:acme", ""), nil, payload)
		if err == nil || err.Error() == "Unauthorized" || len(c.asked) > 0 {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}

func TestThePolicyIsAboutThePathOfTheRequest(t *testing.T) {
	const method = "arn:aws:execute-api:eu-central-1:123456789012:z9y8x7w6v5/prod/GET/"
	long := strings.Repeat("x", 512-len(method))
	for path, want := range map[string]string{
		"pets/42":       "pets/42",
		"":              "",
		"pets/*":        "pets/*",
		"a:b/c":         "a:b/c",
		long:            long,
		long + "x":      "*", // longer than a policy may say
		"${aws:userid}": "*", // a variable of IAM's, which would match nothing
	} {
		a, err := answer(t, says(200), identity(t, "fixed:acme", ""), nil, event(t, "rest_request", func(e object) { e["methodArn"] = method + path }))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got := a["policyDocument"].(object)["Statement"].([]any)[0].(object)["Resource"].([]any)
		if len(got) != 1 || got[0] != method+want {
			t.Errorf("%.40s: resource %.120v, want %.120s", path, got, method+want)
		}
	}
}

func TestKeys(t *testing.T) {
	k := newKeyring()
	acme, id := k.mint("acme", apikey.CheckOwn)
	service, _ := k.mint("", apikey.CheckAny)
	admin, _ := k.mint("acme", apikey.Admin)
	forged, _ := apikey.Mint([]byte("another secret"), apikey.Options{Tenant: "acme", Scopes: []apikey.Scope{apikey.CheckOwn}})
	for _, api := range apis {
		for name, c := range map[string]struct {
			header string
			ok     bool
		}{
			"a tenant's key":   {"Bearer " + acme, true},
			"another spelling": {"bearer  " + acme, true},
			"no scheme":        {acme, false},
			"a service's key":  {"Bearer " + service, false},
			"an admin's key":   {"Bearer " + admin, false},
			"a forged key":     {"Bearer " + forged, false},
			"no key":           {"Bearer ", false},
			"another token":    {"Bearer e30.e30.e30", false},
		} {
			ck := says(200)
			_, err := answer(t, ck, identity(t, "", "key"), k, event(t, api, with("Authorization", c.header)))
			switch {
			case c.ok && (err != nil || ck.asked[0].Tenant != "acme" || ck.asked[0].Subject != id):
				t.Errorf("%s, %s: asked %+v, %v", api, name, ck.asked, err)
			case !c.ok && (err == nil || err.Error() != "Unauthorized" || len(ck.asked) > 0):
				t.Errorf("%s, %s: asked %+v, %v; want Unauthorized", api, name, ck.asked, err)
			}
		}
		if _, err := answer(t, says(200), identity(t, "key", ""), k, event(t, api, with("Authorization"))); err == nil || err.Error() != "Unauthorized" {
			t.Errorf("%s, no header: %v; want Unauthorized", api, err)
		}
		ck := says(200)
		if _, err := answer(t, ck, identity(t, "key:X-Api-Key", ""), k, event(t, api, with("X-Api-Key", acme))); err != nil || ck.asked[0].Tenant != "acme" || ck.asked[0].Subject != "" {
			t.Errorf("%s, a header of its own: asked %+v, %v", api, ck.asked, err)
		}
	}
	k.down = errors.New("the table is away")
	if _, err := answer(t, says(200), identity(t, "key", ""), k, event(t, "http_v2", with("Authorization", "Bearer "+acme))); err == nil || err.Error() == "Unauthorized" {
		t.Errorf("a key that cannot be looked up: %v; it must not be told as a bad one", err)
	}
}

// Two values are none: who checks another one than the backend reads can be led astray.
func TestSeveralHeadersAreNobody(t *testing.T) {
	k := newKeyring()
	acme, _ := k.mint("acme", apikey.CheckOwn)
	globex, _ := k.mint("globex", apikey.CheckOwn)
	for _, api := range []string{"rest_request", "http_v2"} {
		for tenant, values := range map[string][]string{"key": {"Bearer " + acme, "Bearer " + globex}, "key:Authorization": {acme, globex}} {
			if _, err := answer(t, says(200), identity(t, tenant, ""), k, event(t, api, with("Authorization", values...))); err == nil || err.Error() != "Unauthorized" {
				t.Errorf("%s, %s: %v", api, tenant, err)
			}
		}
	}
	both := event(t, "rest_request", with("X-Tenant", "acme"), with("x-tenant", "globex"))
	if _, err := answer(t, says(200), identity(t, "header:X-Tenant", ""), nil, both); err == nil || err.Error() != "Unauthorized" {
		t.Errorf("two spellings: %v", err)
	}
}

func token(claims string) string {
	return "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestClaims(t *testing.T) {
	for _, api := range apis {
		for claims, want := range map[string]*quota.Request{
			`{"custom:tenant":"acme","sub":"alice"}`:     {Tenant: "acme", Subject: "alice"},
			`{"custom:tenant":42,"sub":7}`:               {Tenant: "42", Subject: "7"},
			`{"custom:tenant":"acme"}`:                   {Tenant: "acme"},
			`{"custom:tenant":"acme","sub":["a"]}`:       nil,
			`{"sub":"alice"}`:                            nil,
			`{"custom:tenant":"","sub":"alice"}`:         nil,
			`{"custom:tenant":["acme"],"sub":"alice"}`:   nil,
			`{"custom:tenant":1.5,"sub":"alice"}`:        nil,
			`{"custom:tenant":null,"sub":"alice"}`:       nil,
			`not JSON`:                                   nil,
			`["custom:tenant"]`:                          nil,
			`{"custom:tenant":{"a":"acme"},"sub":"bob"}`: nil,
		} {
			c := says(200)
			_, err := answer(t, c, identity(t, "claim:custom:tenant", "claim:sub"), nil, event(t, api, with("Authorization", token(claims))))
			switch {
			case want == nil && (err == nil || err.Error() != "Unauthorized" || len(c.asked) > 0):
				t.Errorf("%s, %s: asked %+v, %v; want Unauthorized", api, claims, c.asked, err)
			case want != nil && (err != nil || c.asked[0].Tenant != want.Tenant || c.asked[0].Subject != want.Subject):
				t.Errorf("%s, %s: asked %+v, %v", api, claims, c.asked, err)
			}
		}
		for _, header := range []string{"", "Bearer x", "Bearer a.b", "Bearer e30.!!.e30", "Basic " + token("{}")} {
			if _, err := answer(t, says(200), identity(t, "claim:tenant", ""), nil, event(t, api, with("Authorization", header))); err == nil || err.Error() != "Unauthorized" {
				t.Errorf("%s, %q: %v", api, header, err)
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	for _, api := range []string{"rest_request", "http_v1", "http_v2"} {
		c := says(200)
		_, err := answer(t, c, identity(t, "header:x-tenant", "header:X-User"), nil, event(t, api, with("X-Tenant", "acme"), with("X-User", "alice")))
		if err != nil || c.asked[0].Tenant != "acme" || c.asked[0].Subject != "alice" {
			t.Errorf("%s: asked %+v, %v", api, c.asked, err)
		}
		c = says(200)
		if _, err = answer(t, c, identity(t, "header:X-Tenant", ""), nil, event(t, api)); err == nil || err.Error() != "Unauthorized" || len(c.asked) > 0 {
			t.Errorf("%s, no header: asked %+v, %v", api, c.asked, err)
		}
		c = says(200)
		if _, err = answer(t, c, identity(t, "fixed:acme", "header:X-User"), nil, event(t, api)); err != nil || c.asked[0].Subject != "" {
			t.Errorf("%s, no subject: asked %+v, %v", api, c.asked, err)
		}
	}
}

func TestIdentitiesThatAreNone(t *testing.T) {
	for _, c := range [][2]string{
		{"keys", ""},
		{"key:", ""},
		{"key:a b", ""},
		{"claim", ""},
		{"claim:", ""},
		{"header", ""},
		{"header:a:b", ""},
		{"fixed:", ""},
		{"fixed:a b", ""},
		{"fixed", ""},
		{"FIXED:acme", ""},
		{"key", "ip"},
		{"key", "key:x"},
		{"key", "claim:"},
		{"key", "header:"},
		{"key", "fixed:x"},
		{"key", ":"},
		{"fixed:acme", "key"},
	} {
		if _, err := authorizer.ParseIdentity(c[0], c[1]); err == nil {
			t.Errorf("tenant %q and subject %q are taken", c[0], c[1])
		}
	}
}

func FuzzNoEventPanics(f *testing.F) {
	for _, api := range apis {
		data, err := os.ReadFile(filepath.Join("testdata", api+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		id, err := authorizer.ParseIdentity("claim:tenant", "header:X-User")
		if err != nil {
			t.Fatal(err)
		}
		if a, err := authorizer.New(authorizer.Options{Checker: says(429), Identity: id}).Invoke(t.Context(), payload); err == nil && strings.Contains(string(a), `"Allow"`) {
			t.Errorf("allowed: %s", a)
		}
	})
}
