package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/memory"
)

var noon = time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func bucket(q int64, period time.Duration, burst int64) limit.Policy {
	return limit.Policy{Algorithm: "token_bucket", Quota: q, Period: period, Burst: burst}
}

func window(q int64, period time.Duration) limit.Policy {
	return limit.Policy{Algorithm: "sliding_window_log", Quota: q, Period: period}
}

// rule makes a rule; rules of one item have different names.
func rule(t testing.TB, name string, p limit.Policy) *quota.Rule {
	t.Helper()
	l, err := limit.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return &quota.Rule{Name: name, ID: name + "." + l.Code(), Limit: l, OnStoreError: quota.Deny}
}

// item puts rules under a key; parts says how narrow it is.
func item(key string, parts int, rules ...*quota.Rule) quota.Item {
	it := quota.Item{Key: key, Parts: parts, Rules: rules}
	for _, r := range rules {
		it.Memory = max(it.Memory, r.Limit.Memory())
	}
	return it
}

// watched is a store that counts, and that fails or waits when it is told to.
type watched struct {
	store.Store
	writes, reads atomic.Int64
	keys          sync.Map
	before        func(ctx context.Context, w store.Write) error
}

func watch(clock func() time.Time) *watched {
	return &watched{Store: memory.New(memory.WithClock(clock))}
}

func (s *watched) Apply(ctx context.Context, w store.Write) (store.Result, error) {
	s.writes.Add(1)
	if s.before != nil {
		if err := s.before(ctx, w); err != nil {
			return store.Result{}, err
		}
	}
	r, err := s.Store.Apply(ctx, w)
	if r.Applied {
		s.keys.Store(w.Key, true)
	}
	return r, err
}

func (s *watched) Read(ctx context.Context, key string, limits []string) ([]limit.State, error) {
	s.reads.Add(1)
	if s.before != nil {
		if err := s.before(ctx, store.Write{Key: key}); err != nil {
			return nil, err
		}
	}
	return s.Store.Read(ctx, key, limits)
}

func (s *watched) items() (n int) {
	s.keys.Range(func(any, any) bool { n++; return true })
	return n
}

func down(unknown bool) func(context.Context, store.Write) error {
	return func(context.Context, store.Write) error {
		return &store.Error{Reason: store.Unavailable, Unknown: unknown, Err: errors.New("no answer")}
	}
}

// scene is an engine over a watched store, with a clock that only the test moves.
type scene struct {
	t      *testing.T
	store  *watched
	engine *Engine
	now    time.Time
	clock  int // how often it was read
}

func newScene(t *testing.T) *scene { return newSceneOn(t, watch(func() time.Time { return noon })) }

func newSceneOn(t *testing.T, s *watched) *scene {
	t.Helper()
	sc := &scene{t: t, store: s, now: noon}
	sc.engine = New(s, Options{
		Instances: 10,
		Now:       func() time.Time { sc.clock++; return sc.now },
		Random:    func() float64 { return 0.5 },
	})
	return sc
}

func (sc *scene) at(d time.Duration) { sc.now = noon.Add(d) }

func (sc *scene) decide(cost int64, items ...quota.Item) Decision {
	sc.t.Helper()
	d, err := sc.engine.Decide(context.Background(), Call{Items: items, Cost: cost})
	if err != nil {
		sc.t.Fatalf("%s: %v", sc.now.Sub(noon), err)
	}
	return d
}

func (sc *scene) admitted(cost int64, items ...quota.Item) Decision {
	sc.t.Helper()
	d := sc.decide(cost, items...)
	if !d.Allowed {
		sc.t.Fatalf("%s: refused (%s, %s, retry after %s); want admitted", sc.now.Sub(noon), d.Reason, d.Source, d.RetryAfter)
	}
	return d
}

func (sc *scene) refused(cost int64, retry time.Duration, reason Reason, source Source, items ...quota.Item) Decision {
	sc.t.Helper()
	d := sc.decide(cost, items...)
	if d.Allowed || d.RetryAfter != retry || d.Reason != reason || d.Source != source {
		sc.t.Fatalf("%s: allowed %v, retry after %s, %q by %q; want refused, %s, %q by %q",
			sc.now.Sub(noon), d.Allowed, d.RetryAfter, d.Reason, d.Source, retry, reason, source)
	}
	return d
}

// wrote asks how many writes the store saw since the last time.
func (sc *scene) wrote(want int64) {
	sc.t.Helper()
	if n := sc.store.writes.Swap(0); n != want {
		sc.t.Fatalf("%s: %d writes, want %d", sc.now.Sub(noon), n, want)
	}
}
