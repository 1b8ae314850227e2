package httpapi

import (
	"context"

	"github.com/seed43908478/penstock/quota"
)

// Plans knows which limits a request has. A [quota.Live] does.
type Plans interface {
	// Match returns the limits of a request, none when nothing limits it. The error is
	// [quota.ErrUnknownTenant], or says why the plans cannot be known. The attributes
	// of the request are not kept.
	Match(ctx context.Context, r quota.Request) ([]quota.Item, error)
	// Item returns what can be counted under a key of a tenant's, as it is configured
	// now, and the zero Item when nothing is any more. The error is as Match's.
	Item(ctx context.Context, tenant, key string) (quota.Item, error)
	// Outdated says that a newer revision than this one is in force elsewhere. The next
	// Match should find it, if it can be found soon.
	Outdated(revision int64)
}
