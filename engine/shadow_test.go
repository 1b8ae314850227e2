package engine

import (
	"context"
	"testing"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

func shadow(t testing.TB, name string, p limit.Policy) *quota.Rule {
	t.Helper()
	r := rule(t, name, p)
	r.Mode = quota.Shadow
	return r
}

func TestAShadowRefusesNobodyAndSaysWhomItWould(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "live", bucket(10, time.Second, 3)), shadow(t, "candidate", bucket(10, time.Second, 1)))
	for i, would := range []bool{true, false, false} {
		d := sc.admitted(1, alice)
		if d.Verdicts[1].Allowed != would || d.Verdicts[d.Deciding].Rule.Name != "live" {
			t.Fatalf("call %d: %+v", i, d.Verdicts)
		}
	}
	sc.wrote(3) // not one more than without the candidate
	d := sc.refused(1, ms(100), QuotaUsed, Memory, alice)
	if d.Verdicts[0].Allowed || d.Verdicts[1].Allowed {
		t.Fatalf("%+v", d.Verdicts)
	}
	sc.at(ms(100))
	if d := sc.admitted(1, alice); !d.Verdicts[1].Allowed { // it was charged once, not three times
		t.Fatalf("%+v", d.Verdicts)
	}
}

func TestAShadowAloneWritesOnlyWhatPasses(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, shadow(t, "candidate", window(2, time.Hour)))
	for i, would := range []bool{true, true, false, false} {
		if d := sc.admitted(1, alice); d.Verdicts[0].Allowed != would || d.Deciding != -1 {
			t.Fatalf("call %d: %+v", i, d)
		}
	}
	sc.wrote(2)
}

func TestAShadowCostsAtMostOneWrite(t *testing.T) {
	one := newScene(t)
	rules := []*quota.Rule{rule(t, "live", bucket(10, time.Second, 5)), shadow(t, "a", bucket(3, time.Minute, 5)), shadow(t, "b", window(3, time.Minute))}
	alice := item("alice", 1, rules...)
	for i := range 50 {
		one.at(ms(150 * i))
		two := newSceneOn(t, one.store) // that has never seen alice
		two.now = one.now
		for _, sc := range []*scene{one, two} {
			if d := sc.decide(1, alice); d.Writes > 3 || !d.Allowed && d.Verdicts[0].Allowed {
				t.Fatalf("call %d: %+v", i, d)
			}
		}
	}
}

func TestAShadowIsSilentWhileTheStoreIsAway(t *testing.T) {
	sc := newScene(t)
	sc.store.before = down(false)
	live := rule(t, "live", bucket(100, time.Second, 100))
	live.OnStoreError = quota.Local
	candidate := shadow(t, "candidate", bucket(1, time.Second, 1))
	candidate.OnStoreError = quota.Deny
	if d := sc.admitted(1, item("alice", 1, live, candidate)); d.Degraded != DegradedLocal {
		t.Fatalf("%+v", d)
	}
}

func TestGivingBackLeavesAShadowThatWasNotChargedAlone(t *testing.T) {
	sc := newScene(t)
	wide := item("tenant", 0, rule(t, "live", bucket(100, time.Hour, 100)), shadow(t, "candidate", bucket(1, time.Hour, 2)))
	narrow := item("alice", 1, rule(t, "per-user", bucket(1, time.Hour, 1)))
	sc.admitted(2, wide)
	other := newSceneOn(t, sc.store)
	other.admitted(1, narrow)
	sc.refused(1, time.Hour, QuotaUsed, Store, wide, narrow)
	d, err := other.engine.Decide(context.Background(), Call{Items: []quota.Item{wide}})
	if err != nil || d.Verdicts[0].Remaining != 98 || d.Verdicts[1].Remaining != 0 {
		t.Fatalf("%+v, %v", d.Verdicts, err)
	}
}
