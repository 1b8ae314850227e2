package gateway

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// An original is what an event says of its request, where the adapter says it otherwise.
type original struct {
	path   string
	host   string
	caller string
	header http.Header
}

// escapedPath is the path as it may stand in a URL. The adapter parses what it is given
// as one: an unescaped ? or % of a path that API Gateway decoded would end it or break it.
func (o *original) escapedPath() string {
	return (&url.URL{Path: o.path}).EscapedPath()
}

// restore puts the event's own words into the request.
func (o *original) restore(r *http.Request) *http.Request {
	r.Host = o.host
	r.Header = o.header
	r.RemoteAddr = ""
	if o.caller != "" {
		// A port as net/http always has one: net.SplitHostPort fails without. 0, for it is not known.
		r.RemoteAddr = net.JoinHostPort(o.caller, "0")
	}
	return r
}

// headerV2 is the header of a format 2.0 event, each value whole: the adapter splits
// them at commas, which structured fields, dates and quoted strings have inside.
func headerV2(event *events.APIGatewayV2HTTPRequest) http.Header {
	header := make(http.Header, len(event.Headers)+1)
	for name, value := range event.Headers {
		header.Set(name, value)
	}
	if len(event.Cookies) > 0 {
		header.Set("Cookie", strings.Join(event.Cookies, "; "))
	}
	return trusted(header)
}

// headerV1 is the header of a REST event: every value of it, or the one value of each
// name where there are no lists (some emulators).
func headerV1(event *events.APIGatewayProxyRequest) http.Header {
	header := make(http.Header, len(event.Headers))
	for name, values := range event.MultiValueHeaders {
		for _, value := range values {
			header.Add(name, value)
		}
	}
	if len(header) == 0 {
		for name, value := range event.Headers {
			header.Add(name, value)
		}
	}
	return trusted(header)
}

// trusted removes what callers must not say: the header in which the adapter's users
// look for API Gateway's own words, and the host, which is the request's as in net/http.
func trusted(header http.Header) http.Header {
	for name := range header {
		if strings.HasPrefix(name, "X-Golambdaproxy-") {
			delete(header, name)
		}
	}
	header.Del("Host")
	return header
}
