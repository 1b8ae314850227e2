package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// A Handler answers API Gateway's events. It is a lambda.Handler, safe for concurrent
// use if the handler that it was made from is.
type Handler struct {
	next  http.Handler
	byIAM func(context.Context) context.Context
}

// New returns a handler that has next answer the events. A call that API Gateway
// authenticated by IAM reaches next with the context that byIAM made of its own; with a
// nil byIAM such a call is like any other.
func New(next http.Handler, byIAM func(context.Context) context.Context) *Handler {
	if byIAM == nil {
		byIAM = func(ctx context.Context) context.Context { return ctx }
	}
	return &Handler{next: next, byIAM: byIAM}
}

// Invoke answers one event. Whatever the event is, and whatever the handler does, it
// returns an answer with a status code and no error: of JSON without one, an HTTP API
// makes a 200, which callers would take for "allowed".
func (h *Handler) Invoke(ctx context.Context, payload []byte) (answer []byte, _ error) {
	defer func() {
		if fault := recover(); fault != nil {
			// The process lives on: a request that panics must not cost the next one a cold start.
			slog.ErrorContext(ctx, "the handler panicked", "fault", fault, "stack", string(debug.Stack()))
			answer = problem(http.StatusInternalServerError, "The request could not be handled.")
		}
	}()
	answer, err := h.answer(ctx, payload)
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, errEvent):
		slog.ErrorContext(ctx, "an event was refused", "error", err)
		return problem(http.StatusBadRequest, err.Error()), nil
	default:
		slog.ErrorContext(ctx, "an event was not answered", "error", err)
		return problem(http.StatusInternalServerError, "The request could not be handled."), nil
	}
}

// errEvent is what is wrong with an event that cannot be a request of API Gateway's.
var errEvent = errors.New("not a request from an API Gateway HTTP API or REST API")

// answer translates the event, has it handled, and translates the answer.
func (h *Handler) answer(ctx context.Context, payload []byte) ([]byte, error) {
	var kind struct {
		Version    string `json:"version"`
		HTTPMethod string `json:"httpMethod"`
		// Type is what an authorizer's event has, which is otherwise shaped like a request.
		Type string `json:"type"`
	}
	if err := json.Unmarshal(payload, &kind); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	switch {
	case kind.Type != "":
		return nil, fmt.Errorf("%w, but of type %q", errEvent, kind.Type)
	case kind.Version == "2.0":
		return h.answerV2(ctx, payload)
	case kind.HTTPMethod != "":
		return h.answerV1(ctx, payload)
	default:
		return nil, errEvent
	}
}
