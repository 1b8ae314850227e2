package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/integration/runtimeapi"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// The APIs that ask the authorizer, by the events that they send it: two kinds of REST API's, an
// HTTP API's.
var apis = []string{"rest_token", "rest_request", "http_v2"}

// asks is the event of a request with a key; without one it has no Authorization.
func asks(t *testing.T, api, key string) object {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../functions/internal/authorizer/testdata", api+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var e object
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	bearer := "Bearer " + key
	switch {
	case api == "rest_token" && key == "":
		delete(e, "authorizationToken")
	case api == "rest_token":
		e["authorizationToken"] = bearer
	case api == "http_v2" && key == "":
		delete(e["headers"].(object), "authorization")
	case api == "http_v2":
		e["headers"].(object)["authorization"] = bearer
	case key == "":
		delete(e["headers"].(object), "Authorization")
		delete(e["multiValueHeaders"].(object), "Authorization")
	default:
		e["headers"].(object)["Authorization"] = bearer
		e["multiValueHeaders"].(object)["Authorization"] = []string{bearer}
	}
	return e
}

// An admission is what API Gateway makes of an authorizer's answer: the status that a caller gets
// when a REST API has the gateway responses of examples/authorizer, and the context.
type admission struct {
	status  int
	context map[string]string
}

// admit asks the authorizer as API Gateway does, and reads the answer as it does.
func admit(t *testing.T, f *runtimeapi.Environment, event object) (admission, error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return admission{}, err
	}
	out, err := f.Invoke(t.Context(), payload)
	if fault, ok := errors.AsType[*runtimeapi.FunctionError](err); ok {
		if fault.Message == "Unauthorized" {
			return admission{status: 401}, nil
		}
		return admission{status: 503}, nil
	}
	if err != nil {
		return admission{}, err
	}
	var a struct {
		PrincipalID    string
		IsAuthorized   *bool
		PolicyDocument struct {
			Statement []struct {
				Action, Resource []string
				Effect           string
			}
		}
		Context map[string]string
	}
	if err := json.Unmarshal(out, &a); err != nil {
		return admission{}, fmt.Errorf("%w: %s", err, out)
	}
	if a.IsAuthorized != nil {
		return admission{status: map[bool]int{true: 200, false: 403}[*a.IsAuthorized], context: a.Context}, nil
	}
	if len(a.PolicyDocument.Statement) != 1 || a.PrincipalID == "" {
		return admission{}, fmt.Errorf("the answer is malformed: %s", out)
	}
	s := a.PolicyDocument.Statement[0]
	if s.Effect == "Allow" && slices.Contains(s.Action, "execute-api:Invoke") && slices.Contains(s.Resource, event["methodArn"].(string)) {
		return admission{200, a.Context}, nil
	}
	return admission{429, a.Context}, nil
}

func admits(t *testing.T, f *runtimeapi.Environment, event object) admission {
	t.Helper()
	a, err := admit(t, f, event)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a admission) want(t *testing.T, status int, context ...string) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d; context %v", a.status, status, a.context)
	}
	for i := 0; i+1 < len(context); i += 2 {
		if got := a.context[context[i]]; got != context[i+1] {
			t.Errorf("%s of the context is %q, want %q", context[i], got, context[i+1])
		}
	}
}

// refusal is what a caller gets who is refused. An HTTP API cannot say 429.
func refusal(api string) int {
	if strings.HasPrefix(api, "http") {
		return 403
	}
	return 429
}

