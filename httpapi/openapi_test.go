package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/go-json-experiment/json"
)

// A description is openapi.yaml, read so that requests and answers can be held against it.
type description struct {
	document *openapi3.T
	router   routers.Router
}

// described reads openapi.yaml. Callers ignore members that they do not know, and so the
// file does not forbid them; in the tests a member that is not in the file is a fault of it.
var described = sync.OnceValue(func() *description {
	var raw map[string]any
	if err := json.Unmarshal(openapiJSON(), &raw); err != nil {
		panic(err)
	}
	closeAnswers(raw)
	data, err := json.Marshal(raw)
	if err != nil {
		panic(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		panic(err)
	}
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		panic(err)
	}
	for _, page := range []string{"text/html", "text/css", "text/javascript"} {
		openapi3filter.RegisterBodyDecoder(page, openapi3filter.PlainBodyDecoder)
	}
	return &description{document, router}
})

// closeAnswers has the schemas of all answers allow only the members that they name.
func closeAnswers(document map[string]any) {
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	var walk func(v any, inAnswer bool) any
	walk = func(v any, inAnswer bool) any {
		switch v := v.(type) {
		case map[string]any:
			for name, child := range v {
				if name == "schema" && inAnswer {
					v[name] = closed(child, schemas, false)
				} else {
					v[name] = walk(child, inAnswer || name == "responses")
				}
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], inAnswer)
			}
		}
		return v
	}
	walk(document["paths"], false)
	walk(document["components"].(map[string]any)["responses"], true)
}

// closed copies a schema with its references resolved. Objects that are a part of another
// schema (of allOf, oneOf) stay open: what has them as parts is closed as a whole.
func closed(v any, schemas map[string]any, part bool) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if ref, ok := s["$ref"].(string); ok {
		return closed(schemas[strings.TrimPrefix(ref, "#/components/schemas/")], schemas, part)
	}
	out := map[string]any{}
	for name, child := range s {
		switch name {
		case "properties":
			properties := map[string]any{}
			for member, schema := range child.(map[string]any) {
				properties[member] = closed(schema, schemas, false)
			}
			child = properties
		case "items", "additionalProperties":
			child = closed(child, schemas, false)
		case "allOf", "oneOf", "anyOf":
			parts := []any{}
			for _, schema := range child.([]any) {
				parts = append(parts, closed(schema, schemas, true))
			}
			child = parts
		}
		out[name] = child
	}
	_, isObject := out["properties"]
	_, isWhole := out["allOf"]
	_, isChoice := out["oneOf"]
	if !part && (isObject || isWhole || isChoice) {
		out["unevaluatedProperties"] = false
	}
	return out
}

// conforming is a handler whose every exchange is held against openapi.yaml. All tests of
// this package go through it.
func conforming(t *testing.T, h http.Handler) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read := new(bytes.Buffer)
		if r.Body != nil {
			r.Body = readCloser{io.TeeReader(r.Body, read), r.Body}
		}
		seen := httptest.NewRecorder()
		h.ServeHTTP(seen, r)
		maps.Copy(w.Header(), seen.Header())
		w.WriteHeader(seen.Code)
		_, _ = w.Write(seen.Body.Bytes())
		if err := described().exchange(r, read.Bytes(), seen); err != nil {
			t.Errorf("%s %s is not as openapi.yaml says: %v\n%s\n→ %d %s", r.Method, r.URL, err, cut(read.Bytes()), seen.Code, cut(seen.Body.Bytes()))
		}
	})
}

type readCloser struct {
	io.Reader
	io.Closer
}

func cut(b []byte) []byte { return b[:min(len(b), 500)] }

// exchange returns what is not as the file says.
func (d *description) exchange(r *http.Request, body []byte, w *httptest.ResponseRecorder) error {
	q := r.Clone(context.Background())
	if q.Method == http.MethodHead {
		q.Method = http.MethodGet
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	route, parameters, err := d.router.FindRoute(q)
	if err != nil {
		return notDescribed(err, w)
	}
	in := &openapi3filter.RequestValidationInput{
		Request: q, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true, MultiError: true, IncludeResponseStatus: true,
		},
	}
	if served(w) {
		if err := openapi3filter.ValidateRequest(q.Context(), in); err != nil {
			return errors.Join(errors.New("the request was served"), err)
		}
	}
	if err := d.headers(route, w); err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return nil
	}
	return openapi3filter.ValidateResponse(q.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())), Options: in.Options,
	})
}

// served reports whether a request was taken to be right. Of a batch, some entries may be
// wrong all the same.
func served(w *httptest.ResponseRecorder) bool {
	right := w.Code < 300 || w.Code == http.StatusTooManyRequests
	return right && !bytes.Contains(w.Body.Bytes(), []byte(invalid))
}

// notDescribed checks the answer at an address that is not in the file, or to a method.
func notDescribed(why error, w *httptest.ResponseRecorder) error {
	expected := http.StatusNotFound
	if errors.Is(why, routers.ErrMethodNotAllowed) {
		expected = http.StatusMethodNotAllowed
	}
	if !slices.Contains([]int{expected, http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable}, w.Code) {
		return why
	}
	return nil
}

// headers checks that there are no header fields but those of the file.
func (d *description) headers(route *routers.Route, w *httptest.ResponseRecorder) error {
	response := route.Operation.Responses.Status(w.Code)
	if response == nil {
		return errors.New("this status is not in the file")
	}
	for name := range w.Header() {
		described := name == "Content-Type" && len(response.Value.Content) > 0
		for header := range response.Value.Headers {
			described = described || http.CanonicalHeaderKey(header) == name
		}
		if !described {
			return errors.New("the header " + name + " is not in the file")
		}
	}
	if w.Body.Len() > 0 && len(response.Value.Content) == 0 {
		return errors.New("the file has no body")
	}
	return nil
}
