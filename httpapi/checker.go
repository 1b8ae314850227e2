package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/seed43908478/penstock/quota"
)

// A Checker decides calls where there is no HTTP request to answer, but somebody who can pass
// text on: API Gateway's authorizers. It decides what POST /v1/check would. Make one with
// [NewChecker]; it is safe for concurrent use.
type Checker struct{ server server }

// NewChecker returns a checker. Who may call is for its users to find out.
func NewChecker(decider Decider, plans Plans) *Checker {
	return &Checker{server: server{decider: decider, plans: plans, logger: slog.Default()}}
}

// A Checked call is one that was decided.
type Checked struct {
	// Status is that of the answer to POST /v1/check: 200, 429, or 503 when the store is
	// away and a limit denies then.
	Status int
	// Passed is what to pass on: to the backend of an allowed call, for [WithRateLimit], and
	// to a refused caller. Values that are empty are left out; what they are is in passed.go.
	Passed map[string]string
}

// An InvalidError is a call that cannot be checked.
type InvalidError struct {
	Member string // as in the body of POST /v1/check: "tenant" or "attributes.ip"
	Detail string
}

// Error says which member is wrong, and why.
func (e *InvalidError) Error() string { return e.Member + " " + e.Detail }

// Check decides a call of cost 1 and counts it. The error is an [*InvalidError],
// [quota.ErrUnknownTenant], or says why nothing could be decided, and so nothing was counted.
func (c *Checker) Check(ctx context.Context, r quota.Request) (Checked, error) {
	if err := validate(&r); err != nil {
		return Checked{}, err
	}
	call := &checkRequest{Request: r, cost: 1}
	d, err := c.server.decide(ctx, call)
	if err != nil {
		return Checked{}, err
	}
	k := kindOf(call, d)
	status := http.StatusOK
	if k != nil {
		status = k.status
	}
	h := http.Header{}
	c.server.setFields(h, &fields{}, k, d)
	return Checked{Status: status, Passed: passed(h, r.Tenant, d)}, nil
}

// validate holds a request to the sizes that the body of a check is held to.
func validate(r *quota.Request) error {
	if !isTenant([]byte(r.Tenant)) {
		return &InvalidError{"tenant", fmt.Sprintf("must be 1 to %d letters, digits or any of ._:@-", maxTenant)}
	}
	if r.Resource == "" {
		return &InvalidError{"resource", "must not be empty"}
	}
	if fault := unfit([]byte(r.Resource), maxResource); fault != "" {
		return &InvalidError{"resource", fault}
	}
	if fault := unfit([]byte(r.Subject), maxPart); fault != "" {
		return &InvalidError{"subject", fault}
	}
	for name, value := range r.Attributes {
		if fault := unfit([]byte(value), maxPart); fault != "" {
			return &InvalidError{"attributes." + name, fault}
		}
	}
	return nil
}
