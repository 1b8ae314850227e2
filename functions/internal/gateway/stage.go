package gateway

import (
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// pathV2 is the path that the API's route matched, without what an API puts before it:
// a stage's name.
func pathV2(event *events.APIGatewayV2HTTPRequest) string {
	if _, pattern, ok := strings.Cut(event.RouteKey, " "); ok {
		if path, ok := fill(pattern, event.PathParameters); ok {
			return path
		}
	}
	path := event.RawPath
	if path == "" {
		path = event.RequestContext.HTTP.Path
	}
	return trimSegment(path, event.RequestContext.Stage)
}

// pathV1 is the path that the API's resource matched, without what an API puts before
// it: a stage's name (HTTP API), or the base path of a custom domain (REST API).
func pathV1(event *events.APIGatewayProxyRequest) string {
	if path, ok := fill(event.Resource, event.PathParameters); ok {
		return path
	}
	return trimSegment(event.Path, event.RequestContext.Stage)
}

// fill puts parameters into a route's pattern: /v1/{proxy+} and check make /v1/check. It
// fails for what is no pattern, as $default, and when a parameter is missing.
func fill(pattern string, parameters map[string]string) (string, bool) {
	if !strings.HasPrefix(pattern, "/") {
		return "", false
	}
	var path strings.Builder
	for {
		literal, rest, found := strings.Cut(pattern, "{")
		path.WriteString(literal)
		if !found {
			return path.String(), true
		}
		name, rest, found := strings.Cut(rest, "}")
		value, ok := parameters[strings.TrimSuffix(name, "+")]
		if !found || !ok {
			return "", false
		}
		path.WriteString(value)
		pattern = rest
	}
}

// trimSegment returns the path without its first segment, if that is the given one.
func trimSegment(path, segment string) string {
	rest, ok := strings.CutPrefix(path, "/"+segment)
	if segment == "" || !ok || rest != "" && rest[0] != '/' {
		return path
	}
	return "/" + strings.TrimPrefix(rest, "/")
}
