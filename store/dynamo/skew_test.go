package dynamo_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// An observatory is a clock that the answers of DynamoDB Local are compared with, by way
// of a proxy that moves their Date.
type observatory struct {
	*dynamo.Clock
	store *dynamo.Store
	date  atomic.Pointer[func(http.Header)]
	ahead atomic.Int64 // of the machine's clock, nanoseconds
}

func newObservatory(t *testing.T) *observatory {
	t.Helper()
	_, tables := dynamotest.Tables(t)
	o := &observatory{}
	o.server(func(http.Header) {})
	o.Clock = dynamo.NewClock(func() time.Time { return time.Now().Add(time.Duration(o.ahead.Load())) })
	client := dynamotest.NewClient(dynamotest.Proxy(t, func(h http.Header) { (*o.date.Load())(h) }))
	o.store = dynamo.New(client, tables.State, dynamo.WithBudget(patience))
	o.asks(t, 4) // the first answers of a server may be too slow to tell anything
	o.store = dynamo.New(client, tables.State, dynamo.WithBudget(patience), dynamo.WithClock(o.Clock))
	return o
}

// server has the Date of answers changed from now on.
func (o *observatory) server(change func(http.Header)) { o.date.Store(&change) }

func (o *observatory) serverAhead(d time.Duration) {
	o.server(func(h http.Header) { dynamotest.Ahead(h, d) })
}

