package httpapi

import (
	"slices"
	"testing"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

const lease = `{"tenant":"acme","resource":"GET /search","min":10,"max":500,"ttl_ms":1000}`

var badLeases = []struct {
	name, body string
	members    []string
}{
	{"empty", ``, nil},
	{"an array", `[]`, []string{""}},
	{"empty object", `{}`, []string{"max", "resource", "tenant", "ttl_ms"}},
	{"a check", with(`"subject":"user:42"`), []string{"max", "ttl_ms"}},
	{"something follows", lease + `1`, nil},
	{"max twice", with(`"max":5,"max":5,"ttl_ms":1000`), []string{"max"}},
	{"tenant with a slash", `{"tenant":"ac/me","resource":"r","max":5,"ttl_ms":1000}`, []string{"tenant"}},

	{"min 0", with(`"min":0,"max":5,"ttl_ms":1000`), []string{"min"}},
	{"min negative", with(`"min":-1,"max":5,"ttl_ms":1000`), []string{"min"}},
	{"min null", with(`"min":null,"max":5,"ttl_ms":1000`), []string{"min"}},
	{"min above max", with(`"min":6,"max":5,"ttl_ms":1000`), []string{"min"}},
	{"max 0", with(`"max":0,"ttl_ms":1000`), []string{"max"}},
	{"max of 2³¹", with(`"max":2147483648,"ttl_ms":1000`), []string{"max"}},
	{"max a string", with(`"max":"5","ttl_ms":1000`), []string{"max"}},
	{"max null", with(`"max":null,"ttl_ms":1000`), []string{"max"}},
	{"min and max of 2³¹", with(`"min":2147483648,"max":2147483648,"ttl_ms":1000`), []string{"max", "min"}},

	{"ttl_ms of 9", with(`"max":5,"ttl_ms":9`), []string{"ttl_ms"}},
	{"ttl_ms above 60,000", with(`"max":5,"ttl_ms":60001`), []string{"ttl_ms"}},
	{"ttl_ms with a fraction", with(`"max":5,"ttl_ms":1000.5`), []string{"ttl_ms"}},
	{"ttl_ms null", with(`"max":5,"ttl_ms":null`), []string{"ttl_ms"}},

	{"cost", with(`"max":5,"ttl_ms":1000,"cost":1`), []string{"cost"}},
	{"request_id", with(`"max":5,"ttl_ms":1000,"request_id":"r"`), []string{"request_id"}},
	{"max_wait_ms", with(`"max":5,"ttl_ms":1000,"max_wait_ms":0`), []string{"max_wait_ms"}},
	{"unknown member", with(`"max":5,"ttl_ms":1000,"ttl":1`), []string{"ttl"}},
}

func TestBadLeasesGetNoDecision(t *testing.T) {
	for _, c := range badLeases {
		t.Run(c.name, func(t *testing.T) {
			d := newDoor(t)
			a := d.post("/v1/leases", c.body)
			a.has(400, invalid)
			if got := faulty(a.members); !slices.Equal(got, c.members) {
				t.Errorf("named %q, want %q: %s", got, c.members, a.body)
			}
			if len(d.calls)+len(d.requests) > 0 {
				t.Error("it was decided")
			}
		})
	}
}

func TestDetailOfABadLeaseSaysWhatToDo(t *testing.T) {
	for member, want := range map[string]string{
		`"cost":1`:        `cost is not a member of a lease; say with min and max how many permits are wanted.`,
		`"request_id":""`: `request_id is not a member of a lease; leave it out, as a lease whose answer is lost ends by itself, after ttl_ms.`,
		`"max_wait_ms":0`: `max_wait_ms is not a member of a lease, which begins at once; come back after retry_after_ms instead.`,
		`"ttl":1`:         `ttl is not a member of a lease; those are tenant, resource, subject, attributes, min, max and ttl_ms.`,
		`"min":6`:         `min must be at most max, which is 5.`,
	} {
		if got := newDoor(t).post("/v1/leases", with(`"max":5,"ttl_ms":1000,`+member)).members["detail"]; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", member, got, want)
		}
	}
}

