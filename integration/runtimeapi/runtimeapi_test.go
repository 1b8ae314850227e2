package runtimeapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed43908478/penstock/integration/build"
	"github.com/seed43908478/penstock/integration/runtimeapi"
)

// TestMain is the bootstrap too, when the environment says so: this binary is then what
// the tests run.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_BOOTSTRAP") {
	case "":
		os.Exit(m.Run())
	case "exits":
		fmt.Println("no table configured")
		os.Exit(3)
	case "hangs":
		select {}
	default:
		lambda.Start(handle)
	}
}

// An order is what an event asks of the bootstrap.
type order struct {
	Do   string
	Text string
}

// handle does what the event asks for.
func handle(ctx context.Context, o order) (map[string]string, error) {
	switch o.Do {
	case "fail":
		return nil, errors.New(o.Text)
	case "panic":
		panic(o.Text)
	case "exit":
		os.Exit(4)
	case "hang":
		select {}
	case "print":
		fmt.Println(o.Text)
	}
	deadline, _ := ctx.Deadline()
	lc, _ := lambdacontext.FromContext(ctx)
	return map[string]string{
		"text": o.Text, "id": lc.AwsRequestID, "arn": lc.InvokedFunctionArn,
		"left": time.Until(deadline).String(), "home": os.Getenv("HOME"), "own": os.Getenv("OWN"),
	}, nil
}

func start(t *testing.T, kind string, timeout time.Duration) *runtimeapi.Environment {
	t.Helper()
	env, err := runtimeapi.Start(runtimeapi.Config{
		Bootstrap: os.Args[0], Env: []string{"TEST_BOOTSTRAP=" + kind, "OWN=mine"}, Timeout: timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(env.Stop)
	return env
}

func event(do, text string) []byte {
	e, err := json.Marshal(order{do, text})
	if err != nil {
		panic(err)
	}
	return e
}

func answer(t *testing.T, env *runtimeapi.Environment, e []byte) map[string]string {
	t.Helper()
	payload, err := env.Invoke(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	var a map[string]string
	if err := json.Unmarshal(payload, &a); err != nil {
		t.Fatalf("%s: %v", payload, err)
	}
	return a
}

func TestAnEventIsAnswered(t *testing.T) {
	env := start(t, "serves", 7*time.Second)
	if d, err := env.Ready(t.Context()); err != nil || d <= 0 {
		t.Fatalf("Ready: %v, %v", d, err)
	}
	first, second := answer(t, env, event("", "one")), answer(t, env, event("", "two"))
	if first["text"] != "one" || second["text"] != "two" || first["id"] == second["id"] || first["arn"] == "" {
		t.Errorf("answers %v and %v", first, second)
	}
	if left, err := time.ParseDuration(first["left"]); err != nil || left > 7*time.Second || left < 0 {
		t.Errorf("the deadline is %s away, want less than 7s", first["left"])
	}
	if first["own"] != "mine" || first["home"] != "" {
		t.Errorf("OWN is %q and HOME %q: the environment must be the given one and Lambda's", first["own"], first["home"])
	}
	if env.Answered() != 2 || env.Failed() != 0 {
		t.Errorf("answered %d, failed %d", env.Answered(), env.Failed())
	}
}

func TestEventsWaitTheirTurn(t *testing.T) {
	env := start(t, "serves", 0)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			text := fmt.Sprint(i)
			if payload, err := env.Invoke(context.Background(), event("", text)); err != nil || !strings.Contains(string(payload), `"text":"`+text+`"`) {
				t.Errorf("event %d: %s, %v", i, payload, err)
			}
		})
	}
	wg.Wait()
	if env.Answered() != 20 {
		t.Errorf("answered %d of 20", env.Answered())
	}
}

func TestAnErrorIsTheFunctions(t *testing.T) {
	env := start(t, "serves", 0)
	_, err := env.Invoke(t.Context(), event("fail", "no such tenant"))
	if fault, ok := errors.AsType[*runtimeapi.FunctionError](err); !ok || fault.Message != "no such tenant" {
		t.Errorf("error %v, want the function's", err)
	}
	answer(t, env, event("", "and it goes on"))
	if env.Answered() != 2 || env.Failed() != 1 {
		t.Errorf("answered %d, failed %d", env.Answered(), env.Failed())
	}
}

func TestAPanicIsSaidAndEndsTheProcess(t *testing.T) {
	env := start(t, "serves", 0)
	_, err := env.Invoke(t.Context(), event("panic", "boom"))
	if fault, ok := errors.AsType[*runtimeapi.FunctionError](err); !ok || fault.Message != "boom" {
		t.Errorf("error %v, want the panic's", err)
	}
	if _, err := env.Invoke(t.Context(), event("", "hello?")); err == nil || !strings.Contains(err.Error(), "has exited") {
		t.Errorf("error %v, want that the process has exited", err)
	}
}

func TestAnExitIsAnErrorWithTheLog(t *testing.T) {
	env := start(t, "serves", 0)
	answer(t, env, event("print", "this was the last line"))
	_, err := env.Invoke(t.Context(), event("exit", ""))
	if err == nil || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), "this was the last line") {
		t.Errorf("error %v", err)
	}
}

func TestABootstrapThatDoesNotComeUp(t *testing.T) {
	if _, err := start(t, "exits", 0).Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "no table configured") {
		t.Errorf("error %v, want one with its log", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := start(t, "hangs", 0).Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	if _, err := runtimeapi.Start(runtimeapi.Config{Bootstrap: "/nowhere/bootstrap"}); err == nil {
		t.Error("started what is not there")
	}
}

func TestAnEventThatTakesTooLongKillsTheProcess(t *testing.T) {
	env := start(t, "serves", 200*time.Millisecond)
	if _, err := env.Invoke(t.Context(), event("hang", "")); !errors.Is(err, runtimeapi.ErrTimedOut) {
		t.Errorf("error %v, want %v", err, runtimeapi.ErrTimedOut)
	}
	if _, err := env.Invoke(t.Context(), event("", "")); err == nil {
		t.Error("the process lives on")
	}
}

func TestHelloWithTheFlagsOfProduction(t *testing.T) {
	path, err := build.Bootstrap(t.Context(), "./integration/coldstart/hello", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env, err := runtimeapi.Start(runtimeapi.Config{Bootstrap: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(env.Stop)
	if payload, err := env.Invoke(t.Context(), []byte(`{}`)); err != nil || string(payload) != `"hello"` {
		t.Errorf("%s, %v", payload, err)
	}
}
