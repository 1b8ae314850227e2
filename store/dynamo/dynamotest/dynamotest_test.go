package dynamotest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

var (
	tables   = dynamo.Tables{State: "state", Config: "config"}
	charging = store.Write{Key: "alice", Parts: []store.Part{{
		Limit: "per-user.tb",
		Write: limit.Write{Changes: []limit.Change{{Kind: limit.Set, Register: "tat", Value: 7}}},
	}}}
)

func TestAnOutage(t *testing.T) {
	server, err := dynamotest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := dynamotest.NewClient(server.Endpoint())
	s := dynamo.New(client, tables.State, dynamo.WithBudget(time.Second))
	begin := func() {
		t.Helper()
		if err := dynamo.CreateTables(t.Context(), client, tables); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(t.Context(), charging); err != nil {
			t.Fatal(err)
		}
	}
	begin()

	server.Stop()
	server.Stop() // twice is as good
	// The first call may still write to a connection that the server has left.
	_, _ = s.Apply(t.Context(), charging)
	_, err = s.Apply(t.Context(), charging)
	if e, ok := errors.AsType[*store.Error](err); !ok || e.Reason != store.Unavailable || e.Unknown {
		t.Errorf("during the outage: %v", err)
	}

	endpoint := server.Endpoint()
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if server.Endpoint() != endpoint {
		t.Errorf("at %s, and before at %s", server.Endpoint(), endpoint)
	}
	begin() // it is empty
}

// A test that needs a server fails without one, and says what to do.
func TestWhatIsMissingIsSaid(t *testing.T) {
	for name, miss := range map[string]func(*testing.T){
		"java is missing":           func(t *testing.T) { t.Setenv("PATH", t.TempDir()) },
		"DynamoDB Local is missing": func(t *testing.T) { t.Chdir(repositoryWithoutServer(t)) },
		"not within the repository": func(t *testing.T) { t.Chdir(t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			miss(t)
			s, err := dynamotest.Start(t.Context())
			if err == nil {
				s.Stop()
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
}

func repositoryWithoutServer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/go.mod", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// orphan is the environment variable that makes this binary start a server and wait to be killed.
const orphan = "PENSTOCK_TEST_ORPHAN"

func TestMain(m *testing.M) {
	if os.Getenv(orphan) == "" {
		os.Exit(m.Run())
	}
	s, err := dynamotest.Start(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Print(s.Endpoint())
	select {}
}

func TestTheServerEndsWithAKilledBinary(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphan+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	endpoint := make([]byte, 100)
	n, err := out.Read(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	s := dynamo.New(dynamotest.NewClient(string(endpoint[:n])), "state")
	for deadline := time.Now().Add(10 * time.Second); ; {
		_, err := s.Read(t.Context(), "alice", nil)
		if store.AsError(err).Reason == store.Unavailable {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %v", err)
		}
	}
}
