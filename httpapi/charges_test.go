package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	configmemory "github.com/seed43908478/penstock/configstore/memory"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/receipt"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
	"github.com/seed43908478/penstock/store/memory"
)

// What is charged, settled, leased and waited for, over the real engine and each store.

const meteredPlans = `
plans:
  metered:
    limits:
      - {name: tokens, by: [subject], algorithm: token_bucket, quota: 100, period: 100s}
      - {name: log, by: [subject], match: {resource: "POST /logged"}, algorithm: sliding_window_log, quota: 10, period: 1m}
      - {name: hourly, match: {resource: "POST /hourly"}, algorithm: fixed_window, quota: 1000, period: 1h}
  windowed:
    limits:
      - {name: hourly, algorithm: fixed_window, quota: 1000, period: 1h}
tenants:
  umbrella: {plan: windowed}
  acme: {plan: metered}
  globex: {plan: metered}
`

// Calls of a user of acme's.
const (
	generate = `"tenant":"acme","resource":"POST /generate","subject":"alice"`
	logged   = `"tenant":"acme","resource":"POST /logged","subject":"alice"`
	hourly   = `"tenant":"acme","resource":"POST /hourly","subject":"alice"`
)

// inEachStore runs a test over a house with each store. The machine that runs it may be slow.
func inEachStore(t *testing.T, test func(t *testing.T, h *house, s store.Store)) {
	const budget = 20 * time.Second
	over := func(t *testing.T, s store.Store, now time.Time) {
		t.Helper()
		h := newHouse(t, s)
		h.now = now
		h.handler = New(Options{
			Decider: engine.New(s, engine.Options{Now: func() time.Time { return h.now }, Budget: budget}),
			Plans:   snapshot(t, meteredPlans), Auth: AuthOpen, Receipts: receipts,
		})
		test(t, h, s)
	}
	t.Run("memory", func(t *testing.T) { over(t, memory.New(memory.WithClock(func() time.Time { return noon })), noon) })
	t.Run("dynamodb", func(t *testing.T) {
		client, tables := dynamotest.Tables(t)
		// At the true hour, as the table deletes what has expired.
		over(t, dynamo.New(client, tables.State, dynamo.WithBudget(budget)), time.Now().Truncate(time.Hour))
	})
}

// passes makes a call that is allowed, and returns its receipt.
func (h *house) passes(call, more string) string {
	h.t.Helper()
	a := h.post("/v1/check", "{"+call+more+"}")
	a.has(200, "")
	text, _ := a.members["receipt"].(string)
	if text == "" {
		h.t.Fatalf("no receipt: %s", a.body)
	}
	return text
}

// leaves expects that so many permits remain of the limit that has the fewest.
func (h *house) leaves(call string, want float64) {
	h.t.Helper()
	a := h.post("/v1/check", "{"+call+`,"cost":0}`)
	if a.members["remaining"] != want {
		h.t.Errorf("%v remain, want %v: %s", a.members["remaining"], want, a.body)
	}
}

// settles expects an answer to a settlement.
func (h *house) settles(receipt string, cost int64, want string) {
	h.t.Helper()
	a := h.post("/v1/settle", settlement(receipt, cost))
	a.has(200, "")
	if a.body != want+"\n" {
		h.t.Errorf("got  %swant %s", a.body, want)
	}
}

func TestSettlingForLessGivesBack(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, _ store.Store) {
		text := h.passes(generate, `,"cost":80`)
		h.leaves(generate, 20)
		h.settles(text, 30, `{"tenant":"acme","cost":30,"charged":80,"repeat":false,"outcome":"known"}`)
		h.leaves(generate, 70)
	})
}

func TestSettlingForMoreIsOwed(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, _ store.Store) {
		text := h.passes(generate, `,"cost":80`)
		h.settles(text, 130, `{"tenant":"acme","cost":130,"charged":80,"repeat":false,"outcome":"known"}`)
		a := h.post("/v1/check", "{"+generate+"}")
		a.has(429, quotaExceeded.uri)
		if got := a.members["retry_after_ms"]; got != 31_000.0 {
			t.Errorf("again in %v ms, want 31 s: %s", got, a.body)
		}
	})
}

func TestSettlingIsDoneOnce(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, s store.Store) {
		text := h.passes(generate, `,"cost":80`)
		h.settles(text, 30, `{"tenant":"acme","cost":30,"charged":80,"repeat":false,"outcome":"known"}`)
		h.settles(text, 0, `{"tenant":"acme","cost":30,"charged":80,"repeat":true,"outcome":"known"}`)
		h.handler = New(Options{ // another instance
			Decider: engine.New(s, engine.Options{Now: func() time.Time { return h.now }, Budget: 20 * time.Second}),
			Plans:   snapshot(t, meteredPlans), Auth: AuthOpen, Receipts: receipt.New(secret),
		})
		h.settles(text, 0, `{"tenant":"acme","cost":30,"charged":80,"repeat":true,"outcome":"known"}`)
		h.leaves(generate, 70)
	})
}

