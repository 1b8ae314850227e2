package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

func TestOneLimit(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 2)))

	d := sc.admitted(1, alice)
	if v := d.Verdicts[d.Deciding]; v.Rule.Name != "per-user" || v.Remaining != 1 || v.ResetAfter != ms(100) || d.Source != Store {
		t.Fatalf("%+v by %s", v, d.Source)
	}
	sc.admitted(1, alice)
	sc.wrote(2)
	sc.refused(1, ms(100), QuotaUsed, Memory, alice)
	sc.at(ms(99))
	sc.refused(1, ms(1), QuotaUsed, Memory, alice)
	sc.wrote(0)
	sc.at(ms(100))
	sc.admitted(1, alice)
	sc.wrote(1)
}

func TestNoLimitMatches(t *testing.T) {
	sc := newScene(t)
	if d := sc.admitted(1); d.Deciding != -1 || len(d.Verdicts) != 0 {
		t.Fatalf("%+v", d)
	}
	sc.wrote(0)
}

func TestADecisionReadsTheClockOnce(t *testing.T) {
	sc := newScene(t)
	tenant, alice := item("tenant", 0, rule(t, "daily", bucket(5, time.Hour, 0))), item("alice", 1, rule(t, "per-user", window(3, time.Second)))
	for range 10 {
		sc.clock = 0
		sc.decide(1, tenant, alice)
		if sc.clock != 1 {
			t.Fatalf("the clock was read %d times", sc.clock)
		}
	}
}

func TestWhatIsRefusedForFiveMayPassForOne(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 5)))
	sc.admitted(3, alice)
	sc.refused(5, ms(300), QuotaUsed, Memory, alice)
	sc.admitted(1, alice)
	d := sc.decide(6, alice)
	if d.Allowed || !d.Never || d.RetryAfter != 0 {
		t.Fatalf("%+v", d)
	}
}

func TestARefusalFromMemoryIsTrustedOnlySoLong(t *testing.T) {
	sc := newScene(t)
	tenant := item("tenant", 0, rule(t, "hourly", bucket(1, time.Hour, 0)))
	sc.admitted(1, tenant)
	sc.wrote(1)
	sc.at(10 * time.Second) // a twentieth of an hour is more than 10 s
	sc.refused(1, time.Hour-10*time.Second, QuotaUsed, Memory, tenant)
	sc.wrote(0)
	sc.at(10*time.Second + 1)
	sc.refused(1, time.Hour-10*time.Second-1, QuotaUsed, Store, tenant)
	sc.wrote(1)
	sc.at(20 * time.Second)
	sc.refused(1, time.Hour-20*time.Second, QuotaUsed, Memory, tenant)
	sc.wrote(0)
}

func TestAnotherInstanceIsSeenByTheWriteThatFails(t *testing.T) {
	one := newScene(t)
	two := newSceneOn(t, one.store)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 2)))
	one.admitted(1, alice)
	one.wrote(1)
	two.admitted(1, alice) // it expects a rested bucket, is shown a busy one, and is right at the second
	two.wrote(2)
	one.refused(1, ms(100), QuotaUsed, Store, alice)
	one.wrote(1)
}

func TestAnInstanceBacksOffFromAKeyThatKeepsRefusing(t *testing.T) {
	one := newScene(t)
	greedy := newSceneOn(t, one.store)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 1)))
	greedy.admitted(1, alice)
	for n := 1; n <= 4; n++ {
		one.refused(1, ms(100), QuotaUsed, Store, alice)
		wait := ms(100)
		if n > 2 { // from the third on half of 100 ms, then of 200 ms, longer than it would have to
			wait += ms(50) << (n - 3)
		}
		one.at(one.now.Sub(noon) + wait - 1)
		if n > 2 {
			one.refused(1, 1, QuotaUsed, BackOff, alice)
		} else {
			one.refused(1, 1, QuotaUsed, Memory, alice)
		}
		one.at(one.now.Sub(noon) + 1)
		greedy.now = one.now
		greedy.admitted(1, alice)
	}
	one.at(time.Minute)
	one.admitted(1, alice)
	one.refused(1, ms(100), QuotaUsed, Memory, alice)
	greedy.now = one.now.Add(ms(100))
	greedy.admitted(1, alice)
	one.at(time.Minute + ms(100))
	one.refused(1, ms(100), QuotaUsed, Store, alice)
	one.at(time.Minute + ms(200)) // the admission made it patient again
	one.admitted(1, alice)
}

