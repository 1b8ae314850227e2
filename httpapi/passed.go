package httpapi

import (
	"net/http"
	"strconv"

	"github.com/seed43908478/penstock/engine"
)

// What an authorizer passes on has these names, which are those of API Gateway's context too:
// $context.authorizer.retryAfter. Beside the fields of the header they are
//
//	allowed   true or false
//	tenant    whose limits counted
//	limit     the limit that decided; it has no quotes, so it can stand in a template of JSON
//	reason    why the call was refused: quota, contended, hot_key or store_error
//	source    what the decision rests on: store, memory, backoff or local
//	degraded  local or open, while the store is away
//	outcome   unknown, when it may have been counted without an answer
var passedFields = map[string]string{
	"rateLimitPolicy": policyField,
	"rateLimit":       rateLimitField,
	"quota":           limitField,
	"remaining":       remainingField,
	"reset":           resetField,
	"retryAfter":      retryField, // of a refused call only
}

// passed returns what is passed on of a decision.
func passed(h http.Header, tenant string, d *engine.Decision) map[string]string {
	values := map[string]string{
		"allowed":  strconv.FormatBool(d.Allowed),
		"tenant":   tenant,
		"source":   string(d.Source),
		"reason":   string(d.Reason),
		"degraded": string(d.Degraded),
		"outcome":  outcome(d.Unknown),
	}
	if v := deciding(d); v != nil {
		values["limit"] = v.Rule.Name
	}
	for name, field := range passedFields {
		values[name] = h.Get(field)
	}
	for name, value := range values {
		if value == "" {
			delete(values, name)
		}
	}
	return values
}

// WithRateLimit sets the rate limit fields of next's answers to what the authorizer in front of
// it passed on: RateLimit, RateLimit-Policy and X-RateLimit-Limit, -Remaining and -Reset. They
// are set before next is called, which may change them.
//
// authorizer returns what API Gateway says of a request's authorizer, nil if it had none. That is
// in the event: requestContext.authorizer of a REST API, requestContext.authorizer.lambda of an
// HTTP API. It must not be taken from anything that a caller can write.
func WithRateLimit(next http.Handler, authorizer func(*http.Request) map[string]any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := authorizer(r)
		for name, field := range passedFields {
			if value, ok := values[name].(string); ok && value != "" {
				w.Header()[field] = []string{value}
			}
		}
		next.ServeHTTP(w, r)
	})
}