func TestTheAuthorizerAdmitsUntilALimitIsUsedUp(t *testing.T) {
	for _, api := range apis {
		t.Run(api, func(t *testing.T) {
			d := deploy(t, limited(bucket(2)))
			key := d.key(t, apikey.CheckOwn, "acme")
			f := launchFunction(t, built.authorizer, d.env...)
			for _, remaining := range []string{"1", "0"} {
				admits(t, f, asks(t, api, key)).want(t, 200, "allowed", "true", "tenant", "acme", "limit", "per-user",
					"quota", "2", "remaining", remaining, "source", "store", "rateLimitPolicy", `"per-user";q=2;w=86400`, "retryAfter", "")
			}
			a := admits(t, f, asks(t, api, key))
			a.want(t, refusal(api), "allowed", "false", "reason", "quota", "remaining", "0")
			for _, name := range []string{"retryAfter", "rateLimit", "rateLimitPolicy", "reset"} {
				if a.context[name] == "" {
					t.Errorf("%s is missing in the context of a refusal", name)
				}
			}
			admits(t, f, asks(t, api, key)).want(t, refusal(api), "source", "memory")
			if f.Failed() != 0 {
				t.Errorf("%d events ended in an error of the function", f.Failed())
			}
		})
	}
}

func TestWhomTheAuthorizerKnows(t *testing.T) {
	d := deploy(t, limited(bucket(1000)))
	forged, _ := apikey.Mint([]byte("another secret"), apikey.Options{Scopes: []apikey.Scope{apikey.CheckOwn}, Tenant: "acme", Now: time.Now()})
	unknown, _ := apikey.Mint([]byte(secret), apikey.Options{Scopes: []apikey.Scope{apikey.CheckOwn}, Tenant: "acme", Now: time.Now()})
	f := launchFunction(t, built.authorizer, d.env...)
	for name, c := range map[string]struct {
		key    string
		status int
	}{
		"a tenant's key":         {d.key(t, apikey.CheckOwn, "globex"), 200},
		"no key":                 {"", 401},
		"no key at all":          {"secret", 401},
		"a key of another stack": {forged, 401},
		"a key that is not kept": {unknown, 401},
		"a service's key":        {d.key(t, apikey.CheckAny, ""), 401},
		"of an unknown tenant":   {d.key(t, apikey.CheckOwn, "initech"), 401},
	} {
		for _, api := range apis {
			t.Run(name+" "+api, func(t *testing.T) { admits(t, f, asks(t, api, c.key)).want(t, c.status) })
		}
	}
}

// One count for all doors: what the authorizer admitted, the check function has counted too.
func TestTheAuthorizerCountsWhatTheCheckFunctionDoes(t *testing.T) {
	d := deploy(t, limited(quota.Limit{Name: "per-route", By: []string{"resource"}, Algorithm: "token_bucket", Quota: 5, Period: "day"}))
	key := d.key(t, apikey.CheckOwn, "acme")
	f := launchFunction(t, built.authorizer, d.env...)
	for _, api := range []string{"rest_request", "http_v2"} {
		admits(t, f, asks(t, api, key)).want(t, 200)
	}
	other := asks(t, "rest_request", key) // another path of the same route
	other["path"], other["pathParameters"] = "/pets/43", object{"id": "43"}
	other["methodArn"] = strings.Replace(other["methodArn"].(string), "/pets/42", "/pets/43", 1)
	admits(t, f, other).want(t, 200, "remaining", "2")
	checked := launch(t, d.env...)
	invoke(t, checked, keyed(t, "v2_check", key, object{"resource": "GET /pets/{id}"})).want(t, 200, "remaining", 1.0)
}