func TestCallsThatWereSentTogetherAreOneRefusal(t *testing.T) {
	var k key
	r := rule(t, "per-user", bucket(1, time.Second, 1))
	refusal := view{proposal: limit.Proposal{Refusal: &limit.Refusal{RetryAfter: time.Second}}}
	refusal.at = noon
	for range 10 {
		a := answer{item: &quota.Item{Rules: []*quota.Rule{r}}, views: []view{refusal}, outcome: refused}
		k.conclude(&a, question{now: noon, cost: 1}, func() float64 { return 1 })
	}
	if s := k.slot(r.ID); s.refusals != 1 || !s.notBefore.IsZero() {
		t.Fatalf("%+v", s)
	}
}

func TestSeveralLimitsOfOneKeyAreOneWrite(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1,
		rule(t, "per-second", bucket(2, time.Second, 0)),
		rule(t, "per-minute", window(3, time.Minute)),
		rule(t, "per-day", bucket(1000, 24*time.Hour, 0)))
	sc.admitted(1, alice)
	d := sc.admitted(1, alice)
	sc.wrote(2)
	if len(d.Verdicts) != 3 || d.Verdicts[d.Deciding].Rule.Name != "per-second" {
		t.Fatalf("%+v", d)
	}
	d = sc.refused(1, ms(500), QuotaUsed, Memory, alice)
	if d.Verdicts[0].Allowed || !d.Verdicts[1].Allowed || d.Verdicts[1].Remaining != 1 {
		t.Fatalf("%+v", d.Verdicts)
	}
	sc.wrote(0)
	sc.at(time.Second)
	sc.admitted(1, alice)
	d = sc.refused(1, 59*time.Second, QuotaUsed, Memory, alice)
	if d.Verdicts[2].Remaining != 997 {
		t.Fatalf("a refusal charged: %+v", d.Verdicts[2])
	}
}

func TestTheLongestRetryDecidesARefusal(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-second", bucket(1, time.Second, 0)), rule(t, "per-minute", window(1, time.Minute)))
	sc.admitted(1, alice)
	if d := sc.refused(1, time.Minute, QuotaUsed, Memory, alice); d.Verdicts[d.Deciding].Rule.Name != "per-minute" {
		t.Fatalf("%+v", d)
	}
}

func TestARefusalGivesBackWhatOtherItemsWereCharged(t *testing.T) {
	for _, policy := range []limit.Policy{bucket(100, time.Second, 0), window(100, time.Second)} {
		t.Run(policy.Algorithm, func(t *testing.T) {
			other := newScene(t)
			sc := newSceneOn(t, other.store)
			wide, narrow := rule(t, "tenant", policy), rule(t, "per-user", bucket(1, time.Minute, 0))
			tenant, alice := item("tenant", 0, wide), item("alice", 1, narrow)
			other.admitted(1, alice)
			d := sc.refused(1, time.Minute, QuotaUsed, Store, tenant, alice)
			if d.Verdicts[d.Deciding].Rule != narrow {
				t.Fatalf("%+v", d)
			}
			if d := sc.decide(0, tenant); d.Verdicts[0].Remaining != 100 {
				t.Fatalf("%d remain, nothing was given back", d.Verdicts[0].Remaining)
			}
		})
	}
}

