package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
)

// item is an item of a structured list, as a client reads it: its name and integers.
type item struct {
	name       string
	parameters map[string]int64
}

// list reads a header field as a structured list of strings with integers.
func list(t *testing.T, h http.Header, field string) (items []item) {
	t.Helper()
	parsed, err := httpsfv.UnmarshalList(h.Values(field))
	if err != nil {
		t.Fatalf("%s is not a structured list: %v: %q", field, err, h.Values(field))
	}
	for _, member := range parsed {
		read := item{parameters: map[string]int64{}}
		var ok bool
		if read.name, ok = member.(httpsfv.Item).Value.(string); !ok {
			t.Errorf("%s: %v is not a string", field, member)
		}
		for _, name := range member.(httpsfv.Item).Params.Names() {
			value, _ := member.(httpsfv.Item).Params.Get(name)
			if read.parameters[name], ok = value.(int64); !ok {
				t.Errorf("%s: %s is not an integer", field, name)
			}
		}
		items = append(items, read)
	}
	return items
}

func integer(t *testing.T, h http.Header, field string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(h.Get(field), 10, 64)
	if err != nil {
		t.Errorf("%s is %q", field, h.Get(field))
	}
	return n
}

func TestPolicyTellsEveryLimit(t *testing.T) {
	for _, c := range []struct {
		policy limit.Policy
		want   map[string]int64
	}{
		{limit.Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second, Burst: 20}, map[string]int64{"q": 10, "w": 1, "penstock-burst": 20}},
		{limit.Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second, Burst: 5}, map[string]int64{"q": 10, "w": 1, "penstock-burst": 5}},
		{limit.Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second, Burst: 10}, map[string]int64{"q": 10, "w": 1}},
		{limit.Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Minute}, map[string]int64{"q": 10, "w": 60}},
		{limit.Policy{Algorithm: "leaky_bucket", Quota: 1, Period: time.Second, Burst: 3}, map[string]int64{"q": 1, "w": 1, "penstock-burst": 3}},
		{limit.Policy{Algorithm: "sliding_window_log", Quota: 100, Period: 1500 * time.Millisecond}, map[string]int64{"q": 100, "w": 2}},
		{limit.Policy{Algorithm: "sliding_window_log", Quota: 3, Period: 999 * time.Millisecond}, map[string]int64{"q": 3}},
		{limit.Policy{Algorithm: "fixed_window", Quota: 9, Period: limit.Month.Longest(), Calendar: limit.Month, AnchorDay: 15}, map[string]int64{"q": 9, "w": 31 * 86400}},
		{limit.Policy{Algorithm: "interval_refill", Quota: 10, Period: time.Minute}, map[string]int64{"q": 10, "w": 60}},
		{limit.Policy{Algorithm: "token_bucket", Quota: 1<<31 - 1, Period: 24 * time.Hour}, map[string]int64{"q": 1<<31 - 1, "w": 86400}},
	} {
		d := newDoor(t)
		d.decision = allowed(lets(rule(t, "a-1", c.policy), 1, 0), lets(perUser(t), 1, 0))
		got := list(t, d.check().Header, "RateLimit-Policy")
		if len(got) != 2 || got[0].name != "a-1" || got[1].name != "per-user" || fmt.Sprint(got[0].parameters) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %v, want %v", c.policy, got, c.want)
		}
	}
}

