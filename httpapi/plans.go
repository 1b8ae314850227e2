package httpapi

import (
	"context"
	"errors"

	"github.com/seed43908478/penstock/quota"
)

// Plans knows which limits a request has.
type Plans interface {
	// Match returns the limits of a request, none when nothing limits it. The error is
	// [quota.ErrUnknownTenant], or says why the plans cannot be known. The attributes
	// of the request are not kept.
	Match(ctx context.Context, r quota.Request) ([]quota.Item, error)
}

// Snapshots are plans that are replaced whole: a function that returns the newest
// snapshot, or nil when there is none yet.
//
//	httpapi.Options{Plans: httpapi.Snapshots(live.Snapshot)}
type Snapshots func(ctx context.Context) *quota.Snapshot

var errNoSnapshot = errors.New("the plans were not loaded yet")

// Match returns the limits of a request, as the newest snapshot has them.
func (f Snapshots) Match(ctx context.Context, r quota.Request) ([]quota.Item, error) {
	s := f(ctx)
	if s == nil {
		return nil, errNoSnapshot
	}
	return s.Match(r)
}
