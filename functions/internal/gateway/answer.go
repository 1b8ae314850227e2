package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
)

// A recorder is what a handler writes its answer to. Unlike the adapter's own it has
// net/http's meaning of a header that is changed after the status was written: too late.
type recorder struct {
	served bool
	header http.Header
	sent   http.Header
	status int
	body   bytes.Buffer
}

// errNoAnswer is a handler that wrote nothing. net/http would make a 200 of it; an empty
// 200 from a limiter reads as "allowed", so it becomes an error.
var errNoAnswer = errors.New("the handler wrote no answer")

// serve has next answer the request, then copies the answer to w as a whole.
func (rec *recorder) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	rec.served = true
	rec.header = make(http.Header)
	next.ServeHTTP(rec, r)
	if rec.status == 0 {
		return // w then has no status either, and the adapter fails
	}
	maps.Copy(w.Header(), rec.sent)
	w.WriteHeader(rec.status)
	if rec.body.Len() > 0 {
		_, _ = w.Write(rec.body.Bytes()) // into memory
	}
}

// blame says whose fault it is that the adapter failed: the event's, if it was not even
// made into a request, else the handler's.
func (rec *recorder) blame(err error) error {
	if rec.served {
		return errNoAnswer
	}
	return fmt.Errorf("%w: %w", errEvent, err)
}

// Header returns the header that goes out with the status.
func (rec *recorder) Header() http.Header { return rec.header }

// WriteHeader sets the status of the answer, once. Informational ones have no way to the caller.
func (rec *recorder) WriteHeader(status int) {
	if rec.status != 0 || status >= 100 && status < 200 {
		return
	}
	if status < 200 || status > 599 {
		panic(fmt.Sprintf("status %d cannot be sent", status))
	}
	rec.status = status
	rec.sent = rec.header.Clone()
}

// Write appends to the answer's body.
func (rec *recorder) Write(p []byte) (int, error) {
	rec.WriteHeader(http.StatusOK)
	return rec.body.Write(p)
}

// problem is the answer, in the form of either kind of API, where there is no handler's:
// an RFC 9457 problem.
func problem(status int, detail string) []byte {
	body, err := json.Marshal(struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail})
	if err != nil {
		panic(err) // two strings and a number
	}
	answer, err := json.Marshal(events.APIGatewayProxyResponse{
		StatusCode: status,
		Headers:    map[string]string{"Content-Type": "application/problem+json", "Cache-Control": "no-store"},
		Body:       string(body),
	})
	if err != nil {
		panic(err) // the same
	}
	return answer
}
