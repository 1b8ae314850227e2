package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/seed43908478/penstock/quota"
)

func revised(n int64, it quota.Item) quota.Item {
	it.Revision = n
	return it
}

// An instance that has not heard of the new plan does not count by the old one where the
// new one has.
func TestAnOlderConfigurationDoesNotCountAfterANewerOne(t *testing.T) {
	old := newScene(t)
	young := newSceneOn(t, old.store)
	was := revised(1, item("alice", 1, rule(t, "per-user", bucket(100, time.Hour, 0))))
	is := revised(2, item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 0))))
	old.admitted(5, was)
	young.admitted(1, is)
	old.store.writes.Store(0)
	if _, err := old.engine.Decide(t.Context(), Call{Items: []quota.Item{was}, Cost: 1}); !errors.Is(err, ErrOutdated) {
		t.Fatalf("%v", err)
	}
	old.wrote(1)
	if _, err := old.engine.Decide(t.Context(), Call{Items: []quota.Item{was}, Cost: 1}); !errors.Is(err, ErrOutdated) {
		t.Fatalf("%v", err)
	}
	old.wrote(0) // it remembers
	young.admitted(1, is)
	young.wrote(1) // which nobody has turned back
	old.admitted(1, is)
}

func TestWhoIsToldToDecideByAnyRevisionDoes(t *testing.T) {
	sc := newScene(t)
	was := revised(1, item("alice", 1, rule(t, "per-user", bucket(10, time.Second, 0))))
	sc.admitted(1, revised(2, was))
	d := sc.call(Call{Items: []quota.Item{was}, Cost: 1, AnyRevision: true})
	if !d.Allowed {
		t.Fatalf("%+v", d)
	}
	sc.admitted(1, revised(2, was))
}

func TestAnOutdatedItemGivesBackWhatTheOthersWereCharged(t *testing.T) {
	sc := newScene(t)
	tenant := revised(1, item("tenant", 0, rule(t, "all", window(5, time.Hour))))
	alice := revised(1, item("alice", 1, rule(t, "per-user", window(5, time.Hour))))
	newSceneOn(t, sc.store).admitted(1, revised(2, alice))
	if _, err := sc.engine.Decide(t.Context(), Call{Items: []quota.Item{tenant, alice}, Cost: 3}); !errors.Is(err, ErrOutdated) {
		t.Fatalf("%v", err)
	}
	sc.admitted(5, tenant)
}

func TestARevisionCostsNoWrite(t *testing.T) {
	sc := newScene(t)
	for i := range int64(10) {
		sc.admitted(1, revised(1+i/5, item("alice", 1, rule(t, "per-user", bucket(100, time.Second, 0)))))
	}
	sc.wrote(10)
}
