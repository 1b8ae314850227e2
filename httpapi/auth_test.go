package httpapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/apikey"
)

const (
	notAllowed   = "urn:penstock:forbidden"
	notKnown     = "urn:penstock:unauthorized"
	notAvailable = "urn:penstock:unavailable"
)

// Who may check for whom: policy × key × the tenant that the body names.
func TestWhoMayCheck(t *testing.T) {
	keys := newKeyring()
	forged, _ := apikey.Mint([]byte("another secret"), apikey.Options{Scopes: []apikey.Scope{apikey.CheckAny}, Now: noon})
	gone, _ := apikey.Mint(secret, apikey.Options{Scopes: []apikey.Scope{apikey.CheckAny}, Now: noon})
	callers := map[string]string{
		"nobody":             "",
		"a service":          "Bearer " + keys.mint("", apikey.CheckAny),
		"acme":               "Bearer " + keys.mint("acme", apikey.CheckOwn),
		"acme's service":     "Bearer " + keys.mint("acme", apikey.CheckOwn, apikey.CheckAny),
		"an administrator":   "Bearer " + keys.mint("", apikey.Admin),
		"a key of no tenant": "Bearer " + keys.mint("", apikey.CheckOwn),
		"a key of no scope":  "Bearer " + keys.mint("acme"),
		"a forged key":       "Bearer " + forged,
		"an unknown key":     "Bearer " + gone,
		"an expired key":     "Bearer " + keys.keep(apikey.Options{Scopes: []apikey.Scope{apikey.CheckAny}, ExpiresAt: noon, Now: noon.Add(-time.Hour)}),
		"a revoked key":      "Bearer " + keys.revoked(),
		"a wrong key":        "Bearer hunter2",
		"no key after all":   "Bearer ",
		"basic credentials":  "Basic YWNtZTpodW50ZXIy",
		"an empty header":    " ",
	}
	type want struct{ own, other, none int } // the status for acme, globex and a body without a tenant
	all, only, no, unknown := want{200, 200, 400}, want{200, 403, 200}, want{403, 403, 403}, want{401, 401, 401}
	wanted := map[string]want{
		"a service": all, "acme": only, "acme's service": all,
		"an administrator": no, "a key of no tenant": no, "a key of no scope": no,
	}
	types := map[int]string{200: "", 400: invalid, 401: notKnown, 403: notAllowed}
	for _, auth := range []Auth{AuthOpen, AuthKeys, ""} {
		for name, header := range callers {
			t.Run(string(auth)+" "+name, func(t *testing.T) {
				expect, ok := wanted[name]
				switch {
				case !ok:
					expect = unknown
				}
				if name == "nobody" && auth == AuthOpen {
					expect = all
				}
				for tenant, status := range map[string]int{`"tenant":"acme",`: expect.own, `"tenant":"globex",`: expect.other, ``: expect.none} {
					d := newDoor(t, func(o *Options) { o.Auth, o.Verifier = auth, keys.verifier })
					r := post("/v1/check", `{`+tenant+`"resource":"r"}`)
					if header != "" {
						r.Header.Set("Authorization", header)
					}
					a := d.send(r)
					a.has(status, types[status])
					d.decidedFor(tenant, status)
					if got := a.Header.Get("WWW-Authenticate"); (status == 401) != (got == "Bearer") {
						t.Errorf("status %d with WWW-Authenticate %q", status, got)
					}
				}
			})
		}
	}
}

// decidedFor checks that there was a decision for the tenant of a body, acme's for none, if and only if it was answered.
func (d *door) decidedFor(tenant string, status int) {
	d.t.Helper()
	if status != 200 {
		if len(d.requests)+len(d.calls) > 0 {
			d.t.Errorf("status %d, and it was decided", status)
		}
		return
	}
	want := "acme"
	if strings.Contains(tenant, "globex") {
		want = "globex"
	}
	if len(d.requests) != 1 || d.requests[0].Tenant != want {
		d.t.Errorf("decided for %v, want %s", d.requests, want)
	}
}

