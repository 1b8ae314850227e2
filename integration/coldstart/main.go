// Command coldstart measures what it costs to start the check function: from the start of
// the process to its first request for an event, which ends Lambda's init phase, and to the
// answer to a first check. Both are compared with a function that does nothing. It prints JSON.
//
//	go run ./integration/coldstart -n 30
//
// Both binaries are built with the flags of production and run by turns, so that whatever
// else the machine does hits both. The check function has its tables on DynamoDB Local.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/integration/build"
	"github.com/seed43908478/penstock/integration/runtimeapi"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

func main() {
	n := flag.Int("n", 30, "how often each function is started")
	flag.Parse()
	if err := measure(context.Background(), *n); err != nil {
		fmt.Fprintln(os.Stderr, "coldstart:", err)
		os.Exit(1)
	}
}

// A Report is what is printed.
type Report struct {
	Runs  int      `json:"runs"`
	Hello Function `json:"hello"`
	Check Function `json:"check"`
	// ReadyRatio is check's median ready time divided by hello's.
	ReadyRatio float64 `json:"ready_ratio"`
}

// A Function is what was measured of one function. Times are medians.
type Function struct {
	Bytes         int64   `json:"bytes"`
	ReadyMS       float64 `json:"ready_ms"`
	FirstAnswerMS float64 `json:"first_answer_ms"`
}

func measure(ctx context.Context, n int) error {
	dir, err := os.MkdirTemp("", "coldstart")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system clears what is left
	server, err := dynamotest.Start(ctx)
	if err != nil {
		return err
	}
	defer server.Stop()
	env, err := tables(ctx, server.Endpoint())
	if err != nil {
		return err
	}
	hello, err := build.Bootstrap(ctx, "./integration/coldstart/hello", filepath.Join(dir, "hello"))
	if err != nil {
		return err
	}
	check, err := build.Function(ctx, "CheckFunction", filepath.Join(dir, "check"))
	if err != nil {
		return err
	}
	functions := []*function{{bootstrap: hello, event: []byte(`{}`)}, {bootstrap: check, env: env, event: []byte(checkEvent)}}
	// One round to fill the page cache is not counted.
	for i := range n + 1 {
		for _, f := range functions {
			if err := f.run(ctx, i > 0); err != nil {
				return err
			}
		}
		slices.Reverse(functions) // whoever comes second is not always the same
	}
	return report(n, hello, functions)
}

// checkEvent is a check through an HTTP API by a caller authenticated by IAM.
const checkEvent = `{"version":"2.0","routeKey":"POST /v1/check","rawPath":"/v1/check",
	"headers":{"content-type":"application/json"},
	"requestContext":{"authorizer":{"iam":{"userArn":"arn:aws:iam::123456789012:user/orders"}},
		"http":{"method":"POST","path":"/v1/check","sourceIp":"203.0.113.9"}},
	"body":"{\"tenant\":\"acme\",\"resource\":\"GET /search\",\"subject\":\"user:42\"}"}`

// tables creates tables with a plan and returns the environment that names them.
func tables(ctx context.Context, endpoint string) ([]string, error) {
	client := dynamotest.NewClient(endpoint)
	names := dynamo.Tables{State: "penstock-state", Config: "penstock-config"}
	if err := dynamo.CreateTables(ctx, client, names); err != nil {
		return nil, err
	}
	config := quota.Config{
		Plans: map[string]quota.Plan{"free": {Limits: []quota.Limit{{
			Name: "per-user", By: []string{"subject"}, Algorithm: "token_bucket", Quota: 1_000, Period: "1s",
		}}}},
		Tenants: map[string]quota.Tenant{"acme": {Plan: "free"}},
	}
	store := configstore.New(dynamo.NewConfigTable(client, names.Config), configstore.Options{})
	if _, err := store.Apply(ctx, config, configstore.Precondition{}, configstore.By{Who: "coldstart"}, nil); err != nil {
		return nil, err
	}
	return []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
		"PENSTOCK_STATE_TABLE=" + names.State,
		"PENSTOCK_CONFIG_TABLE=" + names.Config,
		"PENSTOCK_SECRET=0123456789abcdef0123456789abcdef",
	}, nil
}

// A function is a bootstrap that is started again and again.
type function struct {
	bootstrap    string
	env          []string
	event        []byte
	ready, first []time.Duration
}

// run starts the function once, with an event waiting as in a real cold start.
func (f *function) run(ctx context.Context, count bool) error {
	begin := time.Now()
	env, err := runtimeapi.Start(runtimeapi.Config{Bootstrap: f.bootstrap, Env: f.env})
	if err != nil {
		return err
	}
	defer env.Stop()
	answer, err := env.Invoke(ctx, f.event)
	if err != nil {
		return err
	}
	first := time.Since(begin)
	ready, err := env.Ready(ctx)
	if err != nil {
		return err
	}
	if f.env != nil {
		if err := allowed(answer); err != nil {
			return err
		}
	}
	if count {
		f.ready, f.first = append(f.ready, ready), append(f.first, first)
	}
	return nil
}

// allowed fails unless the answer is a check that passed: else something else was measured.
func allowed(answer []byte) error {
	var a struct {
		StatusCode int
		Body       string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return fmt.Errorf("answer %s: %w", answer, err)
	}
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("the check was answered with %d: %s", a.StatusCode, a.Body)
	}
	return nil
}

func report(n int, hello string, functions []*function) error {
	r := Report{Runs: n}
	for _, f := range functions {
		info, err := os.Stat(f.bootstrap)
		if err != nil {
			return err
		}
		measured := Function{Bytes: info.Size(), ReadyMS: median(f.ready), FirstAnswerMS: median(f.first)}
		if f.bootstrap == hello {
			r.Hello = measured
		} else {
			r.Check = measured
		}
	}
	r.ReadyRatio = r.Check.ReadyMS / r.Hello.ReadyMS
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

// median returns the middle of durations, in milliseconds.
func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}
