package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// A kind of problem is what RFC 9457 calls its type, with its one status and title.
type kind struct {
	status     int
	uri, title string
}

const (
	urn  = "urn:penstock:"
	iana = "https://iana.org/assignments/http-problem-types#"
)

var (
	invalidRequest   = &kind{http.StatusBadRequest, urn + "invalid-request", "Invalid Request"}
	unauthorized     = &kind{http.StatusUnauthorized, urn + "unauthorized", "Unauthorized"}
	forbidden        = &kind{http.StatusForbidden, urn + "forbidden", "Forbidden"}
	notFound         = &kind{http.StatusNotFound, urn + "not-found", "Not Found"}
	unknownTenant    = &kind{http.StatusNotFound, urn + "unknown-tenant", "Unknown Tenant"}
	methodNotAllowed = &kind{http.StatusMethodNotAllowed, urn + "method-not-allowed", "Method Not Allowed"}
	tooLate          = &kind{http.StatusGone, urn + "receipt-too-late", "Receipt Too Late"}
	tooLarge         = &kind{http.StatusRequestEntityTooLarge, urn + "too-large", "Content Too Large"}
	unsupportedMedia = &kind{http.StatusUnsupportedMediaType, urn + "unsupported-media-type", "Unsupported Media Type"}
	quotaExceeded    = &kind{http.StatusTooManyRequests, iana + "quota-exceeded", "Quota Exceeded"}
	internalError    = &kind{http.StatusInternalServerError, urn + "internal", "Internal Server Error"}
	unavailable      = &kind{http.StatusServiceUnavailable, urn + "unavailable", "Service Unavailable"}
	reducedCapacity  = &kind{http.StatusServiceUnavailable, iana + "temporary-reduced-capacity", "Temporary Reduced Capacity"}
)

// A problem is why a request got no decision: an error that a caller may read.
type problem struct {
	*kind
	// detail is a sentence that says what to do.
	detail string
	// faults are the members of the request that are wrong.
	faults []fault
}

// A fault is what is wrong with one member of a request.
type fault struct {
	member string // "cost", "attributes.ip" or "checks[3]"; "" is the document
	detail string // begins in the middle of a sentence: "must be …"
}

// Error says the problem in one line, for logs.
func (p *problem) Error() string { return p.title + ": " + p.detail }

const keyDetail = "This call needs a valid key in the header Authorization: Bearer pk_…"

var errNoKey = &problem{kind: unauthorized, detail: keyDetail}

// known has the errors of other packages, and what a caller is told of them. Which
// fault a key has is not among it.
var known = []struct {
	err error
	*problem
}{
	{apikey.ErrMalformed, errNoKey},
	{apikey.ErrUnknown, errNoKey},
	{apikey.ErrExpired, errNoKey},
	{apikey.ErrRevoked, errNoKey},
	{apikey.ErrUnavailable, &problem{kind: unavailable, detail: "Keys cannot be verified at the moment; try again in a second."}},
	{quota.ErrUnknownTenant, &problem{kind: unknownTenant, detail: "The tenant has no plan and there is no default_plan; add it, or correct the name."}},
	{engine.ErrTooLate, &problem{kind: tooLate, detail: "Nothing that this receipt is for is counted any more; nothing was changed, and there is no need to send it again."}},
	{context.Canceled, errUndecided},
	{context.DeadlineExceeded, errUndecided},
}

var (
	errUndecided   = &problem{kind: unavailable, detail: "The call ended before anything was decided; nothing was charged."}
	errUnavailable = &problem{kind: unavailable, detail: "The limits cannot be looked up at the moment; try again in a second."}
	errUnsettled   = &problem{kind: unavailable, detail: "What was charged cannot be changed at the moment; send the same again in a second, it is settled once."}
)

// problemOf returns what a caller is told of an error. One that nobody foresaw is
// the server's own, and may pass.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return k.problem
		}
	}
	if _, ok := errors.AsType[*store.Error](err); ok {
		return errUnsettled
	}
	return errUnavailable
}

// fail answers a request that got no decision.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := s.reported(r.Context(), err)
	switch p.status {
	case http.StatusUnauthorized:
		w.Header()["Www-Authenticate"] = []string{"Bearer"}
	case http.StatusServiceUnavailable:
		w.Header()["Retry-After"] = []string{"1"}
	}
	o := object{}
	o.open()
	o.problem(p)
	o.close()
	respond(w, p.status, problemType, append(o.text, '\n'))
}

// reported returns what a caller is told of an error, and logs it if it is ours.
func (s *server) reported(ctx context.Context, err error) *problem {
	p := problemOf(err)
	if p.kind == unavailable && ctx.Err() == nil {
		s.logger.WarnContext(ctx, "a request could not be decided", "error", err)
	}
	return p
}

// problem appends the members of a problem.
func (o *object) problem(p *problem) {
	o.kind(p.kind)
	o.str("detail", p.detail)
	if len(p.faults) == 0 {
		return
	}
	o.name("errors")
	o.text = append(o.text, '[')
	for i, f := range p.faults {
		if i > 0 {
			o.text = append(o.text, ',')
		}
		o.open()
		o.str("member", f.member)
		o.str("detail", f.detail)
		o.close()
	}
	o.text = append(o.text, ']')
}

// kind appends the members that all problems of a kind share.
func (o *object) kind(k *kind) {
	o.str("type", k.uri)
	o.str("title", k.title)
	o.num("status", int64(k.status))
}

var (
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
	noStore     = []string{"no-store"}
	noSniff     = []string{"nosniff"}
)

// respond writes a whole answer. No answer may be kept: the next one differs.
func respond(w http.ResponseWriter, status int, contentType []string, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentType
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller who has gone is told nothing
}