func TestAFloodOfInventedSubjectsEndsAtTheTenantsLimit(t *testing.T) {
	sc := newScene(t)
	wide, narrow := rule(t, "tenant", bucket(5, time.Hour, 0)), rule(t, "per-user", bucket(10, time.Second, 0))
	tenant := item("tenant", 0, wide)
	sc.admitted(5, tenant)
	sc.wrote(1)
	for i := range 1000 {
		if d := sc.decide(1, tenant, item(fmt.Sprint("invented-", i), 1, narrow)); d.Allowed {
			t.Fatalf("subject %d was admitted", i)
		}
	}
	sc.wrote(0)
	if n := sc.store.items(); n != 1 {
		t.Fatalf("%d items were created", n-1)
	}

	cold := newSceneOn(t, sc.store) // knows nothing of the tenant yet
	for i := range 1000 {
		cold.decide(1, tenant, item(fmt.Sprint("invented-", i), 1, narrow))
	}
	cold.wrote(1)
	if n := sc.store.items(); n != 1 {
		t.Fatalf("%d items were created", n-1)
	}
}

func TestKeysNeverSeenAreWrittenLast(t *testing.T) {
	tenant, user, device := quota.Item{Parts: 0}, quota.Item{Parts: 1}, quota.Item{Parts: 2}
	for _, c := range []struct {
		remaining []float64 // of tenant, user, device; -1: never seen
		want      []int
	}{
		{[]float64{1, 1, 1}, []int{0, 1, 2}},
		{[]float64{-1, 1, 1}, []int{1, 2, 0}},
		{[]float64{1, 1, 0.05}, []int{2, 0, 1}},
		{[]float64{-1, -1, -1}, []int{0, 1, 2}},
	} {
		if got := order([]quota.Item{tenant, user, device}, c.remaining, false); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.remaining, got, c.want)
		}
	}
}

func TestPlentyIsAskedInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watch(time.Now)
		s.before = func(context.Context, store.Write) error { time.Sleep(ms(10)); return nil }
		e := New(s, Options{})
		call := Call{Cost: 1, Items: []quota.Item{
			item("tenant", 0, rule(t, "tenant", bucket(100, time.Hour, 0))),
			item("alice", 1, rule(t, "per-user", bucket(100, time.Hour, 0))),
		}}
		for i, want := range []time.Duration{ms(20), ms(10), ms(10)} {
			start := time.Now()
			if d, err := e.Decide(t.Context(), call); err != nil || !d.Allowed {
				t.Fatalf("%+v, %v", d, err)
			}
			if took := time.Since(start); took != want {
				t.Errorf("call %d took %s, want %s", i, took, want)
			}
		}
	})
}

func TestPeekChargesNothing(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 2)))
	for range 5 {
		if d := sc.admitted(0, alice); d.Verdicts[0].Remaining != 2 {
			t.Fatalf("%d remain", d.Verdicts[0].Remaining)
		}
	}
	sc.wrote(0)
	sc.admitted(2, alice)
	sc.refused(0, ms(100), QuotaUsed, Memory, alice)
	other := newSceneOn(t, sc.store)
	other.refused(0, ms(100), QuotaUsed, Store, alice)
	if n := sc.store.reads.Load(); n != 6 {
		t.Fatalf("%d reads", n)
	}
}

