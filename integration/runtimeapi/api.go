package runtimeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// arn is the function's name as AWS would have it.
const arn = "arn:aws:lambda:us-east-1:123456789012:function:penstock-check"

// A FunctionError is what a function returned instead of an answer.
type FunctionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error says what the function said.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// api is the Runtime API, as much of it as runtimes for Go use.
func (e *Environment) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", e.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", e.response)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", e.failure)
	return mux
}

// next hands out an event, when there is one.
func (e *Environment) next(w http.ResponseWriter, r *http.Request) {
	e.firstAsk.Do(func() {
		e.initTime = time.Since(e.started)
		close(e.ready)
	})
	select {
	case inv := <-e.queue:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", inv.id)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(e.timeout).UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", arn)
		w.Header().Set("Lambda-Runtime-Trace-Id", "Root=1-6920a1b2-0123456789abcdef01234567;Parent=0123456789abcdef;Sampled=0")
		_, _ = w.Write(inv.event) // if the process is gone, Invoke sees that
	case <-r.Context().Done():
	}
}

// response takes the answer to an event.
func (e *Environment) response(w http.ResponseWriter, r *http.Request) {
	answer, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.settle(w, r.PathValue("id"), outcome{answer: answer})
}

// failure takes the error that an event ended in.
func (e *Environment) failure(w http.ResponseWriter, r *http.Request) {
	var fault FunctionError
	if err := json.NewDecoder(r.Body).Decode(&fault); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.settle(w, r.PathValue("id"), outcome{err: &fault})
}

// settle hands an outcome to whom it belongs. An event has one.
func (e *Environment) settle(w http.ResponseWriter, id string, out outcome) {
	e.mu.Lock()
	inv, ok := e.running[id]
	delete(e.running, id)
	if ok {
		e.answered++
		if out.err != nil {
			e.failed++
		}
	}
	e.mu.Unlock()
	if !ok {
		http.Error(w, fmt.Sprintf("no event %q is being handled", id), http.StatusBadRequest)
		return
	}
	inv.done <- out
	w.WriteHeader(http.StatusAccepted)
}

// accept makes an invocation of an event.
func (e *Environment) accept(event []byte) *invocation {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.accepted++
	inv := &invocation{
		id:    fmt.Sprintf("00000000-0000-4000-8000-%012d", e.accepted),
		event: event,
		done:  make(chan outcome, 1),
	}
	e.running[inv.id] = inv
	return inv
}

// forget drops an invocation that nobody waits for any more.
func (e *Environment) forget(inv *invocation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.running, inv.id)
}
