package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// What template.yaml allows the check function and what it does must be the same: it
// fails on an account with less, and with more there is something to steal.
func TestTheRoleAllowsWhatTheFunctionDoes(t *testing.T) {
	d := deploy(t, limited(bucket(1)))
	seen := watch(t, dynamotest.Endpoint(t), d.tables)
	key := d.key(t, apikey.CheckAny, "")
	f := launch(t, environment(seen.url, d.tables)...)
	invoke(t, f, keyed(t, "v2_check", key, ask("bob"))).want(t, 200)
	invoke(t, f, keyed(t, "v2_check", key, ask("bob"))).want(t, 429)
	peek := ask("alice")
	peek["cost"] = 0
	invoke(t, f, keyed(t, "v2_check", key, peek)).want(t, 200)

	charged := invoke(t, f, keyed(t, "v2_check", key, ask("carol")))
	charged.want(t, 200)
	invoke(t, f, routed(t, "/v1/settle", object{"receipt": charged.body["receipt"], "cost": 0})).want(t, 200)

	if allowed, done := allowedActions(t, "CheckRole"), seen.actions(); !slices.Equal(allowed, done) {
		t.Errorf("template.yaml allows %v, and the function does %v", allowed, done)
	}
}

// allowedActions reads the statements of a role that are about tables, as "State GetItem".
func allowedActions(t *testing.T, role string) []string {
	t.Helper()
	data, err := os.ReadFile("../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Properties struct {
				Policies []struct {
					PolicyDocument struct {
						Statement []struct {
							Action   any    `yaml:"Action"`
							Resource string `yaml:"Resource"` // !GetAtt StateTable.Arn
						} `yaml:"Statement"`
					} `yaml:"PolicyDocument"`
				} `yaml:"Policies"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	// What has no place above is left out: most of the template.
	if err := yaml.Unmarshal(data, &template); err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, policy := range template.Resources[role].Properties.Policies {
		for _, statement := range policy.PolicyDocument.Statement {
			table, ok := strings.CutSuffix(statement.Resource, "Table.Arn")
			if !ok {
				continue
			}
			list, ok := statement.Action.([]any)
			if !ok {
				list = []any{statement.Action}
			}
			for _, action := range list {
				actions = append(actions, table+" "+strings.TrimPrefix(action.(string), "dynamodb:"))
			}
		}
	}
	slices.Sort(actions)
	return actions
}

// A watcher stands before DynamoDB Local and notes what is asked of it.
type watcher struct {
	url  string
	mu   sync.Mutex
	seen map[string]int
}

// watch passes everything on to the endpoint.
func watch(t *testing.T, endpoint string, tables dynamo.Tables) *watcher {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{seen: map[string]int{}}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		table := "Other"
		for name, as := range map[string]string{tables.State: "State", tables.Config: "Config"} {
			if bytes.Contains(body, []byte(name)) {
				table = as
			}
		}
		w.mu.Lock()
		for _, action := range actionsOf(operation, body) {
			w.seen[table+" "+action]++
		}
		w.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// actionsOf is what an operation has to be allowed: of a transaction, what each of its writes is alone.
func actionsOf(operation string, body []byte) []string {
	if operation != "TransactWriteItems" {
		return []string{operation}
	}
	var transaction struct{ TransactItems []map[string]any }
	if err := json.Unmarshal(body, &transaction); err != nil {
		return []string{operation + ": " + err.Error()}
	}
	var actions []string
	for _, item := range transaction.TransactItems {
		for write := range item { // Put, Delete, Update or ConditionCheck
			actions = append(actions, write+"Item")
		}
	}
	return actions
}

// count returns how often something was asked.
func (w *watcher) count(action string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[action]
}

// actions returns what was asked, in order of name.
func (w *watcher) actions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.seen))
}
