package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// settlement is what the receipt of a decision would say.
func settlement(d Decision, cost int64, items ...quota.Item) Settlement {
	s := Settlement{ID: fmt.Sprint(d.At, d.Granted), At: d.At, Charged: d.Granted, Cost: cost, Charges: d.Charges()}
	for _, c := range s.Charges {
		for _, it := range items {
			if it.Key == c.Key {
				s.Items = append(s.Items, it)
			}
		}
	}
	return s
}

func (sc *scene) settles(d Decision, cost int64, items ...quota.Item) Settled {
	sc.t.Helper()
	settled, err := sc.engine.Settle(context.Background(), settlement(d, cost, items...))
	if err != nil {
		sc.t.Fatalf("%s: %v", sc.now.Sub(noon), err)
	}
	return settled
}

func (sc *scene) leaves(want int64, it quota.Item) {
	sc.t.Helper()
	if d := sc.decide(0, it); d.Verdicts[0].Remaining != want {
		sc.t.Fatalf("%s: %d remain, want %d", sc.now.Sub(noon), d.Verdicts[0].Remaining, want)
	}
}

func daily(t *testing.T) (tenant, alice quota.Item) {
	tenant = item("tenant", 0, rule(t, "daily", bucket(1000, 24*time.Hour, 0)))
	alice = item("alice", 1, rule(t, "per-user", window(100, time.Hour)))
	return tenant, alice
}

func TestSettlingForLessGivesBack(t *testing.T) {
	sc := newScene(t)
	tenant, alice := daily(t)
	d := sc.admitted(80, tenant, alice)
	sc.wrote(2)
	if s := sc.settles(d, 30, tenant, alice); s != (Settled{Cost: 30}) {
		t.Fatalf("%+v", s)
	}
	sc.wrote(3) // that it happened, and the two
	sc.leaves(970, tenant)
	sc.leaves(70, alice)
}

func TestSettlingForMoreIsOwed(t *testing.T) {
	sc := newScene(t)
	tenant, alice := daily(t)
	d := sc.admitted(80, tenant, alice)
	sc.settles(d, 130, tenant, alice)
	sc.leaves(870, tenant)
	sc.leaves(0, alice)
	sc.refused(1, time.Hour, QuotaUsed, Memory, alice)
}

func TestSettlingTwiceChangesNothing(t *testing.T) {
	sc := newScene(t)
	tenant, alice := daily(t)
	d := sc.admitted(80, tenant, alice)
	sc.settles(d, 30, tenant, alice)
	for range 20 { // more than there are ids
		sc.call(Call{Items: []quota.Item{tenant, alice}, Cost: 1, RequestID: fmt.Sprint(sc.store.writes.Load())})
	}
	if s := sc.settles(d, 0, tenant, alice); s != (Settled{Cost: 30, Repeat: true}) {
		t.Fatalf("%+v", s)
	}
	sc.leaves(950, tenant)
	sc.at(2 * time.Hour) // nothing of alice's is left, and a repeat is one still
	if s := sc.settles(d, 0, alice, tenant); !s.Repeat {
		t.Fatalf("%+v", s)
	}
}

func TestOfManySettlementsAtOnceOneHappens(t *testing.T) {
	sc := newScene(t)
	tenant, _ := daily(t)
	d := sc.admitted(100, tenant)
	engine := New(sc.store, Options{Now: func() time.Time { return noon }})
	var all sync.WaitGroup
	var first atomic.Int64
	for range 50 {
		all.Go(func() {
			if s, err := engine.Settle(t.Context(), settlement(d, 40, tenant)); err != nil {
				t.Error(err)
			} else if !s.Repeat {
				first.Add(1)
			}
		})
	}
	all.Wait()
	if first.Load() != 1 {
		t.Errorf("%d settlements happened", first.Load())
	}
	sc.leaves(960, tenant)
}

func TestSettlingTooLate(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 0)))
	d := sc.admitted(10, alice)
	sc.at(time.Second)
	if _, err := sc.engine.Settle(t.Context(), settlement(d, 5, alice)); !errors.Is(err, ErrTooLate) {
		t.Errorf("%v", err)
	}
	sc.at(time.Hour) // what is owed has an end too
	if _, err := sc.engine.Settle(t.Context(), settlement(d, 50, alice)); !errors.Is(err, ErrTooLate) {
		t.Errorf("%v", err)
	}
	gone := settlement(d, 5)
	gone.Items = []quota.Item{{}}
	if _, err := sc.engine.Settle(t.Context(), gone); !errors.Is(err, ErrTooLate) {
		t.Errorf("of a limit that is gone: %v", err)
	}
}

