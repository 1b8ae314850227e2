// Package adminclient calls a Penstock over HTTP, for the command line.
//
//	c := &adminclient.Client{URL: "http://127.0.0.1:8080", Key: key}
//	var t adminclient.Tenant
//	answer, err := c.Get(ctx, "tenants/acme", nil, &t) // err may be a *ProblemError
package adminclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// AdminRoot is what the addresses of administration begin with.
const AdminRoot = "/admin/v1/"

const (
	// callTime is how long a call may take: a configuration of 50,000 tenants takes seconds.
	callTime = 2 * time.Minute
	// maxAnswer is how many bytes of an answer are read: a whole configuration is 32 MB at most.
	maxAnswer = 64 << 20
	// maxWait is how long a server may ask to be left alone before the one more try.
	maxWait = 5 * time.Second
)

// A Client calls one Penstock. It is safe for concurrent use.
type Client struct {
	// URL is where it is, without a slash at the end: "http://127.0.0.1:8080".
	URL string
	// Key is sent with every call, if there is one.
	Key string
}

// A Request is what is asked.
type Request struct {
	Method string
	// Path is that of the address: "/v1/check".
	Path  string
	Query url.Values
	// Header is beside what every request has.
	Header http.Header
	// Body is sent as it is, as JSON; nil for none.
	Body []byte
}

// An Answer is what came back, whatever its status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// ErrNotPenstock says that something else answers at the address.
var ErrNotPenstock = errors.New("is not Penstock")

// Send makes a request, once. The error says why there is no answer.
func (c *Client) Send(ctx context.Context, r Request) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	address := c.URL + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	sent, err := http.NewRequestWithContext(ctx, r.Method, address, bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, err
	}
	maps.Copy(sent.Header, r.Header)
	if r.Body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		sent.Header.Set("Authorization", "Bearer "+c.Key)
	}
	got, err := http.DefaultClient.Do(sent)
	if err != nil {
		return Answer{}, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer))
	if err != nil {
		return Answer{}, fmt.Errorf("the answer ended early: %w", err)
	}
	if text := r.Header.Get("Accept") == plainText && got.StatusCode == http.StatusOK; !text && len(body) > 0 && !json.Valid(body) {
		return Answer{}, fmt.Errorf("%s %w: it answered %d and no JSON", c.URL, ErrNotPenstock, got.StatusCode)
	}
	return Answer{got.StatusCode, got.Header, body}, nil
}

// ETag is that of the answer; "" when it has none.
func (a Answer) ETag() string { return a.Header.Get("ETag") }

// Problem is what the answer says went wrong; nil when nothing did.
func (a Answer) Problem() *ProblemError {
	if a.Status < 300 {
		return nil
	}
	p := &ProblemError{RequestID: a.Header.Get("X-Request-Id")}
	_ = json.Unmarshal(a.Body, p) // what cannot be read is left out
	p.Status = a.Status
	return p
}

// Decode reads the answer. What it has beyond the members of into is left out.
func (a Answer) Decode(into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("the answer %w: %w", ErrNotPenstock, err)
	}
	return nil
}

// DecodeAll is Decode for what is to be sent back: it fails when there is a member
// that would be lost.
func (a Answer) DecodeAll(into any) error {
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the server knows what this penstock does not, and it would be lost (%w): use the version of the server", err)
	}
	return nil
}

// Get asks for what is at a path below [AdminRoot].
func (c *Client) Get(ctx context.Context, path string, query url.Values) (Answer, error) {
	return c.call(ctx, Request{Method: http.MethodGet, Path: AdminRoot + path, Query: query})
}

// Put sends what is to be there. ifMatch is the ETag of what it replaces; "" creates.
func (c *Client) Put(ctx context.Context, path string, query url.Values, ifMatch string, body any) (Answer, error) {
	h := http.Header{}
	if ifMatch != "" {
		h.Set("If-Match", ifMatch)
	}
	return c.callWith(ctx, Request{Method: http.MethodPut, Path: AdminRoot + path, Query: query, Header: h}, body)
}

// PostForText is Post to what can answer in words too, and does.
func (c *Client) PostForText(ctx context.Context, path string, body any) (Answer, error) {
	return c.callWith(ctx, Request{Method: http.MethodPost, Path: AdminRoot + path, Header: http.Header{"Accept": {plainText}}}, body)
}

const plainText = "text/plain"

// Post sends a request that is not repeated.
func (c *Client) Post(ctx context.Context, path string, body any) (Answer, error) {
	return c.callWith(ctx, Request{Method: http.MethodPost, Path: AdminRoot + path}, body)
}

// Delete deletes what is at a path.
func (c *Client) Delete(ctx context.Context, path string) (Answer, error) {
	return c.call(ctx, Request{Method: http.MethodDelete, Path: AdminRoot + path})
}

func (c *Client) callWith(ctx context.Context, r Request, body any) (a Answer, err error) {
	if r.Body, err = json.Marshal(body); err != nil {
		return Answer{}, err
	}
	return c.call(ctx, r)
}

// call makes a request of an administrator, and once more when the server asks for that
// with Retry-After. A POST is not repeated: what it made may be there. The error of an
// answer that says no is a [*ProblemError].
func (c *Client) call(ctx context.Context, r Request) (Answer, error) {
	a, err := c.Send(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	seconds, _ := strconv.Atoi(a.Header.Get("Retry-After"))
	if wait := time.Duration(seconds) * time.Second; a.Status == http.StatusServiceUnavailable && r.Method != http.MethodPost && wait > 0 && wait <= maxWait {
		if err := pause(ctx, wait); err != nil {
			return Answer{}, err
		}
		if a, err = c.Send(ctx, r); err != nil {
			return Answer{}, err
		}
	}
	if p := a.Problem(); p != nil {
		return a, p
	}
	return a, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
