package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// named asks under a request id.
func (sc *scene) named(id string, cost int64, items ...quota.Item) Decision {
	sc.t.Helper()
	d, err := sc.engine.Decide(context.Background(), Call{Items: items, Cost: cost, RequestID: id})
	if err != nil {
		sc.t.Fatal(err)
	}
	return d
}

func (sc *scene) remaining(want int64, it quota.Item) {
	sc.t.Helper()
	fresh := newSceneOn(sc.t, sc.store) // that has nothing to remember
	fresh.now = sc.now
	if d := fresh.decide(0, it); d.Verdicts[0].Remaining != want {
		sc.t.Fatalf("%d remain, want %d", d.Verdicts[0].Remaining, want)
	}
}

func (d Decision) is(t *testing.T, allowed, repeat bool, source Source) {
	t.Helper()
	if d.Allowed != allowed || d.Repeat != repeat || d.Source != source {
		t.Fatalf("allowed %v, repeat %v by %s (%s); want %v, %v by %s", d.Allowed, d.Repeat, d.Source, d.Reason, allowed, repeat, source)
	}
}

// The state that refuses and the ids beside it are of one time, also for a clock set back.
func TestARepeatIsAnAnswerAfterAClockWasSetBack(t *testing.T) {
	one := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", window(2, time.Hour)))
	one.at(time.Minute)
	one.named("a", 1, alice).is(t, true, false, Store)
	one.at(0)
	one.named("b", 1, alice).is(t, true, false, Store)
	one.named("b", 1, alice).is(t, true, true, Memory)
	one.named("c", 1, alice).is(t, false, false, Memory)
}

func TestARepeatIsAnAnswerAndNotASecondCharge(t *testing.T) {
	one := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(1, time.Hour, 3)))
	one.named("a", 1, alice).is(t, true, false, Store)
	one.named("a", 1, alice).is(t, true, true, Memory)
	two := newSceneOn(t, one.store)
	two.named("a", 1, alice).is(t, true, true, Store)
	one.remaining(2, alice)

	one.named("a", 2, alice).is(t, true, false, Store) // another cost is another call
	one.remaining(0, alice)
	one.named("b", 1, alice).is(t, false, false, Memory)
	one.named("a", 1, alice).is(t, true, true, Memory) // though nothing is left
	cold := newSceneOn(t, one.store)
	cold.named("a", 1, alice).is(t, true, true, Store)
	cold.named("b", 1, alice).is(t, false, false, Memory)
	one.remaining(0, alice)
}

func TestARefusalIsNotRemembered(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 1)))
	sc.admitted(1, alice)
	sc.named("a", 1, alice).is(t, false, false, Memory)
	sc.at(ms(100))
	sc.named("a", 1, alice).is(t, true, false, Store)
}

func TestAnIDIsForgottenAfterSixteenOthers(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(100, time.Hour, 100)))
	sc.named("first", 1, alice)
	for i := range RememberedIDs - 1 {
		sc.named(fmt.Sprint(i), 1, alice).is(t, true, false, Store)
	}
	sc.named("first", 1, alice).is(t, true, true, Memory)
	sc.named("the sixteenth", 1, alice)
	sc.named("first", 1, alice).is(t, true, false, Store)
}

func TestARepeatGivesBackWhatWiderItemsWereCharged(t *testing.T) {
	one := newScene(t)
	tenant := item("tenant", 0, rule(t, "daily", bucket(10, time.Hour, 10)))
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Hour, 10)))
	one.named("a", 1, tenant, alice).is(t, true, false, Store)
	two := newSceneOn(t, one.store)
	two.named("a", 1, tenant, alice).is(t, true, true, Store)
	one.remaining(9, tenant)
	one.remaining(9, alice)
	one.named("a", 1, tenant, alice).is(t, true, true, Memory)
}

// The tenant's limit is used up by the very call that is repeated, at another instance.
func TestACallThatWasChargedIsNotRefusedByAWiderItem(t *testing.T) {
	one := newScene(t)
	tenant := item("tenant", 0, rule(t, "daily", bucket(1, time.Hour, 1)))
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Hour, 10)))
	one.named("a", 1, tenant, alice).is(t, true, false, Store)
	two := newSceneOn(t, one.store)
	two.named("a", 1, tenant, alice).is(t, true, true, Store)
	two.named("b", 1, tenant, alice).is(t, false, false, Memory)
	three := newSceneOn(t, one.store)
	three.named("b", 1, tenant, alice).is(t, false, false, Store)
	three.named("a", 1, tenant, alice).is(t, true, true, Store) // three knows the tenant, not alice
	one.remaining(9, alice)
	one.remaining(0, tenant)
}

