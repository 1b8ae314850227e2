package dynamo

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// A sending tells how far a request came, which is what an error without an answer
// means: a write that was not sent was surely not applied.
type sending struct {
	asked     atomic.Bool // for a connection
	connected atomic.Bool // and so the request may have gone
}

// tried reports whether a connection was asked for.
func (s *sending) tried() bool { return s.asked.Load() }

// maybe reports whether the server may have the request. What is written to a
// connection is buffered here and there, so whoever has one may have sent it.
func (s *sending) maybe() bool { return s.connected.Load() }

// option makes s observe a call of the client.
func (s *sending) option(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, s.observe) }

// observe attaches s to the last step before the HTTP client, so that connections
// for credentials are not mistaken for ours.
func (s *sending) observe(stack *middleware.Stack) error {
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { s.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { s.connected.Store(true) },
	}
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("PenstockSending",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
			middleware.DeserializeOutput, middleware.Metadata, error,
		) {
			return next.HandleDeserialize(httptrace.WithClientTrace(ctx, trace), in)
		}), middleware.After)
}
