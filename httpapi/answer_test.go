package httpapi

import (
	"flag"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

var update = flag.Bool("update", false, "write the answers in testdata anew")

// An answer of each kind is kept in testdata/answers, as it goes over the wire.
func TestAnswersAreAsTheyWere(t *testing.T) {
	user, day := perUser(t), perDay(t)
	candidate := rule(t, "stricter", limit.Policy{Algorithm: "token_bucket", Quota: 5, Period: time.Second})
	candidate.Mode, candidate.Shadows = quota.Shadow, "per-user"
	isOver := func(v engine.Verdict) engine.Verdict { v.Over = true; return v }
	change := func(d engine.Decision, f func(*engine.Decision)) engine.Decision { f(&d); return d }
	for name, c := range map[string]struct {
		decision engine.Decision
		cost     string
	}{
		"allowed":        {decision: allowed(lets(user, 19, 100*time.Millisecond), lets(day, 999, 24*time.Hour))},
		"no-limit":       {decision: engine.Decision{Allowed: true, Deciding: -1, Source: engine.Store}},
		"refused":        {decision: refused(refuses(user, 0, 100*time.Millisecond, 2*time.Second), lets(day, 980, 24*time.Hour))},
		"refused-by-two": {decision: refused(refuses(day, 0, 11*time.Hour+time.Minute+time.Nanosecond, 24*time.Hour), refuses(user, 0, 50*time.Millisecond, 2*time.Second))},
		"refused-some-left": {
			decision: refused(refuses(user, 3, 200*time.Millisecond, 1700*time.Millisecond)), cost: "5",
		},
		"never": {
			decision: change(refused(engine.Verdict{Rule: user, Never: true, Standing: limit.Standing{Remaining: 20}}), func(d *engine.Decision) { d.Never = true }),
			cost:     "21",
		},
		"peek-refused": {decision: refused(refuses(user, 0, 100*time.Millisecond, 2*time.Second)), cost: "0"},
		"from-memory":  {decision: change(refused(refuses(user, 0, 1, 2*time.Second)), func(d *engine.Decision) { d.Source = engine.Memory })},
		"backed-off":   {decision: change(refused(refuses(user, 0, 1500*time.Millisecond, 2*time.Second)), func(d *engine.Decision) { d.Source = engine.BackOff })},
		"contended":    {decision: change(refused(refuses(user, 0, 37*time.Millisecond, 0)), func(d *engine.Decision) { d.Reason = engine.Contended })},
		"hot-key":      {decision: change(refused(refuses(user, 0, time.Second, 0)), func(d *engine.Decision) { d.Reason = engine.HotKey })},
		"degraded-local": {decision: change(allowed(lets(user, 1, 900*time.Millisecond)), func(d *engine.Decision) {
			d.Source, d.Degraded, d.Unknown = engine.LocalBucket, engine.DegradedLocal, true
		})},
		"degraded-local-refused": {decision: change(refused(refuses(user, 0, time.Second, 2*time.Second)), func(d *engine.Decision) {
			d.Source, d.Degraded = engine.LocalBucket, engine.DegradedLocal
		})},
		"degraded-open": {decision: change(allowed(lets(user, 20, 0)), func(d *engine.Decision) {
			d.Source, d.Degraded = engine.LocalBucket, engine.DegradedOpen
		})},
		"store-error": {decision: change(refused(refuses(user, 0, time.Second, 0)), func(d *engine.Decision) {
			d.Source, d.Reason = engine.LocalBucket, engine.StoreError
		})},
		"waits": {decision: change(allowed(lets(rule(t, "steady", limit.Policy{Algorithm: "leaky_bucket", Quota: 10, Period: time.Second, Burst: 5}), 3, 150*time.Millisecond)), func(d *engine.Decision) {
			d.Wait = 150 * time.Millisecond
		})},
		"over":   {decision: allowed(isOver(lets(user, 0, 2100*time.Millisecond)), lets(day, 970, 24*time.Hour))},
		"shadow": {decision: allowed(lets(user, 19, 100*time.Millisecond), isOver(refuses(candidate, 0, time.Second, 2*time.Second)))},
		"slots":  {decision: allowed(lets(rule(t, "at-once", limit.Policy{Algorithm: "concurrency", Quota: 10, Period: 30 * time.Second}), 9, 30*time.Second))},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t)
			d.decision = c.decision
			cost := c.cost
			if cost == "" {
				cost = "1"
			}
			a := d.post("/v1/check", with(`"cost":`+cost))
			golden(t, filepath.Join("testdata", "answers", name+".http"), wire(a))
		})
	}
}