// asks makes n calls, each with one answer: in turn a write, one whose condition fails,
// one that is invalid and a read.
func (o *observatory) asks(t *testing.T, n int) {
	t.Helper()
	failing, invalid := charging, charging
	failing.Parts = []store.Part{{Limit: "per-user.tb", Write: limit.Write{Guards: []limit.Guard{{Kind: limit.RegisterIn, Register: "tat", Min: 99, Max: 99}}}}}
	invalid.Key = strings.Repeat("x", 3000)
	for i := range n {
		switch i % 4 {
		case 0:
			if r, err := o.store.Apply(t.Context(), charging); err != nil || !r.Applied {
				t.Fatalf("%+v, %v", r, err)
			}
		case 1:
			if r, err := o.store.Apply(t.Context(), failing); err != nil || r.Applied {
				t.Fatalf("%+v, %v", r, err)
			}
		case 2:
			_, err := o.store.Apply(t.Context(), invalid)
			wantError(t, err, store.Invalid, known)
		case 3:
			if _, err := o.store.Read(t.Context(), "alice", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// settled makes 40 calls, and each of their answers is compared.
func (o *observatory) settled(t *testing.T) {
	t.Helper()
	o.CompareAll()
	o.asks(t, 40)
}

func (o *observatory) want(t *testing.T, ahead time.Duration, corrections int64) {
	t.Helper()
	off := o.Now().Sub(time.Now().Add(ahead)).Abs()
	if off > time.Second || o.Corrections() != corrections || (o.Offset() == 0) != (corrections == 0) {
		t.Fatalf("offset %s, %s off after %d corrections; want within 1 s after %d", o.Offset(), off, o.Corrections(), corrections)
	}
}

func TestAClockThatDiffersFromDynamoDBIsCorrected(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"behind": 10 * time.Second, "ahead": -10 * time.Second, "an hour behind": time.Hour} {
		t.Run(name, func(t *testing.T) {
			o := newObservatory(t)
			o.serverAhead(ahead)
			o.asks(t, 2)
			if o.Offset() != 0 {
				t.Fatalf("corrected by %s after two answers", o.Offset())
			}
			o.asks(t, 3)
			o.want(t, ahead, 1)
			o.settled(t)
			o.want(t, ahead, 1)
		})
	}
}

func TestAMachinesClockIsCorrected(t *testing.T) {
	o := newObservatory(t)
	o.ahead.Store(int64(10 * time.Second))
	o.asks(t, 5)
	o.want(t, 0, 1)
}

func TestASmallDifferenceIsTolerated(t *testing.T) {
	o := newObservatory(t)
	o.ahead.Store(int64(-1500 * time.Millisecond))
	o.settled(t)
	if o.Offset() != 0 || o.Corrections() != 0 {
		t.Errorf("corrected by %s", o.Offset())
	}
}

func TestOneLyingAnswerDoesNothing(t *testing.T) {
	o := newObservatory(t)
	o.serverAhead(time.Hour)
	o.asks(t, 1)
	o.serverAhead(0)
	o.asks(t, 20)
	if o.Offset() != 0 || o.Corrections() != 0 {
		t.Errorf("corrected by %s", o.Offset())
	}
}

// A proxy without a Date, a cache, and a Date that is none.
func TestWhatTellsNoTimeDoesNothing(t *testing.T) {
	for name, change := range map[string]func(http.Header){
		"no Date":   func(h http.Header) { h.Del("Date") },
		"a cache":   func(h http.Header) { dynamotest.Ahead(h, -time.Hour); h.Set("Age", "3600") },
		"not a day": func(h http.Header) { h.Set("Date", "yesterday") },
	} {
		t.Run(name, func(t *testing.T) {
			o := newObservatory(t)
			o.ahead.Store(int64(time.Hour))
			o.server(change)
			o.settled(t)
			if o.Offset() != 0 || o.Corrections() != 0 {
				t.Errorf("corrected by %s", o.Offset())
			}
		})
	}
}

func TestACorrectionEndsWhenTheClockIsRight(t *testing.T) {
	log := &logged{}
	previous := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() { slog.SetDefault(previous) })

	o := newObservatory(t)
	o.ahead.Store(int64(30 * time.Second))
	o.asks(t, 5)
	o.want(t, 0, 1)
	o.ahead.Store(int64(-time.Minute))
	o.settled(t)
	o.want(t, 0, 2)
	o.ahead.Store(0)
	o.settled(t)
	if o.Offset() != 0 || o.Corrections() != 2 {
		t.Errorf("still corrected by %s; %d corrections", o.Offset(), o.Corrections())
	}
	for _, says := range []string{"it is corrected", "the correction is changed", "no longer corrected"} {
		if strings.Count(log.String(), says) != 1 {
			t.Errorf("not once %q in the log:\n%s", says, log)
		}
	}
	if strings.Count(log.String(), "level=WARN") != 3 {
		t.Errorf("the log:\n%s", log)
	}
}

type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// A throttled attempt is an answer too: one call makes five.
func TestAThrottledClockIsCorrected(t *testing.T) {
	w := newWire(t, code(400, "ThrottlingException"))
	clock := dynamo.NewClock(func() time.Time { return time.Now().Add(-10 * time.Second) })
	_, _, err := charge(t.Context(), w.URL, dynamo.WithBudget(patience), dynamo.WithClock(clock))
	wantError(t, err, store.Throttled, known)
	if off := time.Since(clock.Now()).Abs(); off > time.Second || clock.Corrections() != 1 {
		t.Errorf("%s off after %d corrections", off, clock.Corrections())
	}
}

func decide(t *testing.T, e *engine.Engine, key string) engine.Decision {
	t.Helper()
	l, err := limit.New(limit.Policy{Algorithm: "sliding_window_log", Quota: 10, Period: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	rule := &quota.Rule{Name: "per-user", ID: "per-user." + l.Code(), Limit: l, OnStoreError: quota.Deny}
	d, err := e.Decide(t.Context(), engine.Call{Cost: 1, Items: []quota.Item{{Key: key, Parts: 1, Rules: []*quota.Rule{rule}, Memory: l.Memory()}}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// useUp makes 20 calls and returns how many were admitted, and when the last refused one
// is to come back.
func useUp(t *testing.T, e *engine.Engine) (admitted int, retry time.Duration) {
	t.Helper()
	for range 20 {
		if d := decide(t, e, "alice"); d.Allowed {
			admitted++
		} else {
			retry = d.RetryAfter
		}
	}
	return admitted, retry
}

// Two instances share 10 in 10 s. The clock of one is 30 s off.
func TestALimitIsExactThoughAClockIsOff(t *testing.T) {
	const right, wrong = 0, 1
	for _, tt := range []struct {
		name        string
		skew        time.Duration
		first       int  // who uses the limit up
		uncorrected int  // how many both admit without a correction
		keptOut     bool // whether the second is then told to wait for longer than the period
	}{
		{"ahead, and second", 30 * time.Second, right, 20, false},
		{"ahead, and first", 30 * time.Second, wrong, 10, true},
		{"behind, and second", -30 * time.Second, right, 10, true},
		{"behind, and first", -30 * time.Second, wrong, 20, false},
	} {
		for _, corrected := range []bool{false, true} {
			name := tt.name + ", uncorrected"
			if corrected {
				name = tt.name + ", corrected"
			}
			t.Run(name, func(t *testing.T) {
				client, tables := dynamotest.Tables(t)
				raw := func() time.Time { return time.Now().Add(tt.skew) }
				clock := dynamo.NewClock(raw)
				now, options := raw, []dynamo.Option{dynamo.WithBudget(patience)}
				if corrected {
					now, options = clock.Now, append(options, dynamo.WithClock(clock))
				}
				instances := [2]*engine.Engine{
					right: engine.New(dynamo.New(client, tables.State, dynamo.WithBudget(patience)), engine.Options{Budget: patience}),
					wrong: engine.New(dynamo.New(client, tables.State, options...), engine.Options{Budget: patience, Now: now}),
				}
				for range 6 { // by which the clock is corrected, even if some take long
					decide(t, instances[wrong], "bob")
				}
				if (clock.Corrections() == 1) != corrected {
					t.Fatalf("%d corrections", clock.Corrections())
				}
				one, _ := useUp(t, instances[tt.first])
				two, retry := useUp(t, instances[1-tt.first])
				want, keptOut := tt.uncorrected, tt.keptOut
				if corrected {
					want, keptOut = 10, false
				}
				if one+two != want || (retry > 11*time.Second) != keptOut {
					t.Errorf("%d and %d admitted, the second is to come back after %s; want %d admitted, kept out for too long: %t", one, two, retry, want, keptOut)
				}
			})
		}
	}
}
