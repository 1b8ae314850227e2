package integration_test

import (
	"bytes"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/console"
	"github.com/seed43908478/penstock/integration/runtimeapi"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// An administrator calls the admin function through an HTTP API.
type administrator struct {
	t   *testing.T
	f   *runtimeapi.Environment
	key string
}

func launchAdmin(t *testing.T, env ...string) administrator {
	t.Helper()
	return administrator{t, launchFunction(t, built.admin, env...), adminKey}
}

// do sends a request to an address below /admin/v1/; headers are "name: value".
func (a administrator) do(method, address string, body object, header ...string) answer {
	a.t.Helper()
	e := event(a.t, "v2_check", body)
	if body == nil {
		delete(e, "body")
	}
	path, query, _ := strings.Cut("/admin/v1/"+address, "?")
	e["routeKey"], e["rawPath"], e["rawQueryString"] = "ANY /admin/{proxy+}", path, query
	values, err := url.ParseQuery(query)
	if err != nil {
		a.t.Fatal(err)
	}
	parameters := object{}
	for name := range values {
		parameters[name] = values.Get(name)
	}
	e["queryStringParameters"] = parameters
	request := e["requestContext"].(object)["http"].(object)
	request["method"], request["path"] = method, path
	headers := e["headers"].(object)
	delete(headers, "authorization")
	if a.key != "" {
		headers["authorization"] = "Bearer " + a.key
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		headers[name] = value
	}
	return invoke(a.t, a.f, e)
}

var tiny = object{"limits": []object{{"name": "per-user", "by": []string{"subject"}, "algorithm": "token_bucket", "quota": 2, "period": "day"}}}

// From an empty table to the first refused call of a new tenant, by the functions alone.
func TestFromAnEmptyTableToTheFirstRefusal(t *testing.T) {
	d := deploy(t, nil)
	admin := launchAdmin(t, d.env...)
	admin.do("GET", "tenants", nil).want(t, 200, "cursor", "")
	admin.do("PUT", "plans/tiny", tiny).want(t, 201, "name", "tiny")
	made := admin.do("PUT", "tenants/acme", object{"plan": "tiny"})
	made.want(t, 201, "plan", "tiny")
	key := admin.do("POST", "tenants/acme/keys", object{})
	key.want(t, 201, "tenant", "acme")

	check := launch(t, d.env...)
	call := keyed(t, "v2_check", key.body["key"].(string), ask("alice"))
	invoke(t, check, call).want(t, 200)
	invoke(t, check, call).want(t, 200)
	invoke(t, check, call).want(t, 429, "limit", "per-user")

	explained := admin.do("POST", "explain", ask("alice"))
	explained.want(t, 200, "allowed", false, "limit", "per-user")
	admin.do("GET", "tenants/acme/usage?subject=alice", nil).want(t, 200, "plan", "tiny")
	admin.do("POST", "tenants/acme/reset", object{"subject": "alice"}).want(t, 200, "scope", "key")
	admin.do("POST", "explain", ask("alice")).want(t, 200, "allowed", true)
	invoke(t, launch(t, d.env...), call).want(t, 200, "remaining", 1.0) // an instance that remembers nothing

	admin.do("PUT", "tenants/acme", object{"plan": "tiny", "limits": []object{}}).want(t, 428)
	admin.do("PUT", "tenants/acme", object{"plan": "none"}, "if-match: "+made.header["etag"]).want(t, 400)
	admin.do("POST", "tenants/acme/reset", object{}).want(t, 200, "scope", "tenant")
	admin.do("PUT", "tenants/acme", object{"plan": "tiny"}, "if-match: "+made.header["etag"]).want(t, 412)
	admin.do("DELETE", "tenants/acme/keys/"+key.body["id"].(string), nil).want(t, 204)
	admin.do("DELETE", "tenants/acme", nil).want(t, 204)
	admin.do("DELETE", "plans/tiny", nil).want(t, 204)
	invoke(t, launch(t, d.env...), call).want(t, 401)
}

// The console is files, which nobody needs a key for.
func TestTheAdminFunctionServesTheConsole(t *testing.T) {
	e := event(t, "v2_check", nil)
	delete(e, "body")
	delete(e["headers"].(object), "authorization")
	e["routeKey"] = "GET /console/{proxy+}"
	request := e["requestContext"].(object)["http"].(object)
	request["method"] = "GET"
	admin := launchAdmin(t, deploy(t, nil).env...)
	for path, want := range map[string]string{"index.html": "text/html; charset=utf-8", "app/main.js": "text/javascript; charset=utf-8", "vendor/uplot/uPlot.esm.js": "text/javascript; charset=utf-8"} {
		e["rawPath"], request["path"] = console.Root+path, console.Root+path
		a := invoke(t, admin.f, e)
		a.want(t, 200)
		if got := a.header["content-type"]; got != want || !strings.Contains(a.header["content-security-policy"], "default-src 'none'") {
			t.Errorf("%s: %v", path, a.header)
		}
	}
}

// So is the description of all endpoints.
func TestTheAdminFunctionServesTheDescription(t *testing.T) {
	e := event(t, "v2_check", nil)
	delete(e, "body")
	delete(e["headers"].(object), "authorization")
	request := e["requestContext"].(object)["http"].(object)
	request["method"] = "GET"
	admin := launchAdmin(t, deploy(t, nil).env...)
	for path, want := range map[string]string{
		"/openapi.json": "application/json", "/openapi.yaml": "application/yaml", "/docs": "text/html; charset=utf-8", "/docs/rapidoc-min.js": "text/javascript; charset=utf-8",
	} {
		e["routeKey"], e["pathParameters"] = "GET "+path, object{}
		if file, ok := strings.CutPrefix(path, "/docs/"); ok {
			e["routeKey"], e["pathParameters"] = "GET /docs/{file}", object{"file": file}
		}
		e["rawPath"], request["path"] = path, path
		a := invoke(t, admin.f, e)
		a.want(t, 200)
		if got := a.header["content-type"]; got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// It is not in the check function, which would start later for it.
func TestTheCheckFunctionIsWithoutTheDescription(t *testing.T) {
	path, err := built.check()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"operationId:", "RapiDoc"} {
		if bytes.Contains(binary, []byte(of)) {
			t.Errorf("%q is in the check function", of)
		}
	}
}

// What API Gateway says of the caller does not administer: a key does.
func TestOnlyKeysAdminister(t *testing.T) {
	d := deploy(t, limited(bucket(5)))
	admin := launchAdmin(t, d.env...)
	for name, c := range map[string]struct {
		key    string
		status int
	}{
		"nobody":           {"", 401},
		"a service":        {d.key(t, apikey.CheckAny, ""), 403},
		"the tenant":       {d.key(t, apikey.CheckOwn, "acme"), 403},
		"an administrator": {d.key(t, apikey.Admin, ""), 200},
	} {
		caller := admin
		caller.key = c.key
		if a := caller.do("GET", "tenants/acme", nil); a.status != c.status {
			t.Errorf("%s: status %d, want %d", name, a.status, c.status)
		}
	}
	e := signed(t, nil)
	e["rawPath"] = "/admin/v1/tenants"
	e["requestContext"].(object)["http"].(object)["method"] = "GET"
	invoke(t, admin.f, e).want(t, 401)
}

// Every route once, and what the role allows is what was asked of the tables.
func TestTheAdminRoleAllowsWhatTheFunctionDoes(t *testing.T) {
	d := deploy(t, nil)
	seen := watch(t, dynamotest.Endpoint(t), d.tables)
	admin := launchAdmin(t, environment(seen.url, d.tables)...)
	admin.do("PUT", "plans/tiny", tiny).want(t, 201)
	admin.do("PUT", "tenants/acme", object{"plan": "tiny"}).want(t, 201)
	for range 3 { // old parts are deleted two versions later
		admin.do("PUT", "tenants/globex", object{"plan": "tiny"}, "if-none-match: *").want(t, 201)
		admin.do("DELETE", "tenants/globex", nil).want(t, 204)
	}
	key := admin.do("POST", "tenants/acme/keys", nil)
	key.want(t, 201)
	admin.do("POST", "tenants/acme/keys/"+key.body["id"].(string)+"/rotate", nil).want(t, 201)
	admin.do("GET", "tenants/acme/keys", nil).want(t, 200)
	admin.do("GET", "tenants?search=ac", nil).want(t, 200)
	admin.do("GET", "audit", nil).want(t, 200)
	admin.do("GET", "tenants/acme/usage?subject=alice", nil).want(t, 200)
	admin.do("POST", "tenants/acme/reset", object{"subject": "alice"}).want(t, 200)
	admin.do("POST", "explain", ask("alice")).want(t, 200)
	config := admin.do("GET", "config", nil)
	config.want(t, 200)
	config.body["default_plan"] = "tiny"
	admin.do("PUT", "config", config.body, "if-match: "+config.header["etag"]).want(t, 200, "default_plan", true)
	if allowed, done := allowedActions(t, "AdminRole"), seen.actions(); !slices.Equal(allowed, done) {
		t.Errorf("template.yaml allows %v, and the function does %v", allowed, done)
	}
}
