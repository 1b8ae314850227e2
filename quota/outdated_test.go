package quota_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed43908478/penstock/quota"
)

func TestLiveThatIsOutdatedAsksAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		live.serves(1, 0)
		s.save(t, quota.Example())
		s.set(func(s *table) { s.delay = 10 * time.Millisecond })
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				live.Outdated(1)
				live.serves(2, 20*time.Millisecond)
			})
		}
		callers.Wait()
		time.Sleep(2 * time.Second)
		live.Outdated(1) // a call that was matched before comes late
		live.serves(2, 0)
		if versions, _ := s.counts(); versions != 2 {
			t.Errorf("asked %d times, want at the start and once more", versions)
		}
		s.save(t, quota.Example())
		live.Outdated(2)
		live.serves(3, 20*time.Millisecond)
	})
}

// An older configuration was restored: nothing newer can be found, and it is not asked for by each call.
func TestLiveLooksForTheNewestOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		for range 100 {
			live.Outdated(1)
			live.serves(1, 0)
			time.Sleep(30 * time.Millisecond)
		}
		if versions, _ := s.counts(); versions != 4 {
			t.Errorf("asked %d times in 3 s, want at the start and 3 times more", versions)
		}
	})
}

func TestLiveThatIsOutdatedWithTheTableAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(table)
		s.save(t, quota.Example())
		live := start(t, s)
		s.set(func(s *table) { s.delay, s.err = time.Hour, errors.New("it is away") })
		live.Outdated(1)
		live.serves(1, 50*time.Millisecond)
		live.Outdated(1)
		live.serves(1, 0)
		time.Sleep(5 * time.Second) // the refresh ends
	})
}

func TestStaticIsNeverOutdated(t *testing.T) {
	live := quota.NewStatic(new(quota.Snapshot))
	live.Outdated(0)
	if live.Snapshot(t.Context()) == nil {
		t.Error("it is gone")
	}
}
