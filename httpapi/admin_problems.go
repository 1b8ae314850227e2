package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

var (
	conflict             = &kind{http.StatusConflict, urn + "conflict", "Conflict"}
	preconditionFailed   = &kind{http.StatusPreconditionFailed, urn + "precondition-failed", "Precondition Failed"}
	preconditionRequired = &kind{http.StatusPreconditionRequired, urn + "precondition-required", "Precondition Required"}
)

// refuse answers a request that could not be answered.
func (a *admin) refuse(w http.ResponseWriter, c *adminCall, out reply, err error) {
	if out.allow != "" {
		w.Header().Set("Allow", out.allow)
	}
	if p, ok := errors.AsType[*configstore.PreconditionError](err); ok && p.Revision != 0 {
		w.Header().Set("ETag", etag(p.Revision))
	}
	a.fail(w, c.Request, adminProblem(err))
}

// adminProblem is what an administrator is told of an error.
func adminProblem(err error) error {
	if _, ok := errors.AsType[*problem](err); ok {
		return err
	}
	for _, k := range known {
		if errors.Is(err, k.err) && k.problem != errUndecided {
			return err
		}
	}
	if problems, ok := errors.AsType[quota.Problems](err); ok {
		return invalidConfig(problems)
	}
	if p, ok := errors.AsType[*configstore.PreconditionError](err); ok {
		return &problem{kind: preconditionFailed, detail: stale(p)}
	}
	if p, ok := errors.AsType[*configstore.InUseError](err); ok {
		return &problem{kind: conflict, detail: fmt.Sprintf("Plan %s is in use: %s.", p.Plan, usersOf(p))}
	}
	switch {
	case errors.Is(err, configstore.ErrCursor):
		return faulted([]fault{{"cursor", "is not one that this list gave out; leave it out to begin with the first page"}})
	case errors.Is(err, configstore.ErrNotFound):
		return &problem{kind: notFound, detail: "It is not there, or not any more."}
	case errors.Is(err, configstore.ErrConflict):
		return fmt.Errorf("%w: %w", &problem{kind: unavailable, detail: "Others made changes all the time, so nothing was changed; try again in a second."}, err)
	}
	return fmt.Errorf("%w: %w", away(err), err)
}

// away is what is told while the table cannot be asked, or does not answer.
func away(err error) *problem {
	e, ok := errors.AsType[*store.Error](err)
	unknown := ok && e.Unknown || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if unknown {
		return &problem{kind: unavailable, detail: "The table did not answer: a change is made as a whole or not at all, look which; then try again."}
	}
	return &problem{kind: unavailable, detail: "The table cannot be asked at the moment; nothing was changed. Try again in a second."}
}

func stale(p *configstore.PreconditionError) string {
	if p.Revision == 0 {
		return clip(p.Object) + " is not there; leave If-Match out to create it."
	}
	return fmt.Sprintf("%s has revision %d now: read it again, make the change to that, and send If-Match: %s.", clip(p.Object), p.Revision, etag(p.Revision))
}

// required is the problem of a PUT that names no revision, of an object that is there.
func required(err error, given bool) error {
	p, ok := errors.AsType[*configstore.PreconditionError](err)
	if given || !ok {
		return err
	}
	return fmt.Errorf("%w: %w", &problem{
		kind:   preconditionRequired,
		detail: fmt.Sprintf("%s is there already, with revision %d: to replace it send If-Match: %s, or If-Match: * whatever it is.", clip(p.Object), p.Revision, etag(p.Revision)),
	}, err)
}

func usersOf(p *configstore.InUseError) string {
	var users []string
	if p.Count > 0 {
		some := strings.Join(p.Tenants, ", ")
		if more := p.Count - len(p.Tenants); more > 0 {
			some += fmt.Sprintf(" and %d more", more)
		}
		users = append(users, "give another plan to "+some)
	}
	if p.Default {
		users = append(users, "make another plan the default_plan")
	}
	return strings.Join(users, ", and ")
}

// invalidConfig is the problem of plans and tenants that are not right.
func invalidConfig(problems quota.Problems) error {
	faults := make([]fault, len(problems))
	for i, p := range problems {
		faults[i] = fault{p.Path, p.Text}
	}
	return faulted(faults)
}

// inside names the members of what was sent instead of those of the whole configuration.
func inside(err error, path string) error {
	problems, ok := errors.AsType[quota.Problems](err)
	if !ok {
		return err
	}
	for i := range problems {
		problems[i].Path = within(problems[i].Path, path)
	}
	return problems
}

// within is a path as it is from another on.
func within(path, from string) string {
	if rest, ok := strings.CutPrefix(path, from); ok && from != "" && (rest == "" || rest[0] == '.') {
		return strings.TrimPrefix(rest, ".")
	}
	return path
}

// toldFaults is how many faults the detail of a problem repeats.
const toldFaults = 3

// faulted returns the problem that faults are; nil when there are none.
func faulted(faults []fault) error {
	if len(faults) == 0 {
		return nil
	}
	var said []string
	for _, f := range faults[:min(toldFaults, len(faults))] {
		said = append(said, strings.TrimSpace(f.member+" "+f.detail))
	}
	detail := strings.Join(said, "; ")
	if more := len(faults) - toldFaults; more > 0 {
		detail += fmt.Sprintf("; and %d more", more)
	}
	return &problem{kind: invalidRequest, detail: detail + ".", faults: faults}
}
