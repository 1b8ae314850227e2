package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

// answerV2 answers an HTTP API's event in payload format 2.0.
func (h *Handler) answerV2(ctx context.Context, payload []byte) ([]byte, error) {
	var event events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	// Without a method the adapter would make it a GET.
	if event.RequestContext.HTTP.Method == "" {
		return nil, fmt.Errorf("%w: requestContext.http.method is missing", errEvent)
	}
	if a := event.RequestContext.Authorizer; a != nil && a.IAM != nil && a.IAM.UserARN != "" {
		ctx = h.byIAM(ctx)
	}
	original := original{
		path:   pathV2(&event),
		host:   event.RequestContext.DomainName,
		caller: event.RequestContext.HTTP.SourceIP,
		header: headerV2(&event),
	}
	event.RawPath = original.escapedPath()
	var rec recorder
	adapter := httpadapter.NewV2(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec.serve(h.next, w, original.restore(r))
	}))
	response, err := adapter.ProxyWithContext(ctx, event)
	if err != nil {
		return nil, rec.blame(err)
	}
	return json.Marshal(response)
}

// answerV1 answers a REST API's event, or an HTTP API's in payload format 1.0.
func (h *Handler) answerV1(ctx context.Context, payload []byte) ([]byte, error) {
	var event events.APIGatewayProxyRequest
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	if event.RequestContext.Identity.UserArn != "" {
		ctx = h.byIAM(ctx)
	}
	original := original{
		path:   pathV1(&event),
		host:   event.RequestContext.DomainName,
		caller: event.RequestContext.Identity.SourceIP,
		header: headerV1(&event),
	}
	event.Path = original.escapedPath()
	var rec recorder
	adapter := httpadapter.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec.serve(h.next, w, original.restore(r))
	}))
	response, err := adapter.ProxyWithContext(ctx, event)
	if err != nil {
		return nil, rec.blame(err)
	}
	return json.Marshal(response)
}