func TestWhatALimitSaysWhileTheStoreIsAway(t *testing.T) {
	sc := newScene(t)
	named := func(name string, p quota.OnStoreError) *quota.Rule {
		r := rule(t, name, bucket(100, time.Second, 50))
		r.OnStoreError = p
		return r
	}
	deny, allow, local := named("deny", quota.Deny), named("allow", quota.Allow), named("local", quota.Local)
	sc.store.before = down(false)

	d := sc.refused(1, localRetry, StoreError, LocalBucket, item("a", 1, deny, local))
	if d.Degraded != NotDegraded || d.Unknown || d.Verdicts[d.Deciding].Rule != deny {
		t.Fatalf("%+v", d)
	}
	if d = sc.admitted(1, item("b", 1, allow)); d.Degraded != DegradedOpen || d.Source != LocalBucket {
		t.Fatalf("%+v", d)
	}
	for n := range 5 { // a tenth of 50
		if d = sc.admitted(1, item("c", 1, local, allow)); d.Degraded != DegradedLocal || d.Verdicts[0].Remaining != int64(4-n) {
			t.Fatalf("%+v", d)
		}
	}
	d = sc.refused(1, ms(100), QuotaUsed, LocalBucket, item("c", 1, local, allow))
	if d.Degraded != DegradedLocal || d.Verdicts[0].Rule != local || !d.Verdicts[1].Allowed {
		t.Fatalf("%+v", d)
	}
	d = sc.refused(20, localRetry, QuotaUsed, LocalBucket, item("d", 1, local)) // more than the share, but not more than the limit
	if d.Never {
		t.Fatalf("%+v", d)
	}
	if d = sc.admitted(0, item("d", 1, local)); d.Degraded != DegradedLocal || d.Verdicts[0].Remaining != 5 {
		t.Fatalf("%+v", d)
	}
	sc.store.before = nil
	if d = sc.admitted(1, item("a", 1, deny)); d.Source != Store || d.Degraded != NotDegraded {
		t.Fatalf("%+v", d)
	}
}

func TestAnUnknownOutcomeSaysSo(t *testing.T) {
	sc := newScene(t)
	sc.store.before = down(true)
	d := sc.decide(1, item("a", 1, rule(t, "r", bucket(1, time.Second, 0))))
	if d.Allowed || !d.Unknown || d.Reason != StoreError || d.Writes != 1 {
		t.Fatalf("%+v", d)
	}
}

func TestWhatAFailedWriteShowedIsRememberedThoughTheNextGotNoAnswer(t *testing.T) {
	one := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(1, time.Second, 3)))
	newSceneOn(t, one.store).admitted(1, alice)
	one.store.before = func(context.Context, store.Write) error {
		if one.store.writes.Load()%2 == 0 {
			return &store.Error{Reason: store.Unavailable, Unknown: true, Err: errors.New("no answer")}
		}
		return nil
	}
	one.store.writes.Store(0)
	if d := one.decide(1, alice); d.Writes != 2 || !d.Unknown {
		t.Fatalf("%+v", d)
	}
	one.store.before = nil
	if d := one.admitted(1, alice); d.Writes != 1 {
		t.Fatalf("%d writes to what had been seen", d.Writes)
	}
}

func TestAThrottledKeyIsHotAndLeftAlone(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 0)))
	sc.store.before = func(context.Context, store.Write) error {
		return &store.Error{Reason: store.HotKey, Err: errors.New("throttled")}
	}
	sc.refused(1, hotRetry, HotKey, Store, alice)
	sc.store.before = nil
	sc.refused(1, hotRetry, HotKey, BackOff, alice)
	sc.wrote(1)
	sc.at(ms(749))
	sc.refused(1, hotRetry, HotKey, BackOff, alice)
	sc.at(ms(750))
	sc.admitted(1, alice)
}

func TestAThrottledKeyIsNotLeftAloneLongerByAClockSetBack(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 0)))
	sc.at(time.Minute)
	sc.store.before = func(context.Context, store.Write) error {
		return &store.Error{Reason: store.HotKey, Err: errors.New("throttled")}
	}
	sc.refused(1, hotRetry, HotKey, Store, alice)
	sc.store.before = nil
	sc.at(0)
	sc.admitted(1, alice)
}

