package quota

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxDemandWait is how long a caller waits for the part with its tenant. It is longer
// than what a refresh may take, as nothing can be said without.
const maxDemandWait = time.Second

// Match returns the items a request counts in, as [Snapshot.Match] does, by what is in
// force. Another error than [ErrUnknownTenant] says that it cannot be known now.
func (l *Live) Match(ctx context.Context, r Request) ([]Item, error) {
	s, err := l.For(ctx, r.Tenant)
	if err != nil {
		return nil, err
	}
	return s.Match(r)
}

// For returns what is in force, with what there is to know of a tenant. It waits as
// [Live.Snapshot] does; where there are more tenants than are held, also for the part
// that has the tenant, at most a second. Callers share that load, and whoever asks for
// a tenant of a part that is held waits for nothing, known or not.
func (l *Live) For(ctx context.Context, tenant string) (*Snapshot, error) {
	s := l.Snapshot(ctx)
	err := l.demand(ctx, s, tenant)
	if errors.Is(err, ErrNoPart) && s.section(tenant).failed.Load() == nil {
		// Two changes since the version that is held: ask for the newest now.
		l.expire(s)
		s = l.Snapshot(ctx)
		if err = l.demand(ctx, s, tenant); errors.Is(err, ErrNoPart) {
			l.missed(s, s.section(tenant), err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the configuration of the tenant: %w", err)
	}
	return s, nil
}

// Item returns the item of a key of a tenant's, as [Snapshot.Item] does, by what is in
// force; the zero Item when there is none any more. Errors are as of [Live.Match].
func (l *Live) Item(ctx context.Context, tenant, key string) (Item, error) {
	s, err := l.For(ctx, tenant)
	if err != nil {
		return Item{}, err
	}
	item, _, err := s.Item(tenant, key)
	return item, err
}

// demand has the section of a tenant loaded.
func (l *Live) demand(ctx context.Context, s *Snapshot, tenant string) error {
	at := s.section(tenant)
	if at == nil || at.loaded() {
		return nil
	}
	if f := at.failed.Load(); f != nil && l.now().Sub(f.at).Abs() < retryAfter {
		return f.err
	}
	done := l.sections.DoChan(at.part+" "+s.plansPart, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.options.Timeout)
		defer cancel()
		return nil, l.loadSection(ctx, s, at)
	})
	timer := time.NewTimer(maxDemandWait)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.Err
	case <-timer.C:
		return context.DeadlineExceeded
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Live) loadSection(ctx context.Context, s *Snapshot, at *section) error {
	if at.loaded() {
		return nil
	}
	saved, err := l.savedTenants(ctx, at.part, nil)
	if err == nil {
		err = s.fill(at, saved, s.plain())
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrNoPart) {
		l.missed(s, at, err)
	}
	return err
}

// missed notes that a section could not be loaded. It is tried again a second later.
func (l *Live) missed(s *Snapshot, at *section, err error) {
	at.failed.Store(&failure{l.now(), err})
	l.failures.Add(1)
	l.options.Logger.Warn("configuration: a part cannot be loaded, its tenants cannot be looked up", "revision", s.revision, "error", err)
}

// expire makes a snapshot old, if it is still the one in force: the next call asks.
func (l *Live) expire(s *Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.current.Load(); h.snapshot == s {
		l.current.Store(&held{snapshot: s, checked: h.checked, since: h.since})
	}
}