// Two calls of one window at one time have the same to tell, and are two all the same.
func TestLikeChargesAreSettledEachForItself(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, _ store.Store) {
		const call = `"tenant":"umbrella","resource":"POST /hourly"`
		first, second := h.passes(call, `,"cost":40`), h.passes(call, `,"cost":40`)
		h.settles(first, 10, `{"tenant":"umbrella","cost":10,"charged":40,"repeat":false,"outcome":"known"}`)
		h.settles(second, 10, `{"tenant":"umbrella","cost":10,"charged":40,"repeat":false,"outcome":"known"}`)
		h.leaves(call, 980)
	})
}

func TestSettlingTooLate(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, _ store.Store) {
		text := h.passes(generate, `,"cost":80`)
		h.now = h.now.Add(80 * time.Second)
		a := h.post("/v1/settle", settlement(text, 30))
		a.has(410, gone)
		h.leaves(generate, 100)
	})
}

func TestAnotherTenantsReceiptIsNotSettled(t *testing.T) {
	keys := newKeyring()
	own := func(tenant string) string { return "Authorization: Bearer " + keys.mint(tenant, apikey.CheckOwn) }
	inEachStore(t, func(t *testing.T, h *house, s store.Store) {
		text := h.passes(generate, `,"cost":80`)
		h.handler = New(Options{
			Decider: engine.New(s, engine.Options{Now: func() time.Time { return h.now }, Budget: 20 * time.Second}),
			Plans:   snapshot(t, meteredPlans), Verifier: keys.verifier, Receipts: receipts,
		})
		h.post("/v1/settle", settlement(text, 0), own("globex")).has(403, notAllowed)
		h.post("/v1/settle", settlement(text, 0)).has(401, notKnown)
		h.post("/v1/settle", settlement(text, 30), own("acme")).has(200, "")
	})
}

// Text that is not a receipt, made of ones that are, changes nothing.
func TestNoCraftedReceiptIsTaken(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, _ store.Store) {
		given := []string{h.passes(generate, `,"cost":40`), h.passes(logged, `,"cost":1`), string(receipt.New([]byte("another")).Append(nil, &receipt.Receipt{Tenant: "acme", Cost: 1000}))}
		good := given[:2]
		rapid.Check(t, func(t *rapid.T) {
			crafted := draw(t, given)
			if slices.Contains(good, crafted) {
				t.Skip("it is one that was given")
			}
			a := h.post("/v1/settle", `{"receipt":`+string(appendQuoted(nil, crafted))+`,"cost":0}`)
			if a.StatusCode != http.StatusBadRequest || !slices.Equal(faulty(a.members), []string{"receipt"}) {
				t.Fatalf("%q: %s", crafted, a.body)
			}
		})
		h.leaves(generate, 59)
	})
}

// draw makes a text of receipts: changed, cut, put together, or of nothing.
func draw(t *rapid.T, given []string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	one, other := rapid.SampledFrom(given).Draw(t, "one"), rapid.SampledFrom(given).Draw(t, "other")
	at := rapid.IntRange(0, len(one)-1).Draw(t, "at")
	switch rapid.IntRange(0, 4).Draw(t, "how") {
	case 0:
		return one[:at] + string(rapid.SampledFrom([]byte(letters)).Draw(t, "letter")) + one[at+1:]
	case 1:
		return one[:at]
	case 2:
		return one[:at] + other[min(at, len(other)):]
	case 3:
		return one[:at] + rapid.StringN(1, 4, 16).Draw(t, "more") + one[at:]
	}
	return rapid.StringMatching("["+letters[:62]+"_-]{0,200}").Draw(t, "text")
}

func TestWhatIsNotChargedHasNoReceipt(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, _ store.Store) {
		h.passes(generate, `,"cost":99,"request_id":"r"`)
		for name, more := range map[string]string{
			"a look":    `,"cost":0`,
			"a refusal": `,"cost":2`,
			"a repeat":  `,"cost":99,"request_id":"r"`,
		} {
			if a := h.post("/v1/check", "{"+generate+more+"}"); a.members["receipt"] != "" {
				t.Errorf("%s: %s", name, a.body)
			}
		}
	})
}

