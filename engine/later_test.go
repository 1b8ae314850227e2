package engine

import (
	"context"
	"testing"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

func (sc *scene) call(c Call) Decision {
	sc.t.Helper()
	d, err := sc.engine.Decide(context.Background(), c)
	if err != nil {
		sc.t.Fatalf("%s: %v", sc.now.Sub(noon), err)
	}
	return d
}

// waits makes a call that may wait for maxWait and has to for want.
func (sc *scene) waits(maxWait, want time.Duration, items ...quota.Item) Decision {
	sc.t.Helper()
	d := sc.call(Call{Items: items, Cost: 1, MaxWait: maxWait})
	if !d.Allowed || d.Wait != want {
		sc.t.Fatalf("%s: allowed %v, wait %s; want a wait of %s", sc.now.Sub(noon), d.Allowed, d.Wait, want)
	}
	return d
}

func (sc *scene) leases(least, most int64, ttl time.Duration, granted int64, items ...quota.Item) Decision {
	sc.t.Helper()
	d := sc.call(Call{Items: items, Cost: most, Least: least, TTL: ttl})
	if d.Granted != granted || d.Allowed != (granted > 0) {
		sc.t.Fatalf("%s: granted %d (allowed %v), want %d", sc.now.Sub(noon), d.Granted, d.Allowed, granted)
	}
	return d
}

func TestACallThatMayWaitBooksALaterPermit(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 2)))
	sc.waits(time.Second, 0, alice)
	sc.waits(time.Second, 0, alice)
	sc.waits(time.Second, ms(100), alice)
	sc.waits(time.Second, ms(200), alice)
	sc.wrote(4)
	sc.refused(1, ms(300), QuotaUsed, Memory, alice)
	d := sc.call(Call{Items: []quota.Item{alice}, Cost: 1, MaxWait: ms(299)})
	if d.Allowed || d.RetryAfter != ms(300) || d.Wait != 0 || d.Source != Memory {
		t.Fatalf("%+v", d)
	}
	sc.wrote(0)
	sc.at(ms(300))
	sc.admitted(1, alice)
}

// Another instance has used it up: what is found there decides for when.
func TestAWaitIsPlannedFromWhatTheStoreSays(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 2)), rule(t, "exact", window(2, ms(500))))
	other := newSceneOn(t, sc.store)
	other.admitted(2, alice)
	sc.wrote(1)
	sc.waits(time.Second, ms(500), alice)
	sc.wrote(2)
}

func TestACallOfSeveralItemsWaitsForAllAtOnce(t *testing.T) {
	sc := newScene(t)
	tenant := item("tenant", 0, rule(t, "all", bucket(10, time.Second, 1)))
	alice := item("alice", 1, rule(t, "per-user", bucket(4, time.Second, 1)))
	sc.waits(time.Second, 0, tenant, alice)
	sc.waits(time.Second, ms(250), tenant, alice)
	// Both are charged for the same time: the tenant has no permit until then.
	other := newSceneOn(t, sc.store)
	other.at(ms(240))
	other.refused(1, ms(110), QuotaUsed, Store, tenant)
	d := sc.call(Call{Items: []quota.Item{tenant, alice}, Cost: 1, MaxWait: ms(499)})
	if d.Allowed {
		t.Fatalf("%+v", d)
	}
	sc.at(ms(600))
	sc.admitted(1, tenant) // given back by the call that could not wait so long
}

func TestARepeatOfACallThatWaitsIsNotBookedTwice(t *testing.T) {
	sc := newScene(t)
	tenant := item("tenant", 0, rule(t, "all", bucket(10, time.Second, 1)))
	alice := item("alice", 1, rule(t, "per-user", bucket(4, time.Second, 1)))
	sc.waits(time.Second, 0, tenant, alice)
	c := Call{Items: []quota.Item{tenant, alice}, Cost: 1, MaxWait: time.Second, RequestID: "one"}
	if d := sc.call(c); !d.Allowed || d.Wait != ms(250) || d.Repeat {
		t.Fatalf("%+v", d)
	}
	if d := sc.call(c); !d.Allowed || !d.Repeat {
		t.Fatalf("%+v", d)
	}
	if d := sc.call(Call{Items: []quota.Item{alice}, Cost: 1, MaxWait: time.Second}); d.Wait != ms(500) {
		t.Fatalf("%+v", d)
	}
}