// A flood on one key costs what the limit admits, and next to nothing after. On a machine so slow
// that a write takes longer than a decision may, the limit here denies, and that is a 503.
func TestAFloodOnOneKeyThroughTheAuthorizer(t *testing.T) {
	const instances, calls, due = 4, 100, 20
	limit := bucket(due)
	limit.OnStoreError = quota.Deny
	d := deploy(t, limited(limit))
	seen := watch(t, dynamotest.Endpoint(t), d.tables)
	key := d.key(t, apikey.CheckOwn, "acme")
	var mu sync.Mutex
	statuses := map[int]int{}
	var wg sync.WaitGroup
	for range instances {
		f := launchFunction(t, built.authorizer, environment(seen.url, d.tables)...)
		e := asks(t, "rest_request", key)
		wg.Go(func() {
			for range calls {
				a, err := admit(t, f, e)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				statuses[a.status]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	writes, reads := seen.count("State UpdateItem"), seen.count("Config GetItem")
	t.Logf("%d calls: %d writes, %d reads of keys and plans; statuses %v", instances*calls, writes, reads, statuses)
	allowed, undecided := statuses[http.StatusOK], statuses[http.StatusServiceUnavailable]
	if allowed > due || allowed+undecided < due || allowed+undecided+statuses[http.StatusTooManyRequests] != instances*calls {
		t.Errorf("statuses %v, want %d of 200 and the rest 429", statuses, due)
	}
	// Each that is admitted is a write, and while there are permits left some lose a race; then
	// each instance is told that it is over.
	if most := 2*due + 3*(instances+undecided); writes > most {
		t.Errorf("%d writes for %d calls, want %d at most", writes, instances*calls, most)
	}
	if most := 5 * instances; reads > most {
		t.Errorf("%d reads for %d calls, want %d at most", reads, instances*calls, most)
	}
}

func TestTheAuthorizerWithoutItsTables(t *testing.T) {
	for policy, want := range map[quota.OnStoreError]admission{
		quota.Local: {200, map[string]string{"degraded": "local", "source": "local"}},
		quota.Allow: {200, map[string]string{"degraded": "open"}},
		quota.Deny:  {503, nil}, // which is neither 429 nor 401
	} {
		t.Run("state "+string(policy), func(t *testing.T) {
			limit := bucket(100)
			limit.OnStoreError = policy
			d := deploy(t, limited(limit))
			key := d.key(t, apikey.CheckOwn, "acme")
			f := launchFunction(t, built.authorizer, environment(dynamotest.Endpoint(t), dynamo.Tables{State: "absent-state", Config: d.tables.Config})...)
			begin := time.Now()
			a := admits(t, f, asks(t, "rest_request", key))
			if took := time.Since(begin); took > patience {
				t.Errorf("the answer took %s", took)
			}
			a.want(t, want.status)
			for name, value := range want.context {
				a.want(t, want.status, name, value)
			}
		})
	}
	t.Run("config", func(t *testing.T) {
		d := deploy(t, limited(bucket(100)))
		key := d.key(t, apikey.CheckOwn, "acme")
		f := launchFunction(t, built.authorizer, environment(dynamotest.Endpoint(t), dynamo.Tables{State: d.tables.State, Config: "absent-config"})...)
		admits(t, f, asks(t, "rest_request", key)).want(t, 503) // a key that cannot be looked up is no bad one
	})
}

func TestTheAuthorizersRoleAllowsWhatItDoes(t *testing.T) {
	tenantWide := window(2) // in an item of its own: one that refuses has the other give back
	tenantWide.Name, tenantWide.By = "per-tenant", nil
	d := deploy(t, limited(bucket(3), tenantWide))
	seen := watch(t, dynamotest.Endpoint(t), d.tables)
	key := d.key(t, apikey.CheckOwn, "acme")
	f := launchFunction(t, built.authorizer, environment(seen.url, d.tables)...)
	for _, status := range []int{200, 200, 429, 429} {
		admits(t, f, asks(t, "rest_token", key)).want(t, status)
	}
	other := launchFunction(t, built.authorizer, environment(seen.url, d.tables)...) // remembers nothing
	admits(t, other, asks(t, "rest_token", key)).want(t, 429)
	if allowed, done := allowedActions(t, "AuthorizerRole"), seen.actions(); !slices.Equal(allowed, done) {
		t.Errorf("template.yaml allows %v, and the function does %v", allowed, done)
	}
}

func TestTheAuthorizerDoesNotStartWithoutItsEnvironment(t *testing.T) {
	f := launchFunction(t, built.authorizer, "PENSTOCK_STATE_TABLE=state", "PENSTOCK_TENANT=nobody")
	_, err := f.Ready(t.Context())
	for _, name := range []string{"PENSTOCK_CONFIG_TABLE", "PENSTOCK_SECRET", "PENSTOCK_TENANT", "exit status 1"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v does not say %s", err, name)
		}
	}
}
