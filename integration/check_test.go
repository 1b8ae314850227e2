package integration_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/integration/runtimeapi"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

func TestAllowedUntilUsedUpThenRefused(t *testing.T) {
	d := deploy(t, limited(bucket(3)))
	for _, api := range []string{"v2_check_iam", "v1_check_iam"} {
		t.Run(api, func(t *testing.T) {
			f := launch(t, d.env...)
			for remaining := 2.0; remaining >= 0; remaining-- {
				a := invoke(t, f, event(t, api, ask(api)))
				a.want(t, 200, "allowed", true, "tenant", "acme", "limit", "per-user", "remaining", remaining, "source", "store")
			}
			a := invoke(t, f, event(t, api, ask(api)))
			a.want(t, 429, "allowed", false, "reason", "quota", "limit", "per-user", "remaining", 0.0)
			for name, want := range map[string]string{
				"content-type":          "application/problem+json",
				"cache-control":         "no-store",
				"x-ratelimit-limit":     "3",
				"x-ratelimit-remaining": "0",
			} {
				if a.header[name] != want {
					t.Errorf("%s is %q, want %q", name, a.header[name], want)
				}
			}
			for _, name := range []string{"retry-after", "x-ratelimit-retry-after", "x-ratelimit-reset", "ratelimit", "ratelimit-policy"} {
				if a.header[name] == "" {
					t.Errorf("%s is missing", name)
				}
			}
			if again := invoke(t, f, event(t, api, ask(api))); again.status != 429 || again.body["source"] != "memory" {
				t.Errorf("the next refusal is %d from %v, want 429 from memory", again.status, again.body["source"])
			}
		})
	}
}

func TestEveryWayToBeCalled(t *testing.T) {
	d := deploy(t, limited(bucket(1000)))
	key := d.key(t, apikey.CheckAny, "")
	f := launch(t, d.env...)
	for _, api := range []string{
		"v2_check", "v2_check_base64", "v2_named_stage", "v2_default_route", "v2_proxy_route", "v2_custom_domain",
		"v1_check", "v1_check_base64", "v1_proxy", "v1_custom_domain", "v1_http_api",
	} {
		t.Run(api, func(t *testing.T) {
			invoke(t, f, keyed(t, api, key, nil)).want(t, 200, "allowed", true, "tenant", "acme")
		})
	}
	t.Run("batch", func(t *testing.T) {
		a := invoke(t, f, keyed(t, "v2_checks", key, object{"checks": []object{ask("one"), ask("two")}}))
		if results, ok := a.body["results"].([]any); a.status != 200 || !ok || len(results) != 2 {
			t.Errorf("status %d, body %v; want two results", a.status, a.body)
		}
	})
}

func TestWhatIsChargedIsSettled(t *testing.T) {
	d := deploy(t, limited(bucket(1000)))
	f := launch(t, d.env...)
	charged := signed(t, ask("alice"))
	charged["body"] = text(t, object{"tenant": "acme", "resource": "GET /search", "subject": "alice", "cost": 100})
	a := invoke(t, f, charged)
	a.want(t, 200, "remaining", 900.0)
	settled := routed(t, "/v1/settle", object{"receipt": a.body["receipt"], "cost": 30})
	other := launch(t, d.env...) // an instance that knows nothing of the check
	invoke(t, other, settled).want(t, 200, "tenant", "acme", "cost", 30.0, "charged", 100.0, "repeat", false, "outcome", "known")
	invoke(t, f, settled).want(t, 200, "cost", 30.0, "repeat", true)
	invoke(t, f, signed(t, ask("alice"))).want(t, 200, "remaining", 969.0)
	invoke(t, f, routed(t, "/v1/settle", object{"receipt": "AAAA", "cost": 30})).want(t, 400)

	lease := ask("bob")
	lease["max"], lease["ttl_ms"] = 100, 1000
	invoke(t, f, routed(t, "/v1/leases", lease)).want(t, 200, "granted", 100.0, "ttl_ms", 1000.0)
}

