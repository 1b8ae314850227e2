package httpapi

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed43908478/penstock/activity"
	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
)

// AdminOptions says what an admin handler works with.
type AdminOptions struct {
	// Config has plans, tenants, keys and the audit.
	Config *configstore.Store
	// Plans knows what is in force, Counts what was counted.
	Plans  InForce
	Counts Counts
	// Verifier verifies keys; those with the scope admin are let in. Keys that are
	// revoked or rotated are forgotten there.
	Verifier *apikey.Verifier
	// Secret signs the keys that are made: the one that Verifier has.
	Secret []byte
	// Key is the bootstrap key, at least [MinAdminKey] characters; "" when there is none.
	Key string
	// Activity is what was decided lately, where that is known: in the process that decides.
	Activity *activity.Activity
	// Logger is that of [Options].
	Logger *slog.Logger
	// Now is the wall clock; time.Now when nil.
	Now func() time.Time
}

// MinAdminKey is how many characters a bootstrap key has at least.
const MinAdminKey = 16

// NewAdmin returns the handler of everything under /admin/v1/. It is safe for
// concurrent use. It panics when the bootstrap key is too short or the secret empty.
//
// Every call needs Authorization: Bearer KEY, a key with the scope admin or the
// bootstrap key: without one it is 401, with another 403. Addresses are below
// /admin/v1/; a PUT or a POST takes Content-Type: application/json:
//
//	GET    whoami                       200 {"who":"4kq7dmz2x5ab","scopes":["admin"]}; "bootstrap" with that key
//
//	GET    tenants                      200 list of tenants, by name; ?prefix= &search= &plan=
//	GET    tenants/{tenant}             200 tenant
//	PUT    tenants/{tenant}             {"plan":"free","limits":[…]} → 201 created or 200: tenant
//	DELETE tenants/{tenant}             204, also when there is none; its keys are revoked
//
//	GET    plans                        200 list of plans, by name; ?prefix=
//	GET    plans/{plan}                 200 plan
//	PUT    plans/{plan}                 {"limits":[…]} → 201 created or 200: plan
//	DELETE plans/{plan}                 204, also when there is none; 409 while tenants have it or it is the default
//	GET    default_plan                 200 {"default_plan":"free"}; "" when there is none
//	PUT    default_plan                 {"default_plan":"free"}, "" for none → 200 the same; the last one wins, no ETag
//
//	GET    tenants/{tenant}/keys        200 list of keys
//	POST   tenants/{tenant}/keys        {"name":"ci","scopes":["check:own"],"expires_in":"720h"} → 201 key, and in it
//	                                    "key", this once; all members may be left out; 404 for an unknown tenant
//	GET    tenants/{tenant}/keys/{id}   200 key
//	DELETE tenants/{tenant}/keys/{id}   204, also when it is revoked; 404 when there never was one
//	POST   tenants/{tenant}/keys/{id}/rotate   {"expires_in":"720h","grace":"24h"} → 201 key in its place, with "key";
//	                                    the old one works for the grace still (24h when left out, 0s is not at all); 409 when it does not work any more
//	GET, POST keys; GET, DELETE keys/{id}; POST keys/{id}/rotate   the same of keys that are no tenant's:
//	                                    scopes check:any and admin
//
//	GET    tenants/{tenant}/usage       200 usage, of the limits that are by nothing; ?subject= &resource= &attributes.NAME=
//	                                    adds those that are by what is named
//	POST   tenants/{tenant}/reset       {"subject":"user:42"} → 200 {"scope":"key","limits":["per-user"],"within_ms":10000}; what
//	                                    begins afresh, and when the last instance has seen it:
//	                                    {"subject":…,"resource":…,"attributes":{…}} what limits by these count there (an empty
//	                                    one is the count of all who have none), with "limit":… only that limit's;
//	                                    {"limit":"per-user"} all counts of it; {} all of the tenant
//	POST   explain                      a check → 200 explanation; as text with Accept: text/plain
//
//	GET    config                       200 the whole, but keys: {"plans":{…},"tenants":{…},"default_plan":"free"}, ETag is the version
//	PUT    config                       the same → 200 difference; ?dry_run=true only tells what it would be
//	GET    audit                        200 list of entries, the newest first; ?tenant=
//	GET    activity                     200 {"step_ms":10000,"to":"…","series":[{"limit":"per-user","allowed":[0,1],"refused":[0,0]}]}; ?tenant= &minutes=60;
//	                                    calls of this process by the limit that decided, the oldest first; 404 where it does not decide
//
// A tenant is {"name","plan","limits":[…],"revision","generation"}, a plan {"name","limits":[…],"revision"}; limits
// are those of penstock.yaml. A key is {"id","name","tenant","scopes","state":"active"|"expired"|"revoked",
// "created_at","expires_at","revoked_at"}; times are RFC 3339, and what there is not is left out. An entry is
// {"version","at","who","request_id","action","object","tenant","before","after"}. A difference is {"version","changed",
// "plans":{"added":[…],"changed":[…],"removed":[…]},"tenants":{…},"default_plan":true}.
//
// A usage is {"tenant","plan","at","limits":[…],"more":[{"name","by"}]}: limits with "from":"plan"|"tenant" and a count, {"allowed","capacity",
// "used","remaining","retry_after_ms","reset_after_ms","over"}; more are those that count for each of what was not named. An explanation
// is {"tenant","known","plan","version","at","cost","allowed","limit","retry_after_ms","never","limits":[…]}: limits with "matched","reason",
// "from","replaces","revision","policy" (in words), "count" as above with "short", how many permits the call lacks, and "changed":{"at","who","action","object"}.
// allowed and the counts are left out when the state table cannot be asked.
//
// A list is {"items":[…],"cursor":"…"}: ?cursor= of that asks for the next page, and after the last it is "".
// ?limit= is how many, 1 to 1000; 100 when left out.
//
// GET and PUT answer with ETag: "REVISION", config's with that of the version. PUT of what is there already needs If-Match
// with it (428 without, 412 when somebody else was faster; both with the ETag of now), or If-Match: * to replace whatever it is;
// If-None-Match: * creates only. DELETE takes If-Match, and needs none. A PUT that changes nothing keeps the revision.
// ?dry_run=true with a PUT of a tenant or a plan says what would become of it, 400 as without it or 200 {"changed":true}, and asks for no If-Match.
// A PUT, dry or not, may answer with "warnings", like errors, of what is valid and cannot be had.
// DELETE and PUT may be repeated when an answer was lost; after a lost POST …/keys a key may be there that nobody knows.
//
// Errors are problems (RFC 9457): 400 with "errors":[{"member":"limits[0].quota","detail":"must be at least 1, not 0"}] for
// all that is wrong, 401, 403, 404, 405, 409, 412, 413 (1 MB; config 32 MB; on Lambda 6 MB either way), 415, 428; 503 with Retry-After while the table is
// away: a change is made as a whole or not at all. Every answer has X-Request-Id, that of the
// request or a new one, and so has the audit.
func NewAdmin(o AdminOptions) http.Handler {
	if o.Key != "" && len(o.Key) < MinAdminKey {
		panic("httpapi: the bootstrap key is too short")
	}
	if len(o.Secret) == 0 {
		panic("httpapi: the secret is empty: anybody could make keys")
	}
	a := &admin{
		server:   &server{verifier: o.Verifier, logger: o.Logger},
		config:   o.Config,
		plans:    o.Plans,
		counts:   o.Counts,
		secret:   o.Secret,
		keyHash:  hashKey(o.Key),
		keyGiven: o.Key != "",
		activity: o.Activity,
		now:      o.Now,
	}
	if a.logger == nil {
		a.logger = slog.Default()
	}
	if a.now == nil {
		a.now = time.Now
	}
	return &edge{server: a.server, routes: a.routes()}
}

