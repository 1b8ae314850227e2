package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// These tests put faults on the wire: what a server, a network or a function's
// freeze can do to a request. What DynamoDB decides is tested on DynamoDB.

// A wire answers the first request with the first answer and so on, the last one
// answers all others.
type wire struct {
	*httptest.Server
	requests    atomic.Int64
	connections atomic.Int64
}

func newWire(t *testing.T, answers ...http.HandlerFunc) *wire {
	t.Helper()
	w := &wire{}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		n := w.requests.Add(1)
		body, _ := io.ReadAll(r.Body) // else the server does not see the caller go
		r.Header.Set("Test-Body", string(body))
		answers[min(int(n), len(answers))-1](rw, r)
	}))
	w.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			w.connections.Add(1)
		}
	}
	w.Start()
	t.Cleanup(w.Close)
	return w
}

func fault(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10))
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func code(status int, code string) http.HandlerFunc {
	return fault(status, `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"so it is"}`)
}

func throttled(code, member, reason string) http.HandlerFunc {
	return fault(400, `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"slow down","`+member+`":[{"reason":"`+reason+`","resource":"arn:aws:dynamodb:us-east-1:1:table/state"}]}`)
}

var applied = fault(200, `{"Attributes":{"pk":{"S":"alice"},"per-user.tb.tat":{"N":"7"}},"ConsumedCapacity":{"CapacityUnits":1.0}}`)

// hang answers when the caller has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// drop closes the connection, having read the request.
func drop(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// half closes the connection within the answer.
func half(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	fmt.Fprint(w, `{"Attributes":{`)
}

// charge charges alice's bucket at an endpoint, and also returns what was observed.
func charge(ctx context.Context, endpoint string, opts ...dynamo.Option) (store.Result, dynamo.Observation, error) {
	var seen dynamo.Observation
	opts = append(opts, dynamo.WithObserver(func(o dynamo.Observation) { seen = o }))
	s := dynamo.New(dynamotest.NewClient(endpoint), "state", opts...)
	r, err := s.Apply(ctx, charging)
	return r, seen, err
}

var charging = store.Write{Key: "alice", Parts: []store.Part{{
	Limit: "per-user.tb",
	Write: limit.Write{Changes: []limit.Change{{Kind: limit.Set, Register: "tat", Value: 7}}},
}}}

const (
	known   = false
	unknown = true
)

func TestFaults(t *testing.T) {
	tests := []struct {
		name    string
		answer  http.HandlerFunc
		reason  store.Reason
		unknown bool
		repeats bool
	}{
		{"a hot key", throttled("ThrottlingException", "throttlingReasons", "TableWriteKeyRangeThroughputExceeded"), store.HotKey, known, false},
		{"a hot key, provisioned", throttled("ProvisionedThroughputExceededException", "ThrottlingReasons", "TableWriteKeyRangeThroughputExceeded"), store.HotKey, known, false},
		{"a hot key, account", throttled("RequestLimitExceeded", "ThrottlingReasons", "TableWriteKeyRangeThroughputExceeded"), store.HotKey, known, false},
		{"the table's maximum", throttled("ThrottlingException", "throttlingReasons", "TableWriteMaxOnDemandThroughputExceeded"), store.Throttled, known, true},
		{"the table's provision", throttled("ProvisionedThroughputExceededException", "ThrottlingReasons", "TableWriteProvisionedThroughputExceeded"), store.Throttled, known, true},
		{"the account's limit", throttled("RequestLimitExceeded", "ThrottlingReasons", "TableWriteAccountLimitExceeded"), store.Throttled, known, true},
		{"throttled for no reason given", code(400, "ThrottlingException"), store.Throttled, known, true},
		{"a transaction on the item", code(400, "TransactionConflictException"), store.Throttled, known, true},
		{"another region on the item", code(400, "ReplicatedWriteConflictException"), store.Throttled, known, true},
		{"a proxy's 429", fault(429, "<html>"), store.Throttled, known, true},

		{"no such table", code(400, "ResourceNotFoundException"), store.Misconfigured, known, false},
		{"access denied", code(400, "AccessDeniedException"), store.Misconfigured, known, false},
		{"an unknown key id", code(400, "UnrecognizedClientException"), store.Misconfigured, known, false},
		{"an old token", code(400, "ExpiredTokenException"), store.Misconfigured, known, false},

		{"a bad request", code(400, "ValidationException"), store.Invalid, known, false},
		{"too many items of a key", code(400, "ItemCollectionSizeLimitExceededException"), store.Invalid, known, false},
		{"a code nobody knows", code(400, "SomethingNewException"), store.Invalid, known, false},

		{"an internal error", code(500, "InternalServerError"), store.Unavailable, unknown, false},
		{"a 503", code(503, "ServiceUnavailable"), store.Unavailable, unknown, false},
		{"a proxy's 502", fault(502, "<html>"), store.Unavailable, unknown, false},
		{"an answer that is none", fault(200, "<html>"), store.Unavailable, unknown, false},
		{"half an answer", half, store.Unavailable, unknown, false},
		{"a closed connection instead of an answer", drop, store.Unavailable, unknown, false},
		{"no answer", hang, store.Unavailable, unknown, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(t, tt.answer)
			_, seen, err := charge(t.Context(), w.URL)
			wantError(t, err, tt.reason, tt.unknown)
			if repeated := w.requests.Load() > 1; repeated != tt.repeats {
				t.Errorf("%d requests", w.requests.Load())
			}
			if int64(seen.Attempts) != w.requests.Load() || seen.Err == nil || seen.Err.Reason != tt.reason {
				t.Errorf("observed %+v after %d requests", seen, w.requests.Load())
			}
		})
	}
}

