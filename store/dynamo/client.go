package dynamo

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	// Within a region a connection takes a millisecond. What does not answer in
	// these times is better asked again: nothing has been sent yet.
	dialTimeout      = 100 * time.Millisecond
	handshakeTimeout = 200 * time.Millisecond // a small function has little CPU for it

	// answerTimeout is the last resort of calls that set no deadline.
	answerTimeout = 5 * time.Second

	idleConnections = 256
	// maxIdle is how long a connection may have been unused and still be trusted.
	// While a function is frozen the server closes it, and a write into a closed
	// connection is one of unknown outcome: 6 of 30 after a thaw, none with this.
	maxIdle = 5 * time.Second
)

// A ClientOption changes how [NewClient] makes a client.
type ClientOption func(*freshClient)

// WithClientClock sets what the time is to a client, to tell how long its connections
// have been idle; default [time.Now].
func WithClientClock(now func() time.Time) ClientOption {
	return func(c *freshClient) { c.now = now }
}

// NewClient returns a client for short calls: it gives up soon on what has not been
// sent, holds a connection for each of many callers, and trusts none that was idle
// for 5 s. An HTTP client in cfg that is not the SDK's own is taken as it is.
//
// Its calls make at most 3 attempts, 100 ms apart at most. (A [Store] makes its own.)
func NewClient(cfg aws.Config, opts ...ClientOption) *dynamodb.Client {
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = awshttp.NewBuildableClient()
	}
	if b, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		cfg.HTTPClient = newFreshClient(b, opts)
	}
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts = 3
			r.MaxBackoff = 100 * time.Millisecond
		})
		if o.BaseEndpoint != nil {
			o.AccountIDEndpointMode = aws.AccountIDEndpointModeDisabled
			// Emulators, which speak plain HTTP, send no checksum.
			o.DisableValidateResponseChecksum = strings.HasPrefix(*o.BaseEndpoint, "http://")
		}
	})
}

// A freshClient is an HTTP client that closes its idle connections before it uses
// one that may be dead.
type freshClient struct {
	http    *http.Client
	now     func() time.Time
	lastUse atomic.Int64 // Unix nanoseconds
}

func newFreshClient(b *awshttp.BuildableClient, opts []ClientOption) *freshClient {
	tuned := b.
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).
		WithTransportOptions(func(t *http.Transport) {
			t.TLSHandshakeTimeout = handshakeTimeout
			t.ResponseHeaderTimeout = answerTimeout
			t.MaxIdleConns, t.MaxIdleConnsPerHost = idleConnections, idleConnections
		})
	c := &freshClient{now: time.Now, http: &http.Client{
		Transport:     tuned.GetTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, o := range opts {
		o(c)
	}
	return c
}

// Do is what the SDK calls.
func (c *freshClient) Do(req *http.Request) (*http.Response, error) {
	// Wall clock: the monotonic one may stand still while a function is frozen.
	if last := c.lastUse.Swap(c.now().UnixNano()); c.now().UnixNano()-last > int64(maxIdle) {
		c.http.CloseIdleConnections()
	}
	if err := replayable(req); err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	c.lastUse.Store(c.now().UnixNano())
	return resp, err
}

// replayable lets net/http send a request again on another connection when the
// first was found closed before a single byte was written.
func replayable(req *http.Request) error {
	if req.Body == nil || req.GetBody != nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	return nil
}