func TestWhoMayCall(t *testing.T) {
	d := deploy(t, limited(bucket(1000)))
	service, acme, globex := d.key(t, apikey.CheckAny, ""), d.key(t, apikey.CheckOwn, "acme"), d.key(t, apikey.CheckOwn, "globex")
	f := launch(t, d.env...)
	forged, _ := apikey.Mint([]byte("another secret"), apikey.Options{Scopes: []apikey.Scope{apikey.CheckAny}, Now: time.Now()})
	for _, api := range []string{"v2_check", "v1_check"} {
		for name, test := range map[string]struct {
			key    string
			status int
		}{
			"a service's key":        {service, 200},
			"the tenant's own key":   {acme, 200},
			"another tenant's key":   {globex, 403},
			"a key of another stack": {forged, 401},
			"no key":                 {"", 401},
		} {
			t.Run(api+" "+name, func(t *testing.T) {
				invoke(t, f, keyed(t, api, test.key, ask("bob"))).want(t, test.status)
			})
		}
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	f := launch(t, deploy(t, limited(bucket(5))).env...)
	for name, test := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"no JSON":         {`{"tenant":`, 400, ""},
		"unknown member":  {`{"tenant":"acme","resource":"GET /","costs":1}`, 400, "costs"},
		"negative cost":   {`{"tenant":"acme","resource":"GET /","cost":-1}`, 400, "cost"},
		"no resource":     {`{"tenant":"acme"}`, 400, "resource"},
		"unknown tenant":  {`{"tenant":"initech","resource":"GET /"}`, 404, "tenant"},
		"more than it is": {`{"tenant":"acme","resource":"GET /","cost":6}`, 429, ""},
		"too large":       {`{"tenant":"acme","resource":"` + strings.Repeat("x", 70<<10) + `"}`, 413, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := signed(t, nil)
			e["body"] = test.body
			a := invoke(t, f, e)
			a.want(t, test.status)
			if a.header["content-type"] != "application/problem+json" || !strings.Contains(text(t, a.body), test.says) {
				t.Errorf("%s: %v; want a problem that names %s", a.header["content-type"], a.body, test.says)
			}
		})
	}
	t.Run("no event", func(t *testing.T) {
		invoke(t, f, event(t, "wrong_sqs", nil)).want(t, 400, "title", "Bad Request")
	})
	if f.Failed() != 0 {
		t.Errorf("%d events ended in an error of the function", f.Failed())
	}
}

