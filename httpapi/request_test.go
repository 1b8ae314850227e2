package httpapi

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/quota"
)

const (
	invalid     = "urn:penstock:invalid-request"
	tooLong     = "urn:penstock:too-large"
	unsupported = "urn:penstock:unsupported-media-type"
)

// many returns n attributes.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"a%d":"x"`, i)
	}
	return b.String()
}

// with returns a good check with one more member.
func with(member string) string { return `{"tenant":"acme","resource":"GET /search",` + member + `}` }

// padded returns a good check that is n bytes long.
func padded(n int) string {
	const check = `{"tenant":"acme","resource":"GET /search"}`
	return check + strings.Repeat(" ", n-len(check))
}

// badChecks are requests that get no decision: what is sent, and the members named.
var badChecks = []struct {
	name, body string
	members    []string
}{
	// grammar
	{"empty body", ``, nil},
	{"only space", " \n ", nil},
	{"not JSON", `tenant=acme`, nil},
	{"cut short", `{"tenant":"acme"`, nil},
	{"cut short in a name", `{"ten`, nil},
	{"cut short in a value", `{"tenant":"ac`, nil},
	{"no colon", `{"tenant" "acme"}`, []string{"tenant"}},
	{"comma at the end", `{"tenant":"acme","resource":"r",}`, nil},
	{"comment", `{"tenant":"acme",/* */"resource":"r"}`, nil},
	{"single quotes", `{'tenant':'acme'}`, nil},
	{"name without quotes", `{tenant:"acme"}`, nil},
	{"name is a number", `{1:"acme"}`, nil},
	{"something follows", `{"tenant":"acme","resource":"r"}{}`, nil},
	{"a word follows", `{"tenant":"acme","resource":"r"} x`, nil},
	{"byte order mark", "\ufeff" + `{"tenant":"acme","resource":"r"}`, nil},
	{"NUL after the document", `{"tenant":"acme","resource":"r"}` + "\x00", nil},
	{"member twice", `{"tenant":"acme","resource":"r","tenant":"globex"}`, []string{"tenant"}},
	{"member twice, once in escapes", `{"tenant":"acme","resource":"r","\u0074enant":"globex"}`, []string{"tenant"}},
	{"attribute twice", with(`"attributes":{"ip":"1","ip":"2"}`), []string{"attributes.ip"}},
	{"unknown member twice", with(`"x":{"y":1,"y":2}`), []string{"x.y"}},
	{"bad UTF-8 in a value", `{"tenant":"acme","resource":"` + "\xff" + `"}`, []string{"resource"}},
	{"bad UTF-8 in a name", `{"tenant":"acme","resource":"r","` + "\xff" + `":1}`, nil},
	{"overlong UTF-8", `{"tenant":"acme","resource":"` + "\xc0\xaf" + `"}`, []string{"resource"}},
	{"UTF-8 of half a pair", `{"tenant":"acme","resource":"` + "\xed\xa0\x80" + `"}`, []string{"resource"}},
	{"escape of half a pair", `{"tenant":"acme","resource":"\ud800"}`, []string{"resource"}},
	{"unknown escape", `{"tenant":"acme","resource":"\x41"}`, []string{"resource"}},
	{"raw newline in a string", "{\"tenant\":\"acme\",\"resource\":\"a\nb\"}", []string{"resource"}},
	{"deep arrays", strings.Repeat("[", 60_000), []string{"0.0.0.0"}},
	{"deep objects", strings.Repeat(`{"a":`, 12_000), []string{"a.a.a.a"}},
	{"deep unknown member", with(`"x":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000)), []string{"x.0.0.0"}},

	// not a check
	{"array", `[]`, []string{""}},
	{"string", `"acme"`, []string{""}},
	{"number", `1`, []string{""}},
	{"null", `null`, []string{""}},
	{"nothing in it", `{}`, []string{"resource", "tenant"}},

	// tenant
	{"no tenant", `{"resource":"r"}`, []string{"tenant"}},
	{"tenant null", `{"tenant":null,"resource":"r"}`, []string{"tenant"}},
	{"tenant empty", `{"tenant":"","resource":"r"}`, []string{"tenant"}},
	{"tenant a number", `{"tenant":7,"resource":"r"}`, []string{"tenant"}},
	{"tenant an array", `{"tenant":["acme"],"resource":"r"}`, []string{"tenant"}},
	{"tenant with a space", `{"tenant":"ac me","resource":"r"}`, []string{"tenant"}},
	{"tenant with a slash", `{"tenant":"ac/me","resource":"r"}`, []string{"tenant"}},
	{"tenant with a bar", `{"tenant":"ac|me","resource":"r"}`, []string{"tenant"}},
	{"tenant not ASCII", `{"tenant":"acmé","resource":"r"}`, []string{"tenant"}},
	{"tenant with an escaped newline", `{"tenant":"acme\n","resource":"r"}`, []string{"tenant"}},
	{"tenant of 129 letters", `{"tenant":"` + strings.Repeat("a", 129) + `","resource":"r"}`, []string{"tenant"}},
	{"Tenant with a capital", `{"Tenant":"acme","resource":"r"}`, []string{"Tenant", "tenant"}},

	// resource
	{"no resource", `{"tenant":"acme"}`, []string{"resource"}},
	{"resource null", `{"tenant":"acme","resource":null}`, []string{"resource"}},
	{"resource empty", `{"tenant":"acme","resource":""}`, []string{"resource"}},
	{"resource an object", `{"tenant":"acme","resource":{"a":"b"}}`, []string{"resource"}},
	{"resource of 513 bytes", `{"tenant":"acme","resource":"` + strings.Repeat("r", 513) + `"}`, []string{"resource"}},
	{"resource of 514 bytes in 257 letters", `{"tenant":"acme","resource":"` + strings.Repeat("é", 257) + `"}`, []string{"resource"}},
	{"resource with NUL", `{"tenant":"acme","resource":"a\u0000"}`, []string{"resource"}},
	{"resource with a tab", `{"tenant":"acme","resource":"a\tb"}`, []string{"resource"}},
	{"resource with DEL", `{"tenant":"acme","resource":"a` + "\x7f" + `"}`, []string{"resource"}},
	{"resource with a C1 control", `{"tenant":"acme","resource":"a\u0085"}`, []string{"resource"}},

	// subject
	{"subject null", with(`"subject":null`), []string{"subject"}},
	{"subject a boolean", with(`"subject":true`), []string{"subject"}},
	{"subject of 1,025 bytes", with(`"subject":"` + strings.Repeat("s", 1025) + `"`), []string{"subject"}},
	{"subject with a control character", with(`"subject":"\u001f"`), []string{"subject"}},

	// attributes
	{"attributes null", with(`"attributes":null`), []string{"attributes"}},
	{"attributes an array", with(`"attributes":["ip"]`), []string{"attributes"}},
	{"attributes a string", with(`"attributes":"ip"`), []string{"attributes"}},
	{"attribute null", with(`"attributes":{"ip":null}`), []string{"attributes.ip"}},
	{"attribute a number", with(`"attributes":{"ip":1}`), []string{"attributes.ip"}},
	{"attribute an object", with(`"attributes":{"ip":{"v4":"1"}}`), []string{"attributes.ip"}},
	{"attribute without a name", with(`"attributes":{"":"x"}`), []string{"attributes."}},
	{"attribute's name of 1,025 bytes", with(`"attributes":{"` + strings.Repeat("n", 1025) + `":"x"}`), []string{"attributes." + strings.Repeat("n", 80) + "…"}},
	{"attribute's name with a control character", with(`"attributes":{"a\u0001":"x"}`), []string{"attributes.a\x01"}},
	{"attribute of 1,025 bytes", with(`"attributes":{"ip":"` + strings.Repeat("v", 1025) + `"}`), []string{"attributes.ip"}},
	{"attribute with a control character", with(`"attributes":{"ip":"\r"}`), []string{"attributes.ip"}},
	{"17 attributes", with(`"attributes":{` + many(17) + `}`), []string{"attributes"}},
	{"5,000 attributes", with(`"attributes":{` + many(5000) + `}`), []string{"attributes"}},

	// cost
	{"cost null", with(`"cost":null`), []string{"cost"}},
	{"cost a string", with(`"cost":"1"`), []string{"cost"}},
	{"cost a boolean", with(`"cost":false`), []string{"cost"}},
	{"cost negative", with(`"cost":-1`), []string{"cost"}},
	{"cost of 2³¹", with(`"cost":2147483648`), []string{"cost"}},
	{"cost beyond 64 bits", with(`"cost":18446744073709551617`), []string{"cost"}},
	{"cost of 1,000 digits", with(`"cost":` + strings.Repeat("9", 1000)), []string{"cost"}},
	{"cost with a fraction", with(`"cost":1.5`), []string{"cost"}},
	{"cost with a fraction of nothing", with(`"cost":1.0`), []string{"cost"}},
	{"cost with an exponent", with(`"cost":1e2`), []string{"cost"}},
	{"cost with a huge exponent", with(`"cost":1E999999999`), []string{"cost"}},
	{"cost with a plus", with(`"cost":+1`), []string{"cost"}},
	{"cost with a zero before", with(`"cost":01`), nil},
	{"cost in hexadecimal", with(`"cost":0x10`), nil},
	{"cost not a number", with(`"cost":NaN`), []string{"cost"}},

	// request_id and max_wait_ms
	{"request_id of 257 bytes", with(`"request_id":"` + strings.Repeat("r", 257) + `"`), []string{"request_id"}},
	{"request_id with a line feed", with(`"request_id":"r\n"`), []string{"request_id"}},
	{"request_id null", with(`"request_id":null`), []string{"request_id"}},
	{"request_id a number", with(`"request_id":1`), []string{"request_id"}},
	{"max_wait_ms negative", with(`"max_wait_ms":-1`), []string{"max_wait_ms"}},
	{"max_wait_ms above 30,000", with(`"max_wait_ms":30001`), []string{"max_wait_ms"}},
	{"max_wait_ms a string", with(`"max_wait_ms":"0"`), []string{"max_wait_ms"}},
	{"max_wait_ms null", with(`"max_wait_ms":null`), []string{"max_wait_ms"}},
	{"max_wait_ms with a fraction", with(`"max_wait_ms":0.5`), []string{"max_wait_ms"}},
	{"max_wait_ms beyond 64 bits", with(`"max_wait_ms":18446744073709551616`), []string{"max_wait_ms"}},

	// unknown members
	{"unknown member", with(`"priority":1`), []string{"priority"}},
	{"unknown member with a huge name", with(`"` + strings.Repeat("é", 3000) + `":1`), []string{strings.Repeat("é", 40) + "…"}},
	{"unknown member to be cut in a letter", with(`"a` + strings.Repeat("é", 3000) + `":1`), []string{"a" + strings.Repeat("é", 39) + "…"}},
	{"cost with a capital", with(`"Cost":1`), []string{"Cost"}},
	{"max_wait_ms as a camel", with(`"maxWaitMs":0`), []string{"maxWaitMs"}},
	{"members of a lease", with(`"min":1,"max":5,"ttl_ms":1000`), []string{"max", "min", "ttl_ms"}},
	{"several faults", `{"resource":"","cost":-1,"x":1}`, []string{"cost", "resource", "tenant", "x"}},
}

func TestBadChecksGetNoDecision(t *testing.T) {
	for _, c := range badChecks {
		t.Run(c.name, func(t *testing.T) {
			d := newDoor(t)
			a := d.post("/v1/check", c.body)
			a.has(400, invalid)
			if got := faulty(a.members); !slices.Equal(got, c.members) {
				t.Errorf("named %q, want %q: %s", got, c.members, a.body)
			}
			if len(d.calls)+len(d.requests) > 0 {
				t.Error("it was decided")
			}
			if len(a.body) > 4096 {
				t.Errorf("the answer has %d bytes", len(a.body))
			}
		})
	}
}

func TestFaultsAreToldUpToABound(t *testing.T) {
	a := newDoor(t).post("/v1/check", with(many(100)))
	a.has(400, invalid)
	if n := len(faulty(a.members)); n != maxFaults {
		t.Errorf("%d faults were told, want %d", n, maxFaults)
	}
	if detail := a.members["detail"].(string); !strings.HasSuffix(detail, "; and 84 more.") {
		t.Errorf("detail does not end with how many are left: %q", detail)
	}
}

func TestDetailSaysWhatToDo(t *testing.T) {
	for body, want := range map[string]string{
		``:                                    `The body is empty; send a JSON object.`,
		`{"tenant":`:                          `The body is not JSON: it ends too early.`,
		`{"tenant":"acme"}`:                   `resource is required: what is called, as in "GET /search".`,
		with(`"cost":1.5`):                    `cost must be a whole number, written without a fraction or an exponent.`,
		with(`"cost":1E2`):                    `cost must be a whole number, written without a fraction or an exponent.`,
		with(`"max_wait_ms":30001`):           `max_wait_ms must be from 0 to 30000.`,
		with(`"cost":-1`):                     `cost must be from 0 to 2147483647.`,
		with(`"cost":null`):                   `cost must be a whole number, not null; leave it out instead.`,
		with(`"subject":7`):                   `subject must be a string, not a number.`,
		with(`"cost":1,"cost":2`):             `cost is there twice; keep one.`,
		with(`"cost":-1,"subject":"\u00"`):    "subject is not JSON at byte 63: invalid escape sequence `\\u00\"}` in string.",
		`{"tenant":"acme","resource":"r"} {}`: `Something follows the JSON document; send one object only.`,
		with(`"cost":-1,"subject":1`):         `cost must be from 0 to 2147483647; subject must be a string, not a number.`,
	} {
		if got := newDoor(t).post("/v1/check", body).members["detail"]; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", body, got, want)
		}
	}
}

func TestGoodChecksAreDecided(t *testing.T) {
	acme := quota.Request{Tenant: "acme", Resource: "GET /search"}
	longest := strings.Repeat("Az09._:@", 16) // 128 bytes
	for _, c := range []struct {
		name, body string
		want       quota.Request
		cost       int64
	}{
		{"least", `{"tenant":"acme","resource":"GET /search"}`, acme, 1},
		{"spaced", " {\r\n\t\"tenant\" : \"acme\" , \"resource\" : \"GET /search\" } \n", acme, 1},
		{"escapes", `{"\u0074enant":"\u0061cme","resource":"GET \/search"}`, acme, 1},
		{"cost 0", with(`"cost":0`), acme, 0},
		{"cost -0", with(`"cost":-0`), acme, 0},
		{"highest cost", with(`"cost":2147483647`), acme, 1<<31 - 1},
		{"members unused", with(`"request_id":"","max_wait_ms":0`), acme, 1},
		{"subject empty", with(`"subject":""`), acme, 1},
		{"no attributes", with(`"attributes":{}`), acme, 1},
		{"64 KB", padded(64 << 10), acme, 1},
		{
			"everything", `{"tenant":"acme","resource":"GET /search","subject":"user:42","attributes":{"ip":"203.0.113.9","Ünï \"q\"":"","\ud83d\ude00":"x"},"cost":3}`,
			quota.Request{Tenant: "acme", Resource: "GET /search", Subject: "user:42", Attributes: map[string]string{"ip": "203.0.113.9", `Ünï "q"`: "", "😀": "x"}},
			3,
		},
		{
			"longest", `{"tenant":"` + longest + `","resource":"` + strings.Repeat("é", 256) + `","subject":"` + strings.Repeat("s", 1024) + `","attributes":{"` + strings.Repeat("n", 1024) + `":"` + strings.Repeat("v", 1024) + `"}}`,
			quota.Request{
				Tenant: longest, Resource: strings.Repeat("é", 256), Subject: strings.Repeat("s", 1024),
				Attributes: map[string]string{strings.Repeat("n", 1024): strings.Repeat("v", 1024)},
			},
			1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDoor(t)
			d.post("/v1/check", c.body).has(200, "")
			if len(d.requests) != 1 || len(d.calls) != 1 {
				t.Fatalf("matched %d times, decided %d times", len(d.requests), len(d.calls))
			}
			got := d.requests[0]
			if got.Tenant != c.want.Tenant || got.Resource != c.want.Resource || got.Subject != c.want.Subject || !maps.Equal(got.Attributes, c.want.Attributes) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if d.calls[0].Cost != c.cost {
				t.Errorf("cost is %d, want %d", d.calls[0].Cost, c.cost)
			}
		})
	}
}