// What the headers say of the deciding limit.
func TestHeadersTellTheDecidingLimit(t *testing.T) {
	user, day := perUser(t), perDay(t)
	const s, ms = time.Second, time.Millisecond
	for name, c := range map[string]struct {
		decision               engine.Decision
		limit, remaining, more int64
		retry                  string
	}{
		"allowed, a bucket":                 {allowed(lets(user, 19, 100*ms)), 20, 19, 1, ""},
		"allowed, a log":                    {allowed(lets(day, 7, 24*time.Hour)), 1000, 7, 86400, ""},
		"allowed, full":                     {allowed(lets(user, 20, 0)), 20, 20, 0, ""},
		"allowed, the last of a bucket":     {allowed(lets(user, 0, 2*s)), 20, 0, 1, ""},
		"allowed, the last of a log":        {allowed(lets(day, 0, 3*time.Hour)), 1000, 0, 10800, ""},
		"allowed, when the next is known":   {allowed(engine.Verdict{Rule: day, Allowed: true, Standing: limit.Standing{RetryAfter: 90 * s, ResetAfter: 3 * time.Hour}}), 1000, 0, 90, ""},
		"allowed, the last of a slow one":   {allowed(lets(rule(t, "slow", limit.Policy{Algorithm: "token_bucket", Quota: 7, Period: time.Minute}), 0, time.Minute)), 7, 0, 9, ""},
		"refused for less than a second":    {refused(refuses(user, 0, 1, 2*s)), 20, 0, 1, "1"},
		"refused for a second":              {refused(refuses(user, 0, s, 2*s)), 20, 0, 1, "1"},
		"refused for more than a second":    {refused(refuses(user, 0, s+1, 2*s)), 20, 0, 2, "2"},
		"refused with some left":            {refused(refuses(user, 3, 2500*ms, 5*s)), 20, 3, 3, "3"},
		"refused without a time":            {refused(refuses(user, 0, 0, 0)), 20, 0, 0, "1"},
		"refused for hours":                 {refused(refuses(day, 0, 11*time.Hour, 24*time.Hour)), 1000, 0, 39600, "39600"},
		"refused forever":                   {never(refuses(user, 20, 0, 0)), 20, 20, 0, ""},
		"refused forever, not all is there": {never(refuses(user, 5, 0, 1500*ms)), 20, 5, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t)
			d.decision = c.decision
			h := d.check().Header
			got := list(t, h, "RateLimit")
			if len(got) != 1 || got[0].name != c.decision.Verdicts[0].Rule.Name || got[0].parameters["r"] != c.remaining || got[0].parameters["t"] != c.more {
				t.Errorf("RateLimit is %v, want r=%d;t=%d", got, c.remaining, c.more)
			}
			if n := integer(t, h, "X-RateLimit-Limit"); n != c.limit {
				t.Errorf("X-RateLimit-Limit is %d, want %d", n, c.limit)
			}
			if n := integer(t, h, "X-RateLimit-Remaining"); n != c.remaining {
				t.Errorf("X-RateLimit-Remaining is %d, want %d", n, c.remaining)
			}
			if n := integer(t, h, "X-RateLimit-Reset"); n != noon.Unix()+c.more {
				t.Errorf("X-RateLimit-Reset is %d, want %d", n, noon.Unix()+c.more)
			}
			if h.Get("Retry-After") != c.retry || h.Get("X-RateLimit-Retry-After") != c.retry {
				t.Errorf("Retry-After is %q and %q, want %q", h.Get("Retry-After"), h.Get("X-RateLimit-Retry-After"), c.retry)
			}
		})
	}
}

func never(v engine.Verdict) engine.Decision {
	v.Never = true
	d := refused(v)
	d.Never = true
	return d
}

func TestResetIsRoundedUpFromTheMomentItself(t *testing.T) {
	d := newDoor(t)
	d.decision = allowed(lets(perUser(t), 19, 100*time.Millisecond))
	d.decision.At = noon.Add(950 * time.Millisecond)
	if n := integer(t, d.check().Header, "X-RateLimit-Reset"); n != noon.Unix()+2 {
		t.Errorf("X-RateLimit-Reset is %d s after noon, want 2", n-noon.Unix())
	}
}

func TestNoLimitHasNoRateLimitHeaders(t *testing.T) {
	h := newDoor(t).check().Header
	for _, field := range []string{"RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "X-RateLimit-Retry-After"} {
		if h.Get(field) != "" {
			t.Errorf("%s is %q", field, h.Get(field))
		}
	}
}

// Fields of one answer share memory: adding to one must not reach another.
func TestFieldsAreApart(t *testing.T) {
	d := newDoor(t)
	d.decision = allowed(lets(perUser(t), 19, 0))
	h := http.Header{}
	d.handler.ServeHTTP(&sink{header: h}, post("/v1/check", padded(100)))
	before := h.Clone()
	h.Add("RateLimit-Policy", "x")
	h.Add("RateLimit", "y")
	for _, field := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if h.Get(field) != before.Get(field) || len(h.Values(field)) != 1 {
			t.Errorf("%s became %q", field, h.Values(field))
		}
	}
}

func TestPoliciesAreRememberedByWhatTheyAre(t *testing.T) {
	var p policies
	if first, again := p.of(perUser(t)), p.of(perUser(t)); first != again {
		t.Error("the same limit of another snapshot was rendered again")
	}
	other := rule(t, "per-user", limit.Policy{Algorithm: "token_bucket", Quota: 11, Period: time.Second, Burst: 20})
	if p.of(perUser(t)) == p.of(other) {
		t.Error("limits of one name with different quotas are told alike")
	}
}

func TestPoliciesAreBounded(t *testing.T) {
	var p policies
	for i := range 2*maxPolicies + 5 {
		p.of(rule(t, fmt.Sprintf("limit-%d", i), limit.Policy{Algorithm: "token_bucket", Quota: 10, Period: time.Second}))
	}
	if n := len(p.rendered); n > maxPolicies {
		t.Errorf("%d policies are remembered, want %d at most", n, maxPolicies)
	}
}