func wantError(t *testing.T, err error, reason store.Reason, unknown bool) {
	t.Helper()
	e, ok := errors.AsType[*store.Error](err)
	if !ok {
		t.Fatalf("%v (%T), want a *store.Error", err, err)
	}
	if e.Reason != reason || e.Unknown != unknown {
		t.Errorf("%v\n got %s, unknown %t\nwant %s, unknown %t", err, e.Reason, e.Unknown, reason, unknown)
	}
}

func TestRefusedConnectionsAreTriedAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil { // nobody listens now
		t.Fatal(err)
	}
	_, seen, err := charge(t.Context(), "http://"+l.Addr().String())
	wantError(t, err, store.Unavailable, known)
	if seen.Attempts < 2 {
		t.Errorf("%d attempts, want several", seen.Attempts)
	}
}

func TestAHandshakeThatHangsHasSentNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, _, err = charge(t.Context(), "https://"+l.Addr().String())
	wantError(t, err, store.Unavailable, known)
}

func TestNoCredentialsIsAMistakeOfOurs(t *testing.T) {
	cfg := dynamotest.Config("http://127.0.0.1:1")
	cfg.Credentials = noCredentials{}
	_, err := dynamo.New(dynamo.NewClient(cfg), "state").Apply(t.Context(), charging)
	wantError(t, err, store.Misconfigured, known)
}

func TestSlowCredentialsAreNoMistake(t *testing.T) {
	cfg := dynamotest.Config("http://127.0.0.1:1")
	cfg.Credentials = slowCredentials{}
	_, err := dynamo.New(dynamo.NewClient(cfg), "state", dynamo.WithBudget(20*time.Millisecond)).Apply(t.Context(), charging)
	wantError(t, err, store.Unavailable, known)
}

func TestThrottledThenApplied(t *testing.T) {
	w := newWire(t, code(400, "ThrottlingException"), code(400, "ThrottlingException"), applied)
	r, seen, err := charge(t.Context(), w.URL, dynamo.WithBudget(patience))
	if err != nil || !r.Applied {
		t.Fatalf("%+v, %v", r, err)
	}
	if v, _ := r.States[0].Register("tat"); v != 7 {
		t.Errorf("states %+v", r.States)
	}
	if seen.Attempts != 3 || seen.Units != 1 || !seen.Applied || seen.Err != nil || seen.Operation != "apply" {
		t.Errorf("observed %+v", seen)
	}
}

func TestNobodyTriesForever(t *testing.T) {
	w := newWire(t, code(400, "ThrottlingException"))
	_, _, err := charge(t.Context(), w.URL, dynamo.WithBudget(patience))
	wantError(t, err, store.Throttled, known)
	if n := w.requests.Load(); n != 5 {
		t.Errorf("%d requests, want 5", n)
	}
}

func TestTheBudgetBoundsTheCall(t *testing.T) {
	w := newWire(t, hang)
	began := time.Now()
	_, _, err := charge(t.Context(), w.URL, dynamo.WithBudget(50*time.Millisecond))
	wantError(t, err, store.Unavailable, unknown)
	if took := time.Since(began); took < 50*time.Millisecond || took > 2*time.Second {
		t.Errorf("took %s", took)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error does not tell why: %v", err)
	}
}

