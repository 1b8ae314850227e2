package engine

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

// spread makes the rules of an item ones that are spread.
func spread(t *testing.T, n int, it quota.Item) quota.Item {
	t.Helper()
	it.Shards = n
	for _, r := range it.Rules {
		s := *r
		s.Whole = r
		var err error
		if s.Limit, err = r.Limit.Share(n); err != nil {
			t.Fatal(err)
		}
		r.Shard = &s
	}
	return it
}

func newShardScene(t *testing.T) *scene {
	sc := newScene(t)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	sc.engine = New(sc.store, Options{Now: func() time.Time { return sc.now }, Random: random.Float64})
	return sc
}

func TestSpreadLimitIsNeverExceededAndNearlyUsed(t *testing.T) {
	sc := newShardScene(t)
	all := spread(t, 8, item("all", 0, rule(t, "all", window(80, time.Hour))))
	admitted := 0
	for range 300 {
		if sc.decide(1, all).Allowed {
			admitted++
		}
	}
	if admitted != 80 {
		t.Errorf("%d admitted of 80", admitted)
	}
	if n := sc.store.items(); n != 8 {
		t.Errorf("%d shards", n)
	}
}

func TestSpreadLimitSpeaksOfTheWhole(t *testing.T) {
	sc := newShardScene(t)
	all := spread(t, 4, item("all", 0, rule(t, "all", limit.Policy{Algorithm: "token_bucket", Quota: 40, Period: time.Second})))
	d := sc.admitted(1, all)
	if v := d.Verdicts[0]; v.Rule != all.Rules[0] || v.Remaining != 36 {
		t.Errorf("%+v", v)
	}
	if d := sc.decide(0, all); !d.Allowed || d.Verdicts[0].Rule != all.Rules[0] {
		t.Errorf("%+v", d)
	}
	if len(d.Charges()) != 1 {
		t.Errorf("%+v", d.Charges())
	}
}

func TestACallWithAnIDHasOneShard(t *testing.T) {
	all := spread(t, 8, item("all", 0, rule(t, "all", window(80, time.Hour))))
	tenant := item("tenant", 0, rule(t, "most", window(80, time.Hour)))
	for _, items := range [][]quota.Item{{all}, {tenant, all}} {
		sc := newShardScene(t)
		c := Call{Items: items, Cost: 1, RequestID: "one"}
		if d := sc.call(c); d.Repeat || !d.Allowed {
			t.Errorf("%+v", d)
		}
		other := newSceneOn(t, sc.store)
		for range 5 {
			if d := other.call(c); !d.Repeat {
				t.Errorf("%+v", d)
			}
		}
	}
}

func TestSpreadLimitBesideAnother(t *testing.T) {
	sc := newShardScene(t)
	all := spread(t, 2, item("all", 0, rule(t, "all", window(10, time.Hour))))
	alice := item("alice", 1, rule(t, "per-user", window(3, time.Hour)))
	for range 3 {
		sc.admitted(1, all, alice)
	}
	for range 5 {
		if sc.decide(1, all, alice).Allowed {
			t.Fatal("admitted")
		}
	}
	left := 0
	for range 20 {
		if sc.decide(1, all).Allowed {
			left++
		}
	}
	if left != 7 {
		t.Errorf("%d left, want 7: alice's refusals gave back", left)
	}
}

func TestTheOtherShardIsAnother(t *testing.T) {
	for _, random := range []float64{0, 0.4, 0.6, 0.999} {
		sc := newScene(t)
		sc.engine = New(sc.store, Options{Now: func() time.Time { return sc.now }, Random: func() float64 { return random }})
		all := spread(t, 2, item("all", 0, rule(t, "all", window(4, time.Hour))))
		for range 4 {
			sc.admitted(1, all)
		}
	}
}

func TestACallWithAnIDIsNotChargedToAnotherShard(t *testing.T) {
	fresh := newShardScene(t)
	full := spread(t, 2, item("all", 0, rule(t, "all", window(4, time.Hour))))
	first, _ := fresh.engine.pick(2, question{id: digest(Call{RequestID: "one", Cost: 1, Items: []quota.Item{full}})})
	used := *shard(&full, first)
	used.Shards = 0
	fresh.admitted(2, used)
	if d := fresh.call(Call{Items: []quota.Item{full}, Cost: 1, RequestID: "one"}); d.Allowed {
		t.Fatalf("%+v", d)
	}
}
