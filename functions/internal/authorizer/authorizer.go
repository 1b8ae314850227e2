package authorizer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/httpapi"
	"github.com/seed43908478/penstock/quota"
)

// deadline bounds everything that is waited for with an event: keys, plans and the store. API
// Gateway gives up after 10 s in front of an HTTP API, and later in front of a REST API.
const deadline = 3 * time.Second

// A Checker decides calls: an [httpapi.Checker].
type Checker interface {
	Check(ctx context.Context, r quota.Request) (httpapi.Checked, error)
}

// Options says what a handler works with.
type Options struct {
	Checker Checker
	// Verifier verifies keys; needed by an Identity that comes from one.
	Verifier *apikey.Verifier
	// Identity is where tenant and subject are found; the zero value is a key, and no subject.
	Identity Identity
}

// A Handler answers authorizer events. It is a lambda.Handler, safe for concurrent use.
type Handler struct {
	checker  Checker
	verifier *apikey.Verifier
	identity Identity
}

// New returns a handler.
func New(o Options) *Handler {
	return &Handler{checker: o.Checker, verifier: o.Verifier, identity: o.Identity}
}

var (
	// errUnauthorized has the message of which API Gateway makes 401, to the letter.
	errUnauthorized = errors.New("Unauthorized")
	// errUndecided is any other: API Gateway makes 500 of it, and tells nobody what it says.
	errUndecided = errors.New("the call could not be decided; see the log")
)

// Invoke answers one event.
func (h *Handler) Invoke(ctx context.Context, payload []byte) (answer []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			// The process lives on: a request that panics must not cost the next one a cold start.
			slog.ErrorContext(ctx, "the authorizer panicked", "fault", fault, "stack", string(debug.Stack()))
			answer, err = nil, errUndecided
		}
	}()
	c, err := read(payload, h.identity.header())
	if err != nil {
		slog.ErrorContext(ctx, "an event was refused", "error", err)
		return nil, errUndecided
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	checked, err := h.check(ctx, c)
	switch {
	case errors.Is(err, errUnauthorized):
		slog.DebugContext(ctx, "a caller is not known", "error", err)
		return nil, errUnauthorized
	case err != nil:
		slog.ErrorContext(ctx, "a call could not be decided", "error", err)
		return nil, errUndecided
	}
	return c.answer(checked)
}

// errAway is a limit that denies while the store is away: no decision of which 429 may be made.
var errAway = errors.New("the store is away, and a limit denies then")

// check finds out who calls and decides. The error wraps [errUnauthorized], or says why nothing
// was decided.
func (h *Handler) check(ctx context.Context, c *call) (httpapi.Checked, error) {
	who, err := h.identify(ctx, c.header)
	if err != nil {
		return httpapi.Checked{}, err
	}
	checked, err := h.checker.Check(ctx, quota.Request{
		Tenant: who.tenant, Subject: who.subject, Resource: c.resource, Attributes: c.attributes,
	})
	if err == nil && checked.Status == http.StatusServiceUnavailable {
		err = errAway
	}
	if errors.Is(err, quota.ErrUnknownTenant) || isOfCaller(err) {
		err = fmt.Errorf("%w: %w", errUnauthorized, err)
	}
	return checked, err
}

// isOfCaller reports whether an error is of what the caller says to be; the rest of a call is
// from API Gateway.
func isOfCaller(err error) bool {
	invalid, ok := errors.AsType[*httpapi.InvalidError](err)
	return ok && (invalid.Member == "tenant" || invalid.Member == "subject")
}