func TestWaitIsPassedOn(t *testing.T) {
	for body, want := range map[string]time.Duration{
		with(`"cost":1`):            0,
		with(`"max_wait_ms":0`):     0,
		with(`"max_wait_ms":250`):   250 * time.Millisecond,
		with(`"max_wait_ms":30000`): 30 * time.Second,
	} {
		d := newDoor(t)
		d.post("/v1/check", body).has(200, "")
		if got := d.calls[0].MaxWait; got != want {
			t.Errorf("%s: it may wait for %s, want %s", body, got, want)
		}
	}
}

func TestSixteenAttributesAreAccepted(t *testing.T) {
	newDoor(t).post("/v1/check", with(`"attributes":{`+many(16)+`}`)).has(200, "")
}

func TestBodiesAreBounded(t *testing.T) {
	for _, c := range []struct {
		name, path string
		size       int
		declared   bool
	}{
		{"check, declared", "/v1/check", 64<<10 + 1, true},
		{"check, found out", "/v1/check", 64<<10 + 1, false},
		{"check, huge", "/v1/check", 10 << 20, false},
		{"batch, declared", "/v1/checks", 256<<10 + 1, true},
		{"batch, found out", "/v1/checks", 256<<10 + 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDoor(t)
			r := post(c.path, padded(c.size))
			if !c.declared {
				r.ContentLength = -1
			}
			d.send(r).has(413, tooLong)
			if len(d.calls) > 0 {
				t.Error("it was decided")
			}
		})
	}
}

