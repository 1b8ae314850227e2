package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// edge is what every request passes first: panics end here, browsers of other
// origins are turned away, and requests are logged when somebody wants to know.
type edge struct {
	*server
	routes  *http.ServeMux
	origins http.CrossOriginProtection
}

// ServeHTTP answers a request, whatever happens.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.logger.Enabled(r.Context(), slog.LevelDebug) {
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer e.log(r, seen, time.Now())
		w = seen
	}
	defer e.recover(w, r)
	if err := e.origins.Check(r); err != nil {
		e.fail(w, r, &problem{kind: forbidden, detail: "Calls from web pages of another origin are refused; make them from a server."})
		return
	}
	e.routes.ServeHTTP(w, r)
}

// recover answers for a handler that panicked. Handlers write when all is decided,
// so nothing has been written yet.
func (e *edge) recover(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	e.logger.ErrorContext(r.Context(), "a handler panicked", "method", r.Method, "route", r.Pattern, "panic", v, "stack", string(debug.Stack()))
	e.fail(w, r, &problem{kind: internalError, detail: "This is a defect in the server; it was logged."})
}

// log tells of a request: the route, not the address as the caller spelled it.
func (e *edge) log(r *http.Request, w *statusWriter, began time.Time) {
	e.logger.DebugContext(r.Context(), "request", "method", r.Method, "route", r.Pattern, "status", w.status, "took", time.Since(began))
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader writes the status that it remembers.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the writer behind.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