// wire returns an answer as text: status, headers by name, body.
func wire(a answer) string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(a.StatusCode) + " " + http.StatusText(a.StatusCode) + "\n")
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		for _, value := range a.Header[name] {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	return b.String() + "\n" + a.body
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has another answer; got\n%s\nwant\n%s", path, got, want)
	}
}

// The members of an answer come in the order in which the contract has them.
func TestMembersComeInTheOrderOfTheContract(t *testing.T) {
	d := newDoor(t)
	d.decision = allowed(lets(perUser(t), 19, 100*time.Millisecond))
	const want = `{"allowed":true,"tenant":"acme","limit":"per-user","remaining":19,"retry_after_ms":0,"reset_after_ms":100,"wait_ms":0,` +
		`"reason":"","source":"store","degraded":"","outcome":"known","repeat":false,"never":false,"over":false,"receipt":"",` +
		`"limits":[{"name":"per-user","algorithm":"token_bucket","mode":"enforce","quota":10,"period_ms":1000,` +
		`"burst":20,"remaining":19,"retry_after_ms":0,"reset_after_ms":100,"allowed":true,"over":false}]}` + "\n"
	if got := d.check().body; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBurstIsToldOfBucketsOnly(t *testing.T) {
	d := newDoor(t)
	plain := rule(t, "plain", limit.Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second})
	d.decision = allowed(lets(plain, 9, 0), lets(perDay(t), 1, 0))
	limits := d.check().members["limits"].([]any)
	if got := limits[0].(map[string]any)["burst"]; got != 10.0 {
		t.Errorf("burst of a bucket that says none is %v, want its quota", got)
	}
	if got, ok := limits[1].(map[string]any)["burst"]; ok {
		t.Errorf("a log has a burst of %v", got)
	}
}

func TestTimesAreRoundedUp(t *testing.T) {
	for _, c := range []struct {
		given          time.Duration
		millis, second int64
	}{
		{-time.Second, 0, 0},
		{0, 0, 0},
		{1, 1, 1},
		{time.Millisecond - 1, 1, 1},
		{time.Millisecond, 1, 1},
		{time.Millisecond + 1, 2, 1},
		{time.Second - 1, 1000, 1},
		{time.Second, 1000, 1},
		{time.Second + 1, 1001, 2},
		{1<<63 - 1, 9223372036855, 9223372037},
	} {
		if got := ceil(c.given, time.Millisecond); got != c.millis {
			t.Errorf("%s is %d ms, want %d", c.given, got, c.millis)
		}
		if got := ceil(c.given, time.Second); got != c.second {
			t.Errorf("%s is %d s, want %d", c.given, got, c.second)
		}
	}
}

func TestLookingIsNeverRefused(t *testing.T) {
	d := newDoor(t)
	for _, reason := range []engine.Reason{engine.QuotaUsed, engine.Contended, engine.HotKey, engine.StoreError} {
		d.decision = refused(refuses(perUser(t), 0, time.Second, time.Second))
		d.decision.Reason = reason
		a := d.post("/v1/check", with(`"cost":0`))
		a.has(200, "")
		if a.members["allowed"] != false || a.members["reason"] != string(reason) {
			t.Errorf("%s: allowed is %v, reason %v", reason, a.members["allowed"], a.members["reason"])
		}
		if a.Header.Get("Retry-After") != "" {
			t.Errorf("%s: a 200 has Retry-After", reason)
		}
	}
}