func TestBodyBoundedElsewhereIsTooLarge(t *testing.T) {
	d := newDoor(t)
	r := post("/v1/check", padded(1000))
	r.ContentLength = -1
	r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, 100)
	d.send(r).has(413, tooLong)
}

func TestBodyDeclaredTooLargeIsNotRead(t *testing.T) {
	d := newDoor(t)
	r := post("/v1/check", padded(64<<10+1))
	r.Body = io.NopCloser(readerFunc(func([]byte) (int, error) {
		t.Error("it was read")
		return 0, io.EOF
	}))
	d.send(r).has(413, tooLong)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// What came before a body broke off may be a whole check; it need not be what was meant.
func TestBodyThatBreaksOffIsInvalid(t *testing.T) {
	d := newDoor(t)
	r := post("/v1/check", "")
	broken := readerFunc(func([]byte) (int, error) { return 0, io.ErrUnexpectedEOF })
	r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(padded(100)), broken)), -1
	d.send(r).has(400, invalid)
	if len(d.calls) > 0 {
		t.Error("it was decided")
	}
}

func TestRequestWithoutABodyIsInvalid(t *testing.T) {
	d := newDoor(t)
	r := post("/v1/check", "")
	r.Body = nil
	d.send(r).has(400, invalid)
}

func TestContentTypes(t *testing.T) {
	for header, want := range map[string]int{
		"Content-Type: application/json":                    200,
		"Content-Type: application/json; charset=utf-8":     200,
		`Content-Type: Application/JSON;charset="UTF-8"`:    200,
		"Content-Type: application/json; charset=iso8859-1": 415,
		"Content-Type: application/json; charset":           415,
		"Content-Type: application/problem+json":            415,
		"Content-Type: application/x-www-form-urlencoded":   415,
		"Content-Type: text/plain":                          415,
		"Content-Type: ":                                    415,
		"Content-Type: application/json, text/plain":        415,
		"Content-Encoding: identity":                        200,
		"Content-Encoding: gzip":                            415,
	} {
		t.Run(header, func(t *testing.T) {
			d := newDoor(t)
			a := d.check(header)
			if want == 200 {
				a.has(200, "")
				return
			}
			a.has(want, unsupported)
			if len(d.calls) > 0 {
				t.Error("it was decided")
			}
		})
	}
}

