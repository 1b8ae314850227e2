package httpapi

import (
	"context"
	"log/slog"
	"net/http"

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
	return &edge{server: s, routes: s.routes()}
}

// A server answers requests. What it holds does not change.
type server struct {
	decider  Decider
	plans    Plans
	auth     Auth
	verifier *apikey.Verifier
	receipts *receipt.Sealer // nil: none
	logger   *slog.Logger
	policies policies
}

func (s *server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	route := func(method, path, allow string, h http.HandlerFunc) {
		mux.HandleFunc(method+" "+path, h)
		mux.HandleFunc(path, s.otherMethod(allow))
	}
	route("POST", "/v1/check", "POST", s.check)
	route("POST", "/v1/checks", "POST", s.checks)
	route("POST", "/v1/leases", "POST", s.leases)
	route("POST", "/v1/settle", "POST", s.settle)
	route("GET", "/healthz", "GET, HEAD", s.health)
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