// The answer of the write that says a charge is settled is lost: it is made again, and
// knows itself.
func TestALostAnswerDoesNotLoseTheSettlement(t *testing.T) {
	sc := newScene(t)
	tenant, _ := daily(t)
	d := sc.admitted(80, tenant)
	lost := forgetful{Store: sc.store, lose: 1}
	sc.engine = New(&lost, Options{Now: func() time.Time { return sc.now }})
	if s := sc.settles(d, 30, tenant); s != (Settled{Cost: 30}) {
		t.Fatalf("%+v", s)
	}
	sc.leaves(970, tenant)

	sc.at(1)
	d = sc.admitted(80, tenant)
	lost.lose, lost.after = 1, 1 // of the write that gives back
	if s := sc.settles(d, 30, tenant); !s.Unknown {
		t.Fatalf("%+v", s)
	}
	if s := sc.settles(d, 30, tenant); !s.Repeat {
		t.Fatalf("%+v", s)
	}
	sc.leaves(940, tenant)
}

// forgetful applies writes and loses answers.
type forgetful struct {
	store.Store
	after, lose int
}

func (l *forgetful) Apply(ctx context.Context, w store.Write) (store.Result, error) {
	r, err := l.Store.Apply(ctx, w)
	if l.after--; l.after < 0 && l.lose > 0 {
		l.lose--
		return store.Result{}, &store.Error{Reason: store.Unavailable, Unknown: true, Err: errors.New("lost")}
	}
	return r, err
}

func TestAnOutageIsNoSettlement(t *testing.T) {
	sc := newScene(t)
	tenant, _ := daily(t)
	d := sc.admitted(80, tenant)
	sc.store.before = down(false)
	if _, err := sc.engine.Settle(t.Context(), settlement(d, 30, tenant)); store.AsError(err).Reason != store.Unavailable {
		t.Fatalf("%v", err)
	}
	sc.store.before = nil
	if s := sc.settles(d, 30, tenant); s.Repeat {
		t.Fatalf("%+v", s)
	}
}

func TestWhatWasNotChargedHasNoCharges(t *testing.T) {
	sc := newScene(t)
	alice := item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 1)))
	once := Call{Items: []quota.Item{alice}, Cost: 1, RequestID: "one"}
	if d := sc.call(once); len(d.Charges()) != 1 {
		t.Errorf("%+v", d.Charges())
	}
	for name, d := range map[string]Decision{
		"a repeat":  sc.call(once),
		"a refusal": sc.decide(1, alice),
		"a look":    sc.decide(0, alice),
		"no limit":  sc.decide(1),
	} {
		if c := d.Charges(); c != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// A customer of 1,000 reserves 80, and the plan counts by another period before it settles:
// what of its charge the new one keeps out is not known.
func TestAChargeOfAnotherRateIsNotGivenBack(t *testing.T) {
	sc := newScene(t)
	tenant, _ := daily(t)
	d := sc.admitted(80, tenant)
	changed := item("tenant", 0, rule(t, "daily", bucket(1000, time.Hour, 0)))
	sc.admitted(1, changed)
	if _, err := sc.engine.Settle(t.Context(), settlement(d, 30, changed)); !errors.Is(err, ErrTooLate) {
		t.Errorf("%v", err)
	}
}

func TestASettlementEndsTheBackOff(t *testing.T) {
	sc := newScene(t)
	jobs := item("jobs", 0, rule(t, "at-once", limit.Policy{Algorithm: "concurrency", Quota: 1, Period: time.Hour}))
	held := sc.admitted(1, jobs)
	for i := range 4 {
		sc.at(time.Second * time.Duration(2*i+1))
		sc.decide(1, jobs)
	}
	sc.at(7*time.Second + ms(51))
	if d := sc.decide(1, jobs); d.Source != BackOff {
		t.Fatalf("%+v", d)
	}
	sc.settles(held, 0, jobs)
	sc.admitted(1, jobs)
}
