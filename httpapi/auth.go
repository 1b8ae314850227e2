package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/seed43908478/penstock/apikey"
)

// Auth is who may make checks.
type Auth string

const (
	// AuthKeys asks for a key, or a caller whom the platform identified. It is the default.
	AuthKeys Auth = "keys"
	// AuthOpen lets checks pass without a key. One that is presented must be good all
	// the same, and means what it says.
	AuthOpen Auth = "open"
)

type serviceKey struct{}

// WithService marks a request as made by a service that the platform identified, as
// API Gateway does by IAM: it may check for every tenant, as the scope check:any says.
func WithService(ctx context.Context) context.Context {
	return context.WithValue(ctx, serviceKey{}, true)
}

func isService(ctx context.Context) bool { return ctx.Value(serviceKey{}) != nil }

// A caller is who made a request, as far as checks are concerned.
type caller struct {
	// tenant is the only one it may check for; "" is any.
	tenant string
}

// identify finds out who calls. A key goes before what the platform says, so that
// it is never ignored; the error is the [problem] of a caller who may not check.
func (s *server) identify(r *http.Request) (caller, error) {
	header := r.Header["Authorization"]
	service := isService(r.Context())
	key, isBearer := bearer(header)
	switch {
	case isBearer:
		return s.identifyKey(r.Context(), key)
	case service: // the header, if any, holds the platform's signature
		return caller{}, nil
	case len(header) == 0 && s.auth == AuthOpen:
		return caller{}, nil
	}
	return caller{}, errNoKey
}

func (s *server) identifyKey(ctx context.Context, key string) (caller, error) {
	if s.verifier == nil {
		return caller{}, apikey.ErrUnknown
	}
	r, err := s.verifier.Verify(ctx, key)
	switch {
	case err != nil:
		return caller{}, err
	case r.Has(apikey.CheckAny):
		return caller{}, nil
	case r.Has(apikey.CheckOwn) && r.Tenant != "":
		return caller{tenant: r.Tenant}, nil
	}
	return caller{}, &problem{kind: forbidden, detail: "This key may not make checks; use one with the scope check:own or check:any."}
}

// bearer returns the token of an Authorization header of the scheme Bearer.
// Several headers are none.
func bearer(header []string) (token string, ok bool) {
	const scheme = "Bearer "
	if len(header) != 1 || len(header[0]) < len(scheme) || !strings.EqualFold(header[0][:len(scheme)], scheme) {
		return "", false
	}
	return strings.TrimLeft(header[0][len(scheme):], " "), true
}

// admit checks whether the caller may check for a tenant.
func (c caller) admit(tenant string) error {
	if c.tenant != "" && c.tenant != tenant {
		return &problem{kind: forbidden, detail: "This key is for another tenant; leave tenant out, it comes from the key."}
	}
	return nil
}