func TestAWindowIsNotWaitedFor(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-second", limit.Policy{Algorithm: "fixed_window", Quota: 1, Period: time.Second}))
	sc.waits(10*time.Second, 0, alice)
	d := sc.call(Call{Items: []quota.Item{alice}, Cost: 1, MaxWait: 10 * time.Second})
	if d.Allowed || d.RetryAfter != time.Second {
		t.Fatalf("%+v", d)
	}
}

func TestALeaseIsHalfOfWhatRemains(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(100, time.Second, 0)))
	d := sc.leases(1, 500, ms(100), 45, alice) // a tenth of the bucket is room for the time it lasts
	if d.TTL != ms(100) {
		t.Fatalf("lasts %s", d.TTL)
	}
	sc.leases(1, 10, ms(100), 10, alice)
	sc.leases(20, 500, ms(100), 20, alice)
	sc.wrote(3)
	sc.leases(20, 500, ms(100), 0, alice)
	sc.leases(1, 500, ms(100), 8, alice)
	bob := alice
	bob.Key = "bob"
	if d := sc.leases(1, 5, time.Hour, 5, bob); d.TTL != ms(500) {
		t.Fatalf("lasts %s, which takes half of the bucket at most", d.TTL)
	}
}

func TestALeaseOfSeveralItemsIsTheSmallest(t *testing.T) {
	sc := newScene(t)
	tenant := item("tenant", 0, rule(t, "all", window(1000, time.Hour)))
	alice := item("alice", 1, rule(t, "per-user", window(10, time.Hour)))
	d := sc.leases(1, 100, time.Second, 5, tenant, alice)
	if left := d.Verdicts[0].Remaining; left != 995 {
		t.Fatalf("the tenant has %d left: %+v", left, d.Verdicts)
	}
	charges := d.Charges()
	if len(charges) != 2 {
		t.Fatalf("%+v", charges)
	}
}

func TestWhatLeasesNothingNeverDoes(t *testing.T) {
	sc := newScene(t)
	queue := item("queue", 1, rule(t, "queue", limit.Policy{Algorithm: "leaky_bucket", Quota: 10, Period: time.Second}))
	if d := sc.leases(1, 10, time.Second, 0, queue); !d.Never {
		t.Fatalf("%+v", d)
	}
}

func TestASlotIsReleasedBySettlement(t *testing.T) {
	sc := newScene(t)
	jobs := item("jobs", 0, rule(t, "at-once", limit.Policy{Algorithm: "concurrency", Quota: 2, Period: time.Minute}))
	first := sc.admitted(1, jobs)
	sc.admitted(1, jobs)
	sc.refused(1, time.Second, QuotaUsed, Memory, jobs)
	other := newSceneOn(t, sc.store)
	sc.settles(first, 0, jobs)
	sc.admitted(1, jobs)
	other.refused(1, time.Second, QuotaUsed, Store, jobs)
	other.refused(1, time.Second, QuotaUsed, Memory, jobs)
	other.at(ms(51))
	other.refused(1, time.Second, QuotaUsed, Store, jobs) // it asks again: someone may be done
	sc.wrote(7)
	sc.at(time.Minute)
	sc.admitted(2, jobs) // nobody came back
}

func TestNothingIsTentativeInTheEnd(t *testing.T) {
	sc := newScene(t)
	tenant := item("tenant", 0, rule(t, "all", bucket(10, time.Second, 1)))
	alice := item("alice", 1, rule(t, "per-user", bucket(4, time.Second, 1)))
	for range 6 {
		sc.call(Call{Items: []quota.Item{tenant, alice}, Cost: 1, MaxWait: time.Second})
	}
	for _, it := range []quota.Item{tenant, alice} {
		if n := sc.engine.memory.key(it.Key).tentative; n != 0 {
			t.Errorf("%s: %d charges are said to be tentative", it.Key, n)
		}
	}
}

func TestACallThatWaitsGetsWhatIsLeftInABackOff(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(1, 2*time.Second, 1)))
	other := newSceneOn(t, sc.store)
	for i := range 5 { // another instance gets each of them
		sc.at(2 * time.Second * time.Duration(i))
		other.now = sc.now
		other.admitted(1, alice)
		sc.decide(1, alice)
	}
	sc.at(10 * time.Second)
	if d := sc.decide(1, alice); d.Source != BackOff {
		t.Fatalf("%+v", d)
	}
	sc.waits(2*time.Second, 0, alice)
}

func TestATentativeChargeEndsOnce(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(4, time.Second, 1)))
	a := sc.engine.askTentatively(t.Context(), &alice, question{now: sc.now, cost: 1})
	a.final()
	a.final()
	if n := a.key.tentative; n != 0 {
		t.Errorf("%d", n)
	}
}
