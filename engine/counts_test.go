package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

func (sc *scene) counts(cost int64, items ...quota.Item) []Verdict {
	sc.t.Helper()
	_, verdicts, err := sc.engine.Counts(sc.t.Context(), items, cost)
	if err != nil {
		sc.t.Fatal(err)
	}
	return verdicts
}

func (sc *scene) reset(items ...quota.Item) {
	sc.t.Helper()
	if err := sc.engine.Reset(sc.t.Context(), items); err != nil {
		sc.t.Fatal(err)
	}
}

func TestCountsTellWhatIsUsedAndWriteNothing(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "second", bucket(10, time.Second, 20)), rule(t, "hour", window(5, time.Hour)))
	sc.admitted(3, alice)
	sc.wrote(1)
	got := sc.counts(4, alice)
	if v := got[0]; v.Remaining != 17 || !v.Allowed || v.Rule.Name != "second" {
		t.Errorf("the bucket: %+v", v)
	}
	if v := got[1]; v.Remaining != 2 || v.Allowed || v.RetryAfter != time.Hour {
		t.Errorf("the log: %+v", v)
	}
	if v := sc.counts(0, item("bob", 1, rule(t, "hour", window(5, time.Hour))))[0]; v.Remaining != 5 || !v.Allowed || v.RetryAfter != 0 {
		t.Errorf("of a key never seen: %+v", v)
	}
	sc.wrote(0)
}

func TestCountsOfASpreadLimitAreOfAllShards(t *testing.T) {
	sc := newShardScene(t)
	all := spread(t, 4, item("all", 0, rule(t, "all", window(40, time.Hour))))
	for range 7 {
		sc.admitted(1, all)
	}
	if v := sc.counts(1, all)[0]; v.Rule != all.Rules[0] || v.Remaining != 33 || !v.Allowed {
		t.Errorf("%+v", v)
	}
	for sc.counts(1, all)[0].Remaining > 0 {
		sc.decide(1, all)
	}
	if v := sc.counts(1, all)[0]; v.Allowed || v.RetryAfter <= 0 {
		t.Errorf("used up: %+v", v)
	}
	sc.reset(all)
	if v := sc.counts(1, all)[0]; v.Remaining != 40 {
		t.Errorf("after a reset: %+v", v)
	}
}

// A reset is seen at once here, also by who was backing off; the limits beside it stay as they are.
func TestResetBeginsAfresh(t *testing.T) {
	sc := newScene(t)
	second, hour := rule(t, "second", bucket(1, time.Minute, 2)), rule(t, "hour", window(5, time.Hour))
	alice := item("alice", 1, second, hour)
	sc.admitted(2, alice)
	sc.decide(1, alice)
	if d := sc.decide(1, alice); d.Allowed || d.Source != Memory {
		t.Fatalf("%+v", d)
	}
	one := alice
	one.Rules = []*quota.Rule{second}
	sc.reset(one)
	if d := sc.admitted(2, alice); d.Verdicts[0].Remaining != 0 || d.Verdicts[1].Remaining != 1 {
		t.Errorf("%+v", d.Verdicts)
	}
	sc.reset(alice)
	if d := sc.admitted(1, alice); d.Verdicts[0].Remaining != 1 || d.Verdicts[1].Remaining != 4 {
		t.Errorf("%+v", d.Verdicts)
	}
}

func TestResetKeepsRequestIDs(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "hour", window(5, time.Hour)))
	sc.named("a", 2, alice).is(t, true, false, Store)
	sc.reset(alice)
	sc.named("a", 2, alice).is(t, true, true, Store)
	sc.remaining(5, alice)
}

// Another instance refuses by what it remembers, for ten seconds at most.
func TestResetElsewhereIsSeenWithinTenSeconds(t *testing.T) {
	here := newScene(t)
	there := newSceneOn(t, here.store)
	alice := item("alice", 1, rule(t, "day", window(1, 24*time.Hour)))
	here.admitted(1, alice)
	there.decide(1, alice)
	here.reset(alice)
	if there.at(10 * time.Second); there.decide(1, alice).Allowed {
		t.Error("there it is seen already: is anything remembered?")
	}
	there.at(10*time.Second + ms(1))
	there.admitted(1, alice)
}

func TestCountsAndResetsSayWhenTheStoreIsAway(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "hour", window(5, time.Hour)))
	sc.admitted(1, alice)
	sc.store.before = down(false)
	_, _, err := sc.engine.Counts(t.Context(), []quota.Item{alice}, 1)
	if e, ok := errors.AsType[*store.Error](err); !ok || e.Reason != store.Unavailable {
		t.Errorf("counts: %v", err)
	}
	err = sc.engine.Reset(t.Context(), []quota.Item{alice})
	if e, ok := errors.AsType[*store.Error](err); !ok || e.Unknown {
		t.Errorf("reset: %v", err)
	}
	sc.store.before = nil
	sc.remaining(4, alice)
}

// Also who backs off from a key looks again within ten seconds: a reset elsewhere is not told to anybody.
func TestBackOffEndsWithinTenSeconds(t *testing.T) {
	here := newScene(t)
	there := newSceneOn(t, here.store)
	alice := item("alice", 1, rule(t, "minute", window(1, time.Minute)))
	for n := range backOffAfter { // each time the permit is free again, it is had here
		at := time.Duration(n) * time.Minute
		here.at(at)
		here.admitted(1, alice)
		there.at(at)
		there.decide(1, alice)
	}
	here.reset(alice)
	there.at(2*time.Minute + 10*time.Second)
	there.refused(1, 51*time.Second, QuotaUsed, BackOff, alice)
	there.at(2*time.Minute + 10*time.Second + ms(1))
	there.admitted(1, alice)
}