func TestLeaseIsPassedOn(t *testing.T) {
	for body, want := range map[string]engine.Call{
		lease:                                   {Least: 10, Cost: 500, TTL: time.Second},
		with(`"max":1,"ttl_ms":10`):             {Least: 1, Cost: 1, TTL: 10 * time.Millisecond},
		with(`"max":2147483647,"ttl_ms":60000`): {Least: 1, Cost: 1<<31 - 1, TTL: time.Minute},
		with(`"min":5,"max":5,"ttl_ms":1000`):   {Least: 5, Cost: 5, TTL: time.Second},
	} {
		d := newDoor(t)
		d.post("/v1/leases", body).has(200, "")
		got := d.calls[0]
		if got.Least != want.Least || got.Cost != want.Cost || got.TTL != want.TTL || got.RequestID != "" || got.MaxWait != 0 {
			t.Errorf("%s: asked for %+v", body, got)
		}
	}
}

// A check must not be taken for a lease, nor get its members.
func TestCheckIsNoLease(t *testing.T) {
	d := newDoor(t)
	a := d.check()
	if got := d.calls[0]; got.Least != 0 || got.TTL != 0 {
		t.Errorf("asked for %+v", got)
	}
	if _, ok := a.members["granted"]; ok {
		t.Errorf("got %s", a.body)
	}
}

func TestLeaseTellsWhatWasGrantedAndForHowLong(t *testing.T) {
	d := newDoor(t)
	d.decision = allowed(lets(perUser(t), 10, time.Second))
	d.decision.Granted, d.decision.TTL = 10, 700*time.Millisecond+999*time.Microsecond
	golden(t, "testdata/answers/lease.http", wire(d.post("/v1/leases", lease)))

	d.decision = refused(refuses(perUser(t), 3, 700*time.Millisecond, time.Second))
	golden(t, "testdata/answers/lease-refused.http", wire(d.post("/v1/leases", lease)))
}

func TestDetailOfARefusedLease(t *testing.T) {
	queue := rule(t, "steady", limit.Policy{Algorithm: "leaky_bucket", Quota: 10, Period: time.Second})
	never := func(r *quota.Rule) engine.Decision {
		d := refused(engine.Verdict{Rule: r, Never: true, Standing: limit.Standing{Remaining: 10}})
		d.Never = true
		return d
	}
	for want, decision := range map[string]engine.Decision{
		"Limit per-user (10 per 1s, burst 20) has 3 left of the 10 asked for; try again in 700ms.": refused(refuses(perUser(t), 3, 700*time.Millisecond, 0)),
		"Limit per-user (10 per 1s, burst 20) is used up; try again in 700ms.":                     refused(refuses(perUser(t), 0, 700*time.Millisecond, 0)),
		"Limit per-user (10 per 1s, burst 20) has none left to lease; try again in 1ms.":           refused(refuses(perUser(t), 19, time.Millisecond, 0)),
		"Limit steady (10 per 1s) cannot be leased; make a check for each call.":                   never(queue),
		"A min of 10 is more than limit small (2 per 1s) can ever give at once; ask for 2 at most.": never(
			rule(t, "small", limit.Policy{Algorithm: "token_bucket", Quota: 2, Period: time.Second})),
	} {
		d := newDoor(t)
		d.decision = decision
		a := d.post("/v1/leases", lease)
		a.has(429, quotaExceeded.uri)
		if got := a.members["detail"]; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestDetailTellsOfTheWait(t *testing.T) {
	for want, decision := range map[string]engine.Decision{
		"Limit per-user (10 per 1s, burst 20) is used up; the call would wait for 250ms at most; try again in 700ms.":                    refused(refuses(perUser(t), 0, 700*time.Millisecond, 0)),
		"Limit per-user (10 per 1s, burst 20) has 3 left of the 5 asked for; the call would wait for 250ms at most; try again in 700ms.": refused(refuses(perUser(t), 3, 700*time.Millisecond, 0)),
	} {
		d := newDoor(t)
		d.decision = decision
		if got := d.post("/v1/check", with(`"cost":5,"max_wait_ms":250`)).members["detail"]; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestWhoMayLease(t *testing.T) {
	keys := newKeyring()
	d := newDoor(t, func(o *Options) { o.Auth, o.Verifier = AuthKeys, keys.verifier })
	own := "Authorization: Bearer " + keys.mint("acme", apikey.CheckOwn)
	d.post("/v1/leases", lease).has(401, notKnown)
	d.post("/v1/leases", `{"tenant":"globex","resource":"r","max":5,"ttl_ms":1000}`, own).has(403, notAllowed)
	if len(d.calls) > 0 {
		t.Error("it was decided")
	}
	d.post("/v1/leases", `{"resource":"r","max":5,"ttl_ms":1000}`, own).has(200, "")
	if len(d.requests) != 1 || d.requests[0].Tenant != "acme" {
		t.Errorf("asked for %+v", d.requests)
	}
}