func TestChecksOfABatchAreSettledEachForItself(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, _ store.Store) {
		a := h.post("/v1/checks", "{\"checks\":[{"+generate+`,"cost":40},{`+generate+`,"cost":50}]}`)
		for i, r := range results(t, a) {
			h.settles(r["receipt"].(string), 1, fmt.Sprintf(`{"tenant":"acme","cost":1,"charged":%d,"repeat":false,"outcome":"known"}`, 40+10*i))
		}
		h.leaves(generate, 98)
	})
}

func TestLeaseIsSpentAndTheRestComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		call                 string
		granted, left, after float64
	}{
		// While it lasts, what a bucket gains is not given out a second time.
		"bucket":            {generate, 50, 49, 98},
		"bucket and window": {hourly, 50, 49, 98},
		"bucket and log":    {logged, 5, 5, 9},
	} {
		t.Run(name, func(t *testing.T) {
			inEachStore(t, func(t *testing.T, h *house, _ store.Store) {
				a := h.post("/v1/leases", "{"+c.call+`,"min":2,"max":500,"ttl_ms":1000}`)
				a.has(200, "")
				if a.members["granted"] != c.granted || a.members["ttl_ms"] != 1000.0 || a.members["remaining"] != c.left {
					t.Fatalf("want %v granted, %v left: %s", c.granted, c.left, a.body)
				}
				if a.Header.Get("RateLimit") == "" || a.Header.Get("RateLimit-Policy") == "" {
					t.Errorf("no rate limit headers: %v", a.Header)
				}
				h.leaves(c.call, c.left)
				h.settles(a.members["receipt"].(string), 1, fmt.Sprintf(`{"tenant":"acme","cost":1,"charged":%v,"repeat":false,"outcome":"known"}`, c.granted))
				h.leaves(c.call, c.after)
			})
		})
	}
}

func TestLeaseOfMoreThanThereIsIsRefused(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, _ store.Store) {
		h.passes(generate, `,"cost":95`)
		a := h.post("/v1/leases", "{"+generate+`,"min":6,"max":500,"ttl_ms":1000}`)
		a.has(429, quotaExceeded.uri)
		if a.members["granted"] != nil || a.members["receipt"] != "" || a.Header.Get("Retry-After") == "" {
			t.Errorf("got %s", wire(a))
		}
		h.leaves(generate, 5)
	})
}

func TestCallWaitsForItsTurn(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, _ store.Store) {
		h.passes(generate, `,"cost":100`)
		a := h.post("/v1/check", "{"+generate+`,"cost":3,"max_wait_ms":3000}`)
		a.has(200, "")
		if a.members["wait_ms"] != 3000.0 || a.members["receipt"] == "" {
			t.Errorf("got %s", a.body)
		}
		a = h.post("/v1/check", "{"+generate+`,"max_wait_ms":3999}`)
		a.has(429, quotaExceeded.uri)
		if a.members["wait_ms"] != 0.0 || a.members["retry_after_ms"] != 4000.0 || !strings.Contains(a.body, "the call would wait for 3.999s at most") {
			t.Errorf("got %s", a.body)
		}
		h.now = h.now.Add(4 * time.Second)
		h.passes(generate, "")
	})
}

// A limit is lowered, and one instance has found out: the others do with their next call.
func TestAChangeIsInForceEverywhereWithTheFirstCallThatMeetsIt(t *testing.T) {
	inEachStore(t, func(t *testing.T, h *house, s store.Store) {
		config := configstore.New(configmemory.New(), configstore.Options{})
		apply := func(plans string) {
			t.Helper()
			c, err := quota.ParseYAML([]byte(plans))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := config.Apply(t.Context(), c, configstore.Precondition{}, configstore.By{Who: "test"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		instance := func() *house {
			t.Helper()
			live, err := quota.NewLive(t.Context(), config, quota.LiveOptions{MaxWait: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			other := newHouse(t, s)
			other.handler = New(Options{
				Decider: engine.New(s, engine.Options{Now: func() time.Time { return h.now }, Budget: 20 * time.Second}),
				Plans:   live, Auth: AuthOpen, Receipts: receipts,
			})
			return other
		}
		apply(meteredPlans)
		old := instance()
		text := old.passes(generate, `,"cost":10`)
		old.leaves(generate, 90)
		apply(strings.Replace(meteredPlans, "quota: 100, period: 100s", "quota: 20, period: 20s", 1))
		instance().passes(generate, "")
		a := old.post("/v1/check", "{"+generate+"}")
		a.has(200, "")
		if a.members["remaining"] != 8.0 || !strings.Contains(a.body, `"quota":20,`) {
			t.Errorf("it decides by the plans before: %s", a.body)
		}
		old.settles(text, 0, `{"tenant":"acme","cost":0,"charged":10,"repeat":false,"outcome":"known"}`)
		old.leaves(generate, 18)
	})
}