// Sixteen instances share one key, each with its own idea of it: exactly the quota passes.
// On a machine so slow that a write takes longer than a decision may, its outcome is
// unknown, and the limits here deny then: such a call may or may not have been charged.
func TestManyInstancesAreExactTogether(t *testing.T) {
	const instances, calls, due = 16, 10, 50
	for name, limit := range map[string]quota.Limit{"bucket": bucket(due), "log": window(due)} {
		t.Run(name, func(t *testing.T) {
			limit.OnStoreError = quota.Deny
			d := deploy(t, limited(limit))
			var mu sync.Mutex
			statuses := map[int]int{}
			var wg sync.WaitGroup
			for range instances {
				f := launch(t, d.env...)
				e := signed(t, ask("one key"))
				wg.Go(func() {
					for range calls {
						a, err := try(t, f, e)
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
			allowed, unknown := statuses[http.StatusOK], statuses[http.StatusServiceUnavailable]
			if allowed > due || allowed+unknown < due || allowed+unknown+statuses[http.StatusTooManyRequests] != instances*calls {
				t.Errorf("statuses %v, want %d of 200 and the rest 429", statuses, due)
			}
		})
	}
}

func TestAConfigurationThatIsSavedLater(t *testing.T) {
	d := deploy(t, nil)
	f := launch(t, d.env...)
	invoke(t, f, signed(t, ask("early"))).want(t, 404)
	d.save(t, *limited(bucket(5)))
	eventually(t, func() bool { return invoke(t, f, signed(t, ask("late"))).status == 200 })
}

// eventually fails when something does not come true within 10 s.
func eventually(t *testing.T, true_ func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if true_() {
			return
		}
	}
	t.Fatal("it did not come true within 10 s")
}

// soon sends an event and fails when the answer takes longer than a caller would wait.
func soon(t *testing.T, f *runtimeapi.Environment, e object) answer {
	t.Helper()
	begin := time.Now()
	a := invoke(t, f, e)
	if took := time.Since(begin); took > patience {
		t.Errorf("the answer took %s", took)
	}
	return a
}

func TestConfigTableIsMissing(t *testing.T) {
	f := launch(t, environment(dynamotest.Endpoint(t), dynamo.Tables{State: "absent-state", Config: "absent-config"})...)
	soon(t, f, signed(t, ask("anyone"))).want(t, 503, "title", "Service Unavailable")
	soon(t, f, event(t, "v2_healthz", nil)).want(t, 200, "status", "ok")
	if !strings.Contains(f.Log(), "the configuration cannot be loaded") || !strings.Contains(f.Log(), "misconfigured") {
		t.Errorf("the log does not say that the table is missing:\n%s", f.Log())
	}
}

func TestNothingAnswersAtAll(t *testing.T) {
	// It accepts connections, for the system does, and says nothing.
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	f := launch(t, environment("http://"+hole.Addr().String(), dynamo.Tables{State: "some-state", Config: "some-config"})...)
	soon(t, f, signed(t, ask("anyone"))).want(t, 503)
	soon(t, f, event(t, "v2_healthz", nil)).want(t, 200)
}

func TestStateTableIsMissing(t *testing.T) {
	for policy, want := range map[quota.OnStoreError]struct {
		status  int
		members []any
	}{
		quota.Local: {200, []any{"allowed", true, "source", "local", "degraded", "local"}},
		quota.Allow: {200, []any{"allowed", true, "degraded", "open"}},
		quota.Deny:  {503, []any{"allowed", false, "reason", "store_error"}},
	} {
		t.Run(string(policy), func(t *testing.T) {
			limit := bucket(100)
			limit.OnStoreError = policy
			d := deploy(t, limited(limit))
			f := launch(t, environment(dynamotest.Endpoint(t), dynamo.Tables{State: "absent-state", Config: d.tables.Config})...)
			soon(t, f, signed(t, ask("anyone"))).want(t, want.status, want.members...)
		})
	}
}

// The table goes away and comes back, empty, under a function that runs.
func TestAnOutageEnds(t *testing.T) {
	server, err := dynamotest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	tables := dynamo.Tables{State: "outage-state", Config: "outage-config"}
	client := dynamotest.NewClient(server.Endpoint())
	if err := dynamo.CreateTables(t.Context(), client, tables); err != nil {
		t.Fatal(err)
	}
	d := &deployment{tables: tables, config: configstore.New(dynamo.NewConfigTable(client, tables.Config), configstore.Options{}), env: environment(server.Endpoint(), tables)}
	d.save(t, *limited(bucket(1000)))
	f := launch(t, d.env...)
	invoke(t, f, signed(t, ask("bob"))).want(t, 200, "degraded", "")

	server.Stop()
	for i := range 5 {
		soon(t, f, signed(t, ask(fmt.Sprintf("bob %d", i)))).want(t, 200, "degraded", "local")
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := dynamo.CreateTables(t.Context(), client, tables); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return invoke(t, f, signed(t, ask("bob"))).body["degraded"] == "" })
}

func TestItDoesNotStartWithoutItsEnvironment(t *testing.T) {
	f := launch(t, "PENSTOCK_STATE_TABLE=state", "PENSTOCK_MAX_INSTANCES=many")
	_, err := f.Ready(t.Context())
	for _, name := range []string{"PENSTOCK_CONFIG_TABLE", "PENSTOCK_SECRET", "PENSTOCK_MAX_INSTANCES", "exit status 1"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v does not say %s", err, name)
		}
	}
}