func TestContentTypeIsRequiredOnce(t *testing.T) {
	d := newDoor(t)
	r := post("/v1/check", padded(100))
	r.Header.Del("Content-Type")
	a := d.send(r)
	a.has(415, unsupported)
	if want := "The header Content-Type is missing; it must be application/json."; a.members["detail"] != want {
		t.Errorf("detail is %q", a.members["detail"])
	}
	r = post("/v1/check", padded(100))
	r.Header["Content-Type"] = []string{"application/json", "application/json"}
	d.send(r).has(415, unsupported)
}

func FuzzCheckBody(f *testing.F) {
	for _, c := range badChecks {
		if len(c.body) < 2000 {
			f.Add(c.body)
		}
	}
	f.Add(with(`"subject":"user:42","attributes":{"ip":"203.0.113.9"},"cost":1,"request_id":"","max_wait_ms":0`))
	f.Add(`{"checks":[{"tenant":"acme","resource":"r"},{"tenant":"acme"}]}`)
	f.Add(with(`"min":1,"max":500,"ttl_ms":1000`))
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/v1/check", "/v1/checks", "/v1/leases"} {
			d := newDoor(t)
			a := d.post(path, body)
			switch a.StatusCode {
			case http.StatusOK:
				if len(d.calls) == 0 && path != "/v1/checks" {
					t.Errorf("%s: allowed without a decision", body)
				}
			case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
				if len(d.calls) > 0 {
					t.Errorf("%s: charged and refused", body)
				}
			default:
				t.Errorf("%s: status %d: %s", body, a.StatusCode, a.body)
			}
			if strings.Contains(d.log.String(), `"level":"ERROR"`) {
				t.Errorf("%s: panicked: %s", body, d.log)
			}
			for _, r := range d.requests {
				if !isTenant([]byte(r.Tenant)) || r.Resource == "" || len(r.Resource) > maxResource || len(r.Subject) > maxPart || len(r.Attributes) > maxAttributes {
					t.Errorf("%s: decided %+v", body, r)
				}
			}
		}
	})
}
