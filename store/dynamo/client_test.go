package dynamo_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/awsenv"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

type noCredentials struct{}

func (noCredentials) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{}, errors.New("nobody gave us any")
}

type slowCredentials struct{}

func (slowCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	<-ctx.Done()
	return aws.Credentials{}, ctx.Err()
}

func TestConnectionsIdleForFiveSecondsAreNotTrusted(t *testing.T) {
	w := newWire(t, applied)
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	client := dynamo.NewClient(dynamotest.Config(w.URL), dynamo.WithClientClock(func() time.Time { return now }))
	s := dynamo.New(client, "state", dynamo.WithBudget(patience))
	call := func(wantConnections int64) {
		t.Helper()
		if _, err := s.Apply(t.Context(), charging); err != nil {
			t.Fatal(err)
		}
		if n := w.connections.Load(); n != wantConnections {
			t.Errorf("%d connections, want %d", n, wantConnections)
		}
	}
	call(1)
	now = now.Add(5 * time.Second)
	call(1)
	now = now.Add(5*time.Second + time.Nanosecond) // frozen meanwhile
	call(2)
	call(2)
}

func TestCallersKeepTheirConnections(t *testing.T) {
	const callers = 64
	var here sync.WaitGroup
	here.Add(callers)
	w := newWire(t, func(rw http.ResponseWriter, r *http.Request) {
		here.Done()
		here.Wait() // until every caller has a connection
		applied(rw, r)
	})
	s := dynamo.New(dynamotest.NewClient(w.URL), "state", dynamo.WithBudget(patience))
	var connections [2]int64
	for round := range connections {
		var done sync.WaitGroup
		for range callers {
			done.Go(func() {
				if _, err := s.Apply(t.Context(), charging); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		here.Add(callers)
		connections[round] = w.connections.Load()
	}
	// Some may have been dialled for a caller that got another meanwhile.
	if more := connections[1] - connections[0]; connections[0] < callers || more > callers/4 {
		t.Errorf("%d connections for %d callers, and %d more when they came back", connections[0], callers, more)
	}
}

// With AWS_CA_BUNDLE the SDK takes no HTTP client but its own.
func TestLoadClientTrustsTheBundleOfTheEnvironment(t *testing.T) {
	server := httptest.NewTLSServer(applied)
	defer server.Close()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(bundle, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", bundle)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))

	client, err := awsenv.LoadClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dynamo.New(client, "state", dynamo.WithBudget(patience)).Apply(t.Context(), charging); err != nil {
		t.Error(err)
	}
}
