// Package plans has a function load its configuration when the first call comes.
//
//	httpapi.Options{Plans: plans.Follow(store)}
//
// Not before, in the background: Lambda starts functions ahead of time too, and freezes
// them until there is a call, with the load half done. And what cannot be loaded does not
// keep the function from starting. Callers are told that the limits cannot be looked up,
// which API Gateway could not tell them, and the load is tried again.
package plans

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed43908478/penstock/quota"
)

const (
	// firstWait is how long a call waits for the first load. It is longer than a decision
	// may take, for a connection is made meanwhile, and nothing can be decided without.
	firstWait = time.Second
	// retryAfter is how long after a failed load the next one is tried, by the call that comes.
	retryAfter = time.Second
	// wholeUpTo is up to how many tenants the first call waits for all of them. Of 49,000
	// that made it wait 310 ms longer on two whole processors, and a function has a third
	// of one; for the part with its tenant a call waits for one more read.
	wholeUpTo = 2000
)

// Plans are the plans and tenants in force, once they were loaded. They are safe for
// concurrent use.
type Plans struct {
	loader quota.Loader
	live   atomic.Pointer[quota.Live] // nil: nothing was loaded yet

	mu     sync.Mutex
	flight chan struct{} // closed when the load under way ends; nil: none is
	failed time.Time     // when the last load failed
	reason string        // why, so that it is logged once
}

// Follow returns the plans that loader has. It does not ask it yet.
func Follow(loader quota.Loader) *Plans { return &Plans{loader: loader} }

var errNotLoaded = errors.New("the plans were not loaded yet")

// Match returns the items a request counts in, by what is in force. The error is
// [quota.ErrUnknownTenant], or says why that cannot be known now.
func (p *Plans) Match(ctx context.Context, r quota.Request) ([]quota.Item, error) {
	live := p.await(ctx)
	if live == nil {
		return nil, errNotLoaded
	}
	return live.Match(ctx, r)
}

// Item returns the item of a key of a tenant's, as [quota.Live.Item] does. The error is
// as Match's.
func (p *Plans) Item(ctx context.Context, tenant, key string) (quota.Item, error) {
	live := p.await(ctx)
	if live == nil {
		return quota.Item{}, errNotLoaded
	}
	return live.Item(ctx, tenant, key)
}

// For returns what is in force, as [quota.Live.For] does. The error is as Match's.
func (p *Plans) For(ctx context.Context, tenant string) (*quota.Snapshot, error) {
	live := p.await(ctx)
	if live == nil {
		return nil, errNotLoaded
	}
	return live.For(ctx, tenant)
}

// Outdated says that a newer revision than this one was seen at work.
func (p *Plans) Outdated(revision int64) {
	if live := p.live.Load(); live != nil {
		live.Outdated(revision)
	}
}

// await returns what follows the configuration, or nil when nothing could be loaded
// yet. It waits for the first load, but no longer than a second.
func (p *Plans) await(ctx context.Context) *quota.Live {
	if live := p.live.Load(); live != nil {
		return live
	}
	if flight := p.join(); flight != nil {
		timer := time.NewTimer(firstWait)
		defer timer.Stop()
		select {
		case <-flight:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return p.live.Load()
}

// join returns the load under way, or starts one; nil when one has just failed.
func (p *Plans) join() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.flight != nil:
		return p.flight
	case time.Since(p.failed) < retryAfter:
		return nil
	}
	p.flight = make(chan struct{})
	go p.load(p.flight)
	return p.flight
}

// load ends within the loader's own bounds. It belongs to no call: the next one waits for it too.
func (p *Plans) load(flight chan struct{}) {
	defer close(flight)
	live, err := quota.NewLive(context.Background(), p.loader, quota.LiveOptions{WholeUpTo: wholeUpTo})
	if err == nil {
		p.live.Store(live)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flight = nil
	if err != nil {
		p.failed = time.Now()
		if err.Error() != p.reason {
			p.reason = err.Error()
			slog.Error("the configuration cannot be loaded; no check is answered", "error", err)
		}
	}
}