// An admin answers administrators. What it holds does not change.
type admin struct {
	*server
	config   *configstore.Store
	plans    InForce
	counts   Counts
	secret   []byte
	keyHash  [32]byte // of the bootstrap key
	keyGiven bool
	activity *activity.Activity
	now      func() time.Time
}

// A route is an address with a method, and what answers there.
type adminRoute struct {
	method, path string // the path is below /admin/v1/
	handler      func(*admin, *adminCall) (reply, error)
}

// adminRoutes are all there are.
var adminRoutes = []adminRoute{
	{"GET", "whoami", (*admin).whoami},

	{"GET", "tenants", (*admin).listTenants},
	{"GET", "tenants/{tenant}", (*admin).getTenant},
	{"PUT", "tenants/{tenant}", (*admin).putTenant},
	{"DELETE", "tenants/{tenant}", (*admin).deleteTenant},

	{"GET", "plans", (*admin).listPlans},
	{"GET", "plans/{plan}", (*admin).getPlan},
	{"PUT", "plans/{plan}", (*admin).putPlan},
	{"DELETE", "plans/{plan}", (*admin).deletePlan},
	{"GET", "default_plan", (*admin).getDefaultPlan},
	{"PUT", "default_plan", (*admin).putDefaultPlan},

	{"GET", "tenants/{tenant}/keys", (*admin).listKeys},
	{"POST", "tenants/{tenant}/keys", (*admin).createKey},
	{"GET", "tenants/{tenant}/keys/{id}", (*admin).getKey},
	{"DELETE", "tenants/{tenant}/keys/{id}", (*admin).revokeKey},
	{"POST", "tenants/{tenant}/keys/{id}/rotate", (*admin).rotateKey},
	{"GET", "keys", (*admin).listKeys},
	{"POST", "keys", (*admin).createKey},
	{"GET", "keys/{id}", (*admin).getKey},
	{"DELETE", "keys/{id}", (*admin).revokeKey},
	{"POST", "keys/{id}/rotate", (*admin).rotateKey},

	{"GET", "tenants/{tenant}/usage", (*admin).usage},
	{"POST", "tenants/{tenant}/reset", (*admin).reset},
	{"POST", "explain", (*admin).explain},

	{"GET", "config", (*admin).getConfig},
	{"PUT", "config", (*admin).putConfig},
	{"GET", "audit", (*admin).listAudit},
	{"GET", "activity", (*admin).getActivity},
}