// All that is wrong with a key looks the same from outside.
func TestWhatIsWrongWithAKeyIsNotTold(t *testing.T) {
	keys := newKeyring()
	forged, _ := apikey.Mint([]byte("another secret"), apikey.Options{Now: noon})
	missing, _ := apikey.Mint(secret, apikey.Options{Now: noon})
	expired := keys.keep(apikey.Options{Scopes: []apikey.Scope{apikey.CheckAny}, ExpiresAt: noon, Now: noon})
	d := newDoor(t, func(o *Options) { o.Auth, o.Verifier = AuthKeys, keys.verifier })
	want := wire(d.check())
	for _, key := range []string{forged, missing, expired, keys.revoked(), "hunter2"} {
		if got := wire(d.check("Authorization: Bearer " + key)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if log := d.log.String(); strings.Contains(log, "pk_") || strings.Contains(log, "hunter2") {
		t.Errorf("a key was logged: %s", log)
	}
}

func TestSchemeIsReadInAnyCase(t *testing.T) {
	keys := newKeyring()
	key := keys.mint("", apikey.CheckAny)
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER   "} {
		d := newDoor(t, func(o *Options) { o.Auth, o.Verifier = AuthKeys, keys.verifier })
		d.check("Authorization: "+scheme+key).has(200, "")
	}
}

func TestTwoAuthorizationsAreNone(t *testing.T) {
	keys := newKeyring()
	key := "Bearer " + keys.mint("", apikey.CheckAny)
	for _, auth := range []Auth{AuthOpen, AuthKeys} {
		d := newDoor(t, func(o *Options) { o.Auth, o.Verifier = auth, keys.verifier })
		r := post("/v1/check", padded(100))
		r.Header["Authorization"] = []string{key, key}
		d.send(r).has(401, notKnown)
	}
}

func TestServiceOfThePlatformMayCheckForAll(t *testing.T) {
	keys := newKeyring()
	for name, c := range map[string]struct {
		header string
		status int
	}{
		"by itself":             {"", 200},
		"with its signature":    {"AWS4-HMAC-SHA256 Credential=AKIA/20260301/eu-west-1/execute-api/aws4_request, Signature=00", 200},
		"with a key of acme's":  {"Bearer " + keys.mint("acme", apikey.CheckOwn), 403},
		"with a key that isn't": {"Bearer hunter2", 401},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, func(o *Options) { o.Auth, o.Verifier = AuthKeys, keys.verifier })
			r := post("/v1/check", `{"tenant":"globex","resource":"r"}`)
			if c.header != "" {
				r.Header.Set("Authorization", c.header)
			}
			if got := d.send(r.WithContext(WithService(r.Context()))).StatusCode; got != c.status {
				t.Errorf("status is %d, want %d", got, c.status)
			}
		})
	}
}

func TestWithoutAVerifierNoKeyIsGood(t *testing.T) {
	keys := newKeyring()
	newDoor(t).check("Authorization: Bearer "+keys.mint("", apikey.CheckAny)).has(401, notKnown)
}

func TestKeysThatCannotBeLookedUpAreNotRefused(t *testing.T) {
	keys := newKeyring()
	key := keys.mint("", apikey.CheckAny)
	keys.source.down = errors.New("the table is away")
	d := newDoor(t, func(o *Options) { o.Auth, o.Verifier = AuthKeys, keys.verifier })
	a := d.check("Authorization: Bearer " + key)
	a.has(503, notAvailable)
	if a.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
	}
	if log := d.log.String(); !strings.Contains(log, "the table is away") || strings.Contains(log, key) {
		t.Errorf("the log does not tell why, or tells the key: %s", log)
	}
	if strings.Contains(a.body, "the table is away") {
		t.Error("the caller was told about our table")
	}
}

func TestKeyComesBeforeTheBody(t *testing.T) {
	d := newDoor(t, func(o *Options) { o.Auth = AuthKeys })
	d.post("/v1/check", "{").has(401, notKnown)
	d.post("/v1/checks", "{").has(401, notKnown)
	d.send(func() *http.Request { r := post("/v1/check", ""); r.Header.Del("Content-Type"); return r }()).has(401, notKnown)
}

func TestHealthNeedsNoKey(t *testing.T) {
	d := newDoor(t, func(o *Options) { o.Auth = AuthKeys })
	d.send(httptest.NewRequestWithContext(t.Context(), "GET", "/healthz", nil)).has(200, "")
}
