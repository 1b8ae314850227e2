package authorizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// A call is what an event says of a request.
type call struct {
	// arn is the method's, which a policy is about; "" asks for a simple response.
	arn        string
	resource   string
	header     http.Header
	attributes map[string]string
}

var errEvent = errors.New("not an event of an API Gateway authorizer")

// read reads an event. Of type TOKEN it has one header only: the one that the API was told, which
// is taken for the one that is asked for.
func read(payload []byte, header string) (*call, error) {
	var kind struct{ Version, Type, MethodArn, HTTPMethod string }
	if err := json.Unmarshal(payload, &kind); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	switch {
	case kind.Type == "TOKEN" && kind.MethodArn != "":
		return readToken(payload, header)
	case kind.Type == "REQUEST" && kind.Version == "2.0":
		return readV2(payload)
	case kind.Type == "REQUEST" && kind.MethodArn != "" && kind.HTTPMethod != "":
		return readRequest(payload)
	}
	return nil, fmt.Errorf("%w: it is of type %q and version %q", errEvent, kind.Type, kind.Version)
}

// readToken reads what has a path but no route: the path is the caller's to choose, so of the
// resource there is the method alone, with a * for the route.
func readToken(payload []byte, header string) (*call, error) {
	var e events.APIGatewayCustomAuthorizerRequest
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	m, ok := parseMethod(e.MethodArn)
	if !ok {
		return nil, fmt.Errorf("%w: methodArn is %q", errEvent, e.MethodArn)
	}
	c := &call{arn: e.MethodArn, resource: m.method + " *", header: http.Header{}, attributes: attributes(m.api, m.stage, "")}
	if e.AuthorizationToken != "" {
		c.header.Set(header, e.AuthorizationToken)
	}
	return c, nil
}

// readRequest reads the event of a REST API, or of an HTTP API in payload format 1.0.
func readRequest(payload []byte) (*call, error) {
	var e events.APIGatewayCustomAuthorizerRequestTypeRequest
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	header := make(http.Header, len(e.MultiValueHeaders))
	for name, values := range e.MultiValueHeaders {
		for _, value := range values {
			header.Add(name, value)
		}
	}
	if len(header) == 0 { // an HTTP API, and some emulators
		for name, value := range e.Headers {
			header.Add(name, value)
		}
	}
	route := e.Resource
	if route == "" {
		route = e.RequestContext.ResourcePath
	}
	if route == "" {
		return nil, fmt.Errorf("%w: resource is missing", errEvent)
	}
	ctx := &e.RequestContext
	return &call{
		arn: e.MethodArn, resource: e.HTTPMethod + " " + route, header: header,
		attributes: attributes(ctx.APIID, ctx.Stage, ctx.Identity.SourceIP),
	}, nil
}

// readV2 reads the event of an HTTP API in payload format 2.0.
func readV2(payload []byte) (*call, error) {
	var e events.APIGatewayV2CustomAuthorizerV2Request
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	ctx := &e.RequestContext
	if ctx.HTTP.Method == "" || e.RouteKey == "" {
		return nil, fmt.Errorf("%w: routeKey or requestContext.http.method is missing", errEvent)
	}
	header := make(http.Header, len(e.Headers))
	for name, value := range e.Headers {
		header.Add(name, value)
	}
	_, route, ok := strings.Cut(e.RouteKey, " ") // GET /pets/{id}, ANY /pets/{id}
	if !ok {
		route = e.RouteKey // $default
	}
	return &call{
		resource: ctx.HTTP.Method + " " + route, header: header,
		attributes: attributes(ctx.APIID, ctx.Stage, ctx.HTTP.SourceIP),
	}, nil
}

// attributes are what the request context says of a request; what it does not say is left out.
func attributes(api, stage, address string) map[string]string {
	a := map[string]string{}
	for name, value := range map[string]string{"api": api, "stage": stage, "ip": network(address)} {
		if value != "" {
			a[name] = value
		}
	}
	return a
}

// network is whom an address stands for: of IPv6 its /64, for a caller has all of that; "" if
// it is no address, as in the console's tests.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}

// A method is what a method's ARN says: arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH.
type method struct {
	api, stage, method string
	// all is the ARN of all paths.
	all string
}

func parseMethod(arn string) (method, bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return method{}, false
	}
	path := strings.SplitN(parts[5], "/", 4)
	if len(path) < 3 || path[2] == "" {
		return method{}, false
	}
	all := strings.Join(parts[:5], ":") + ":" + strings.Join(path[:3], "/") + "/*"
	return method{api: path[0], stage: path[1], method: path[2], all: all}, true
}