func TestARefusalIsNotTrustedLongerByAClockSetBack(t *testing.T) {
	sc := newScene(t)
	tenant := item("tenant", 0, rule(t, "hourly", bucket(1, time.Hour, 0)))
	sc.at(time.Minute)
	sc.admitted(1, tenant)
	sc.wrote(1)
	sc.at(0)
	sc.refused(1, time.Hour+time.Minute, QuotaUsed, Store, tenant)
	sc.wrote(1)
	sc.refused(1, time.Hour+time.Minute, QuotaUsed, Memory, tenant)
	sc.wrote(0)
}

func TestWhoWaitedForAThrottledKeyIsToldSoToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watch(time.Now)
		s.before = func(context.Context, store.Write) error {
			time.Sleep(ms(10))
			return &store.Error{Reason: store.HotKey, Err: errors.New("throttled")}
		}
		e := New(s, Options{})
		r := rule(t, "per-user", bucket(1, time.Second, 1))
		r.OnStoreError = quota.Allow // which is not for this
		call := Call{Cost: 1, Items: []quota.Item{item("alice", 1, r)}}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if d, err := e.Decide(t.Context(), call); err != nil || d.Allowed || d.Reason != HotKey {
					t.Errorf("%+v, %v", d, err)
				}
			})
		}
		all.Wait()
		if n := s.writes.Load(); n != 1 {
			t.Fatalf("%d writes to a throttled key", n)
		}
	})
}

func TestLosingEveryWriteIsUndecided(t *testing.T) {
	sc := newScene(t)
	sc.store.Store = restless{}
	d := sc.refused(1, ms(30), Contended, Store, item("a", 1, rule(t, "r", bucket(1, time.Second, 0))))
	if d.Writes != maxWrites || d.Verdicts[0].Allowed {
		t.Fatalf("%+v", d)
	}
}

// restless is a store in which the state is always another than before.
type restless struct{ store.Store }

func (restless) Apply(_ context.Context, w store.Write) (store.Result, error) {
	return store.Result{States: make([]limit.State, len(w.Parts))}, nil
}

func TestACallerThatGaveUp(t *testing.T) {
	sc := newScene(t)
	gone, cancel := context.WithCancel(t.Context())
	call := Call{Cost: 1, Items: []quota.Item{item("a", 1, rule(t, "r", bucket(1, time.Second, 0)))}}
	sc.store.before = func(context.Context, store.Write) error {
		cancel()
		return &store.Error{Reason: store.Unavailable, Err: context.Canceled}
	}
	if _, err := sc.engine.Decide(gone, call); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	sc.wrote(1)
	if _, err := sc.engine.Decide(gone, call); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	sc.wrote(0)
}

// Two callers, one permit: the second would pass only if the first did not. It waits
// for the first's answer, and is refused from memory without a write of its own.
func TestWhoWouldPassOnlyWithoutTheWritesUnderWayWaitsForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watch(time.Now)
		s.before = func(context.Context, store.Write) error { time.Sleep(ms(10)); return nil }
		e := New(s, Options{})
		call := Call{Cost: 1, Items: []quota.Item{item("alice", 1, rule(t, "r", bucket(3, time.Hour, 0)))}}
		var admissions atomic.Int64
		var all sync.WaitGroup
		start := time.Now()
		for range 64 {
			all.Go(func() {
				if d, err := e.Decide(t.Context(), call); err == nil && d.Allowed {
					admissions.Add(1)
				}
			})
		}
		all.Wait()
		if admissions.Load() != 3 || s.writes.Load() > 6 || time.Since(start) > ms(20) {
			t.Fatalf("%d admitted with %d writes in %s", admissions.Load(), s.writes.Load(), time.Since(start))
		}
	})
}

