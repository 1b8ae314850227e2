package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/receipt"
)

// A Decider decides calls and settles them: an [engine.Engine].
type Decider interface {
	// Decide answers a call. The error is that ctx ended before anything was
	// decided, and so before anything was charged; or it is [engine.ErrOutdated].
	Decide(ctx context.Context, call engine.Call) (engine.Decision, error)
	// Settle charges a call what it did cost instead of what it was charged. The error is
	// [engine.ErrTooLate], a [*store.Error] when it may be tried again, or that ctx ended.
	Settle(ctx context.Context, s engine.Settlement) (engine.Settled, error)
}

// Options says what a handler works with.
type Options struct {
	Decider Decider
	Plans   Plans
	// Auth is who may call; the zero value is [AuthKeys].
	Auth Auth
	// Verifier verifies the keys that are presented. Without one, no key is good.
	Verifier *apikey.Verifier
	// Receipts makes the receipts of charged calls and reads them. Without it there are none.
	Receipts *receipt.Sealer
	// Metrics answers GET /metrics. Without it nothing does.
	Metrics http.Handler
	// Logger gets requests (debug), what could not be answered (warning) and panics
	// (error). Default slog.Default().
	Logger *slog.Logger
}

// New returns the handler of the endpoints. It is safe for concurrent use.
func New(o Options) http.Handler {
	s := &server{
		decider:  o.Decider,
		plans:    o.Plans,
		auth:     o.Auth,
		verifier: o.Verifier,
		receipts: o.Receipts,
		logger:   o.Logger,
	}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	routes := checkRoutes
	if s.metrics = o.Metrics; s.metrics != nil {
		routes = append(slices.Clone(routes), metricsRoute)
	}
	return &edge{server: s, routes: s.mux(routes)}
}

// A server answers requests. What it holds does not change.
type server struct {
	decider  Decider
	plans    Plans
	auth     Auth
	verifier *apikey.Verifier
	receipts *receipt.Sealer // nil: none
	metrics  http.Handler    // nil: none
	logger   *slog.Logger
	policies policies
}

// A route is an address with a method, and what answers there.
type route struct {
	method, path string
	handler      func(*server, http.ResponseWriter, *http.Request)
}

// checkRoutes are all there are, without [metricsRoute].
var checkRoutes = []route{
	{"POST", "/v1/check", (*server).check},
	{"POST", "/v1/checks", (*server).checks},
	{"POST", "/v1/leases", (*server).leases},
	{"POST", "/v1/settle", (*server).settle},
	{"GET", "/healthz", (*server).health},
}

var metricsRoute = route{"GET", "/metrics", func(s *server, w http.ResponseWriter, r *http.Request) { s.metrics.ServeHTTP(w, r) }}

// mux returns the handler of routes, each the only one of its address.
func (s *server) mux(routes []route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range routes {
		allow := r.method
		if allow == http.MethodGet {
			allow += ", " + http.MethodHead
		}
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) { r.handler(s, w, q) })
		mux.HandleFunc(r.path, s.otherMethod(allow))
	}
	mux.HandleFunc("/", s.noRoute)
	return mux
}

func (s *server) otherMethod(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Allow"] = []string{allow}
		s.fail(w, r, &problem{kind: methodNotAllowed, detail: "This address takes " + allow + " only."})
	}
}

func (s *server) noRoute(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, &problem{kind: notFound, detail: "There is nothing at this address; checks are made with POST /v1/check."})
}

// health tells that this process runs. It asks nobody, the store least of all: a
// store that is away must not make a load balancer take every instance away too.
func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	respond(w, http.StatusOK, jsonType, []byte(`{"status":"ok"}`+"\n"))
}