var textType = []string{"text/plain; charset=utf-8"}

const adminRoot = "/admin/v1/"

func (a *admin) routes() *http.ServeMux {
	mux := http.NewServeMux()
	allowed := map[string][]string{}
	for _, r := range adminRoutes {
		mux.HandleFunc(r.method+" "+adminRoot+r.path, a.answered(r.handler))
		allowed[r.path] = append(allowed[r.path], r.method)
		if r.method == http.MethodGet {
			allowed[r.path] = append(allowed[r.path], http.MethodHead)
		}
	}
	for path, methods := range allowed {
		allow := strings.Join(slices.Sorted(slices.Values(methods)), ", ")
		mux.HandleFunc(adminRoot+path, a.answered(func(*admin, *adminCall) (reply, error) {
			return reply{allow: allow}, &problem{kind: methodNotAllowed, detail: "This address takes " + allow + " only."}
		}))
	}
	mux.HandleFunc("/", a.answered(func(*admin, *adminCall) (reply, error) {
		return reply{}, &problem{kind: notFound, detail: "There is nothing at this address; administration is below " + adminRoot + "."}
	}))
	return mux
}

// An adminCall is a request whose caller may administer.
type adminCall struct {
	*http.Request
	by     configstore.By
	scopes []apikey.Scope
}

// A reply is what a request is answered with.
type reply struct {
	status   int    // 200 when 0
	body     any    // nil: none
	text     string // in the place of the body, when not empty
	revision int64
	location string
	allow    string
}

// answered makes a handler of a function: who may not call is turned away before anything is read.
func (a *admin) answered(answer func(*admin, *adminCall) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &adminCall{Request: r, by: configstore.By{RequestID: requestID(r.Header)}}
		w.Header().Set("X-Request-Id", c.by.RequestID)
		err := a.signIn(c)
		if err == nil {
			err = c.impossible()
		}
		var out reply
		if err == nil {
			out, err = answer(a, c)
		}
		if err != nil {
			a.refuse(w, c, out, err)
			return
		}
		a.reply(w, c, out)
	}
}

// impossible is the problem of an address with a name that nothing can have. A PUT says
// more of it.
func (c *adminCall) impossible() error {
	tenant, plan := c.PathValue("tenant"), c.PathValue("plan")
	switch {
	case c.Method == http.MethodPut:
	case tenant != "" && !quota.ValidTenant(tenant):
		return noTenant(tenant)
	case plan != "" && !quota.ValidPlan(plan):
		return noPlan(plan)
	}
	return nil
}

// maxRequestIDHeader is how long a caller's X-Request-Id may be to be kept.
const maxRequestIDHeader = 128

// requestID is the caller's name of a request; one is made when there is none that can be kept.
func requestID(h http.Header) string {
	if id := h.Get("X-Request-Id"); id != "" && len(id) <= maxRequestIDHeader && strings.IndexFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) < 0 {
		return id
	}
	return strings.ToLower(rand.Text()[:20])
}

// reply answers a request that could be answered.
func (a *admin) reply(w http.ResponseWriter, c *adminCall, out reply) {
	h := w.Header()
	if out.revision != 0 {
		h.Set("ETag", etag(out.revision))
	}
	if out.location != "" {
		h.Set("Location", out.location)
	}
	if out.status == 0 {
		out.status = http.StatusOK
	}
	if out.text != "" {
		respond(w, out.status, textType, []byte(out.text))
		return
	}
	if out.body == nil {
		h["Cache-Control"] = noStore
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out.body); err != nil {
		a.logger.ErrorContext(c.Context(), "an answer could not be written as JSON", "error", err)
		a.fail(w, c.Request, &problem{kind: internalError, detail: "This is a defect in the server; it was logged."})
		return
	}
	respond(w, out.status, jsonType, b.Bytes())
}

// A page is one of a list.
type page[T any] struct {
	Items []T `json:"items"`
	// Cursor asks for the next page; empty after the last.
	Cursor string `json:"cursor"`
}

// listed answers with a page.
func listed[T any](items []T, cursor string) reply {
	if items == nil {
		items = []T{}
	}
	return reply{body: page[T]{items, cursor}}
}