func TestTheSameCallAtTheSameTimeIsChargedOnce(t *testing.T) {
	s := watch(time.Now)
	alice := item("alice", 1, rule(t, "per-user", bucket(100, time.Hour, 100)))
	var all sync.WaitGroup
	var charged, answered atomic.Int64
	for range 4 {
		e := New(s, Options{})
		for range 16 {
			all.Go(func() {
				d, err := e.Decide(t.Context(), Call{Cost: 1, Items: []quota.Item{alice}, RequestID: "the same"})
				if err == nil && d.Allowed {
					answered.Add(1)
				}
				if !d.Repeat {
					charged.Add(1)
				}
			})
		}
	}
	all.Wait()
	if charged.Load() != 1 || answered.Load() != 64 {
		t.Fatalf("%d charged, %d answered", charged.Load(), answered.Load())
	}
}

// lossy is a store whose answers get lost: the write is applied, or not, and nobody is told.
type lossy struct {
	store.Store
	lose func() bool
}

func (l lossy) Apply(ctx context.Context, w store.Write) (store.Result, error) {
	unknown := &store.Error{Reason: store.Unavailable, Unknown: true, Err: errors.New("connection reset")}
	if rand.IntN(20) == 0 {
		return store.Result{}, unknown
	}
	r, err := l.Store.Apply(ctx, w)
	if l.lose() {
		return store.Result{}, unknown
	}
	return r, err
}

// A thousand calls whose answers get lost, each made again with its id until it has an
// answer: a thousand charges. Without ids every lost answer says that it is not known.
func TestLostAnswersAreNeitherChargedTwiceNorLost(t *testing.T) {
	for name, lose := range map[string]func() bool{
		"every other": func() bool { return rand.IntN(2) == 0 },
		"most":        func() bool { return rand.IntN(10) != 0 },
	} {
		t.Run(name, func(t *testing.T) {
			s := watch(time.Now)
			s.Store = lossy{s.Store, lose}
			alice := item("alice", 1, rule(t, "per-user", bucket(2000, 100*time.Hour, 2000)))
			instances := []*Engine{New(s, Options{}), New(s, Options{})}
			for i := range 1000 {
				call := Call{Cost: 1, Items: []quota.Item{alice}, RequestID: fmt.Sprint(i)}
				for try := 0; ; try++ {
					d, err := instances[(i+try)%2].Decide(t.Context(), call)
					if err != nil {
						t.Fatal(err)
					}
					if d.Allowed {
						break
					}
					if !d.Unknown {
						t.Fatalf("%+v", d)
					}
				}
			}
			d, err := instances[0].Decide(t.Context(), Call{Items: []quota.Item{alice}})
			if err != nil || d.Verdicts[0].Remaining != 1000 {
				t.Fatalf("%d of 1000 remain, %v", d.Verdicts[0].Remaining, err)
			}
		})
	}
}

func TestAWriteWithAnIDIsMadeAgainWhenItsAnswerIsLost(t *testing.T) {
	sc := newScene(t)
	lost := 1
	sc.store.Store = lossyOnce{sc.store.Store, &lost}
	alice := item("alice", 1, rule(t, "per-user", bucket(1, time.Hour, 3)))
	d := sc.named("a", 1, alice)
	d.is(t, true, false, Store) // by its own write, which it cannot mistake for another's
	if d.Writes != 2 || d.Unknown {
		t.Fatalf("%+v", d)
	}
	sc.remaining(2, alice)
	lost = 1
	if d := sc.decide(1, alice); d.Writes != 1 || !d.Unknown { // without an id it may be charged, and says so
		t.Fatalf("%+v", d)
	}
}

// lossyOnce applies writes and loses as many answers as it is told.
type lossyOnce struct {
	store.Store
	lost *int
}

func (l lossyOnce) Apply(ctx context.Context, w store.Write) (store.Result, error) {
	r, err := l.Store.Apply(ctx, w)
	if *l.lost--; *l.lost >= 0 {
		return store.Result{}, &store.Error{Reason: store.Unavailable, Unknown: true, Err: errors.New("connection reset")}
	}
	return r, err
}

func TestACallThatWasChargedElsewhereIsNotRefusedByBackOff(t *testing.T) {
	one := newScene(t)
	two := newSceneOn(t, one.store)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 1)))
	for i := range 3 { // one is refused until it backs off
		one.at(ms(100 * i))
		two.at(ms(100 * i))
		two.admitted(1, alice)
		one.decide(1, alice)
	}
	one.at(ms(301))
	two.at(ms(301))
	one.refused(1, ms(49), QuotaUsed, BackOff, alice)
	two.named("a", 1, alice).is(t, true, false, Store)
	one.named("a", 1, alice).is(t, true, true, Store)
}

func TestTheItemThatRemembersIDsIsWrittenLast(t *testing.T) {
	items := []quota.Item{{Parts: 0}, {Parts: 2}, {Parts: 1}}
	if got := order(items, []float64{-1, 0.01, 1}, true); fmt.Sprint(got) != "[2 0 1]" {
		t.Fatalf("%v", got)
	}
}