func TestAnEarlierDeadlineBoundsTheCall(t *testing.T) {
	w := newWire(t, hang)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _, err := charge(ctx, w.URL, dynamo.WithBudget(patience))
	wantError(t, err, store.Unavailable, unknown)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestAWriteThatWasSentIsSeenThrough(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWire(t, func(rw http.ResponseWriter, r *http.Request) {
		cancel()
		select {
		case <-r.Context().Done(): // the caller hung up
		case <-time.After(50 * time.Millisecond):
			applied(rw, r)
		}
	})
	r, _, err := charge(ctx, w.URL, dynamo.WithBudget(patience))
	if err != nil || !r.Applied {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestNobodyWaitsForACancelledRetry(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWire(t, func(rw http.ResponseWriter, r *http.Request) {
		cancel()
		code(400, "ThrottlingException")(rw, r)
	})
	_, seen, err := charge(ctx, w.URL, dynamo.WithBudget(patience))
	wantError(t, err, store.Throttled, known)
	if seen.Attempts != 1 {
		t.Errorf("%d attempts", seen.Attempts)
	}
}

func TestACancelledContextSendsNothing(t *testing.T) {
	w := newWire(t, applied)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, seen, err := charge(ctx, w.URL)
	wantError(t, err, store.Unavailable, known)
	if w.connections.Load() != 0 || seen.Attempts != 0 {
		t.Errorf("%d connections, %d attempts", w.connections.Load(), seen.Attempts)
	}
}

func TestAReadHasNoUnknownOutcome(t *testing.T) {
	w := newWire(t, drop, drop, fault(200, `{"Item":{"per-user.tb.tat":{"N":"7"}},"ConsumedCapacity":{"CapacityUnits":0.5}}`))
	s := dynamo.New(dynamotest.NewClient(w.URL), "state", dynamo.WithBudget(patience))
	states, err := s.Read(t.Context(), "alice", []string{"per-user.tb"})
	if err != nil {
		t.Fatalf("a read may be repeated: %v", err)
	}
	if v, _ := states[0].Register("tat"); v != 7 {
		t.Errorf("%+v", states)
	}

	w = newWire(t, drop)
	_, err = dynamo.New(dynamotest.NewClient(w.URL), "state").Read(t.Context(), "alice", []string{"per-user.tb"})
	wantError(t, err, store.Unavailable, known)
}

func TestAReadIsStronglyConsistent(t *testing.T) {
	var request string
	w := newWire(t, func(rw http.ResponseWriter, r *http.Request) {
		request = r.Header.Get("Test-Body")
		fault(200, "{}")(rw, r)
	})
	if _, err := dynamo.New(dynamotest.NewClient(w.URL), "state", dynamo.WithBudget(patience)).Read(t.Context(), "alice", nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(request, `"ConsistentRead":true`) {
		t.Errorf("request %s", request)
	}
}

// Consumed capacity makes answers longer: it is asked for when somebody wants it.
func TestCapacityIsAskedForOnlyByObservers(t *testing.T) {
	var request string
	w := newWire(t, func(rw http.ResponseWriter, r *http.Request) {
		request = r.Header.Get("Test-Body")
		applied(rw, r)
	})
	s := dynamo.New(dynamotest.NewClient(w.URL), "state", dynamo.WithBudget(patience))
	if _, err := s.Apply(t.Context(), charging); err != nil || strings.Contains(request, "ConsumedCapacity") {
		t.Errorf("unobserved: %v, request %s", err, request)
	}
	if _, _, err := charge(t.Context(), w.URL, dynamo.WithBudget(patience)); err != nil || !strings.Contains(request, `"ReturnConsumedCapacity":"TOTAL"`) {
		t.Errorf("observed: %v, request %s", err, request)
	}
}

func TestAnItemThatIsNotOursIsInvalid(t *testing.T) {
	for name, item := range map[string]string{
		"a text":                       `{"per-user.tb.tat":{"S":"7"}}`,
		"a fraction":                   `{"per-user.tb.tat":{"N":"7.5"}}`,
		"more than 64 bits":            `{"per-user.tb.tat":{"N":"9223372036854775808"}}`,
		"a log of texts":               `{"per-user.tb.log":{"L":[{"S":"7"}]}}`,
		"a list that is not the log's": `{"per-user.tb.tat":{"L":[]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, fault(200, `{"Attributes":`+item+`}`))
			_, _, err := charge(t.Context(), w.URL)
			wantError(t, err, store.Invalid, unknown) // it was applied to something
		})
	}
}