// A key that refused has had time to fill up again, as far as this instance knows. But
// others may be taking it: one caller asks, the other nineteen are refused with it.
func TestAKeyThatRefusedIsAskedByOneCallerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watch(time.Now)
		e, others := New(s, Options{}), New(s, Options{})
		call := Call{Cost: 1, Items: []quota.Item{item("alice", 1, rule(t, "r", bucket(10, time.Second, 10)))}}
		takeAll := call
		takeAll.Cost = 10
		if d, err := others.Decide(t.Context(), takeAll); err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
		if d, err := e.Decide(t.Context(), call); err != nil || d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
		time.Sleep(time.Second)
		if d, err := others.Decide(t.Context(), takeAll); err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
		s.before = func(context.Context, store.Write) error { time.Sleep(ms(10)); return nil }
		s.writes.Store(0)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if d, err := e.Decide(t.Context(), call); err != nil || d.Allowed {
					t.Errorf("%+v, %v", d, err)
				}
			})
		}
		all.Wait()
		if n := s.writes.Load(); n != 1 {
			t.Fatalf("%d writes", n)
		}
	})
}

func TestNobodyWaitsLongerThanTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watch(time.Now)
		s.before = func(ctx context.Context, _ store.Write) error {
			<-ctx.Done()
			return &store.Error{Reason: store.Unavailable, Unknown: true, Err: ctx.Err()}
		}
		e := New(s, Options{Budget: ms(250)})
		call := Call{Cost: 1, Items: []quota.Item{item("alice", 1, rule(t, "r", bucket(3, time.Hour, 0)))}}
		var all sync.WaitGroup
		var unknown atomic.Int64
		for i := range 20 {
			all.Go(func() {
				time.Sleep(ms(10 * i))
				start := time.Now()
				d, err := e.Decide(t.Context(), call)
				if err != nil || d.Reason != StoreError || time.Since(start) > ms(250) {
					t.Errorf("%+v, %v after %s", d, err, time.Since(start))
				}
				if d.Unknown {
					unknown.Add(1)
				}
			})
		}
		all.Wait()
		if n := unknown.Load(); n != s.writes.Load() {
			t.Fatalf("%d writes were sent, %d callers do not know their outcome", s.writes.Load(), n)
		}
	})
}

func TestExactlyTheQuotaFromManyInstances(t *testing.T) {
	for _, p := range []limit.Policy{
		bucket(100, 24*time.Hour, 0),
		{Algorithm: "leaky_bucket", Quota: 100, Period: 24 * time.Hour},
		window(100, time.Hour),
		{Algorithm: "sliding_window_log", Quota: 100, Period: time.Hour, Resolution: 60},
	} {
		t.Run(p.Algorithm+" "+p.String(), func(t *testing.T) {
			s := watch(time.Now)
			call := Call{Cost: 1, Items: []quota.Item{item("alice", 1, rule(t, "r", p))}}
			var admissions, tries atomic.Int64
			var all sync.WaitGroup
			for range 4 {
				e := New(s, Options{})
				for range 16 {
					all.Go(func() {
						for tries.Add(1) <= 1000 {
							d, err := e.Decide(t.Context(), call)
							if err != nil || d.Writes > 2 {
								t.Errorf("%+v, %v", d, err)
							}
							if d.Allowed {
								admissions.Add(1)
							}
						}
					})
				}
			}
			all.Wait()
			if n := admissions.Load(); n != 100 {
				t.Fatalf("%d admitted of 100", n)
			}
		})
	}
}

func TestABranchThatIsUsuallyRightIsTriedFirst(t *testing.T) {
	warm := newScene(t)
	r := rule(t, "per-user", bucket(10, time.Second, 10))
	for i := range 40 { // keys that another instance has just used
		alice := item(fmt.Sprint("user-", i), 1, r)
		newSceneOn(t, warm.store).admitted(1, alice)
		warm.store.writes.Store(0)
		warm.admitted(1, alice)
		want := int64(1)
		if i < 3 {
			want = 2
		}
		warm.wrote(want)
	}
	for i := range 3 { // and then keys that nobody has
		warm.admitted(1, item(fmt.Sprint("new-", i), 1, r))
	}
	warm.store.writes.Store(0)
	warm.admitted(1, item("one more", 1, r))
	warm.wrote(1)
}
