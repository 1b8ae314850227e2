package engine

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

// A flood is calls for one key at random moments and at random instances of many, as
// many functions under attack are: each sees the key seldom, and none knows of the others.
// It happens in virtual time, one call after the other, so that it comes out the same
// every time.
type flood struct {
	instances int
	perSecond int // calls
	length    time.Duration
	limit     limit.Policy
	// random is the engines' Random, from which the back-off takes its length.
	random func() float64
}

// drained is what became of a flood.
type drained struct {
	calls, admitted int
	bySource        map[Source]int
	writes          int64   // to the store
	eachSecond      []int64 // of them
}

func (d drained) seconds() float64 { return float64(len(d.eachSecond)) }

func (f flood) run(t *testing.T) drained {
	t.Helper()
	now := noon
	clock := func() time.Time { return now }
	s := watch(clock)
	engines := make([]*Engine, f.instances)
	for i := range engines {
		engines[i] = New(s, Options{Now: clock, Random: f.random, Remembered: 4})
	}
	arrivals := rand.New(rand.NewPCG(1, 2))
	call := Call{Cost: 1, Items: []quota.Item{item("attacked", 1, rule(t, "per-user", f.limit))}}
	out := drained{bySource: map[Source]int{}, eachSecond: make([]int64, int(f.length.Seconds()))}
	for {
		now = now.Add(time.Duration(arrivals.ExpFloat64() * float64(time.Second) / float64(f.perSecond)))
		if now.Sub(noon) >= f.length {
			break
		}
		d, err := engines[arrivals.IntN(len(engines))].Decide(context.Background(), call)
		if err != nil {
			t.Fatal(err)
		}
		out.calls++
		out.eachSecond[int(now.Sub(noon).Seconds())] += int64(d.Writes)
		out.bySource[d.Source]++
		if d.Allowed {
			out.admitted++
		}
	}
	out.writes = s.writes.Load()
	return out
}

func (d drained) log(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: %d calls in %.0f s, %.0f writes/s, %.2f admitted/s; answered by %v; writes of each second: %v",
		what, d.calls, d.seconds(), float64(d.writes)/d.seconds(), float64(d.admitted)/d.seconds(), d.bySource, d.eachSecond)
}

// What a key that is used up costs the table while 500 instances get 5,000 calls a second
// for it. Memory alone helps little: the retry time it knows, at most 100 ms, is over
// when its instance is called again.
func TestBackOffBoundsWhatAFloodWrites(t *testing.T) {
	f := flood{instances: 500, perSecond: 5000, length: 20 * time.Second, limit: bucket(10, time.Second, 10)}

	// The back-off is random()·longest after the retry time, so 0 waits until the retry
	// time, as memory does anyway: the flood without a back-off.
	f.random = func() float64 { return 0 }
	without := f.run(t)
	without.log(t, "without back-off")
	if n := without.bySource[BackOff]; n != 0 {
		t.Fatalf("%d answers from a back-off that waits for nothing", n)
	}

	f.random = rand.New(rand.NewPCG(3, 4)).Float64
	with := f.run(t)
	with.log(t, "with back-off")

	if 3*with.writes > without.writes {
		t.Errorf("%d writes with back-off, %d without; want at most a third", with.writes, without.writes)
	}
	due := 10 + 10*f.length.Seconds()
	for what, d := range map[string]drained{"without": without, "with": with} {
		if n := float64(d.admitted); n > due || n < 0.97*due {
			t.Errorf("%s back-off %d were admitted of the %.0f due", what, d.admitted, due)
		}
	}
}
