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
}
