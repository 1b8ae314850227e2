package integration_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/integration/runtimeapi"
)

// An object is JSON.
type object = map[string]any

// events are API Gateway's, as the gateway package is tested with.
const events = "../functions/internal/gateway/testdata"

// event returns one of the events of a check, asking for something else.
func event(t *testing.T, name string, ask object) object {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(events, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var e object
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if ask != nil {
		e["body"] = text(t, ask)
	}
	return e
}

// signed is a check through an HTTP API by a caller whom API Gateway authenticated by IAM.
func signed(t *testing.T, ask object) object { return event(t, "v2_check_iam", ask) }

// routed is a request to another path by that caller.
func routed(t *testing.T, path string, body object) object {
	t.Helper()
	e := signed(t, body)
	e["routeKey"], e["rawPath"] = "POST "+path, path
	e["requestContext"].(object)["http"].(object)["path"] = path
	return e
}

// keyed is a check with a key, through an HTTP API or a REST API.
func keyed(t *testing.T, name, key string, ask object) object {
	t.Helper()
	e := event(t, name, ask)
	if strings.HasPrefix(name, "v1") {
		e["multiValueHeaders"].(object)["Authorization"] = []string{"Bearer " + key}
	} else {
		e["headers"].(object)["authorization"] = "Bearer " + key
	}
	return e
}

// ask is the body of a check for a subject of acme's.
func ask(subject string) object {
	return object{"tenant": "acme", "resource": "GET /search", "subject": subject}
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// launch starts the check function in an environment of its own.
func launch(t *testing.T, env ...string) *runtimeapi.Environment {
	t.Helper()
	return launchFunction(t, built.check, env...)
}

// launchFunction starts a function that build makes.
func launchFunction(t *testing.T, build func() (string, error), env ...string) *runtimeapi.Environment {
	t.Helper()
	bootstrap, err := build()
	if err != nil {
		t.Fatal(err)
	}
	e, err := runtimeapi.Start(runtimeapi.Config{Bootstrap: bootstrap, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Stop()
		if t.Failed() {
			t.Logf("the function's log:\n%s", e.Log())
		}
	})
	return e
}

// An answer is what the caller of an API gets.
type answer struct {
	status int
	header map[string]string
	body   object
}

// invoke sends an event and reads the answer as API Gateway does.
func invoke(t *testing.T, e *runtimeapi.Environment, event object) answer {
	t.Helper()
	a, err := try(t, e, event)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// try is invoke for goroutines other than the test's.
func try(t *testing.T, e *runtimeapi.Environment, event object) (answer, error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return answer{}, err
	}
	out, err := e.Invoke(t.Context(), payload)
	if err != nil {
		return answer{}, err
	}
	var raw struct {
		StatusCode        int
		Headers           map[string]string
		MultiValueHeaders map[string][]string
		Body              string
	}
	if err := json.Unmarshal(out, &raw); err != nil {
		return answer{}, err
	}
	a := answer{status: raw.StatusCode, header: map[string]string{}}
	for name, value := range raw.Headers {
		a.header[strings.ToLower(name)] = value
	}
	for name, values := range raw.MultiValueHeaders {
		a.header[strings.ToLower(name)] = strings.Join(values, ",")
	}
	if !strings.Contains(a.header["content-type"], "json") {
		return a, nil
	}
	return a, json.Unmarshal([]byte(raw.Body), &a.body)
}

// want fails unless the answer has the status, and the member of the body when one is given.
func (a answer) want(t *testing.T, status int, members ...any) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d; body %v", a.status, status, a.body)
	}
	for i := 0; i+1 < len(members); i += 2 {
		if got := a.body[members[i].(string)]; got != members[i+1] {
			t.Fatalf("%s is %v, want %v; body %v", members[i], got, members[i+1], a.body)
		}
	}
}
