package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Whatever an administrator sends, the answer is a whole one, and never that we failed.
func FuzzAdminAnswers(f *testing.F) {
	f.Add(uint8(3), "acme", "", `{"plan":"free","limits":[{"name":"n","algorithm":"token_bucket","quota":5,"period":"1s"}]}`, `"1"`)
	f.Add(uint8(2), "a b", "limit=1&cursor=x", "", "")
	f.Add(uint8(7), "free", "dry_run=true", `{"limits":[{"by":["subject"],"match":{"attributes":{"ip":"*"}}}]}`, "*")
	f.Add(uint8(12), "acme", "", `{"scopes":["check:own"],"expires_in":"1h"}`, "")
	f.Add(uint8(21), "acme", "subject=a&attributes.ip=b", "", "")
	f.Add(uint8(22), "acme", "", `{"subject":"","limit":"per-user","attributes":{"ip":"::1"}}`, "")
	f.Add(uint8(23), "acme", "", `{"tenant":"acme","resource":"r","cost":2147483647}`, "")
	f.Add(uint8(25), "", "dry_run=true", `{"plans":{"p":{}},"tenants":{"t":{"plan":"p"}},"default_plan":"p"}`, "*")
	f.Fuzz(func(t *testing.T, route uint8, name, query, body, match string) {
		o := furnished(t)
		r := adminRoutes[int(route)%len(adminRoutes)]
		at := url.PathEscape(name)
		path := strings.NewReplacer("{tenant}", at, "{plan}", at, "{id}", at).Replace(r.path)
		target, err := url.Parse("/admin/v1/" + path + "?" + query)
		if err != nil {
			return // no request
		}
		request := httptest.NewRequestWithContext(t.Context(), r.method, "/", strings.NewReader(body))
		request.URL = target
		request.Header = http.Header{"Authorization": {"Bearer " + adminKey}, "Content-Type": {"application/json"}, "If-Match": {match}}
		if match == "" {
			request.Header.Del("If-Match")
		}
		w := httptest.NewRecorder()
		o.handler.ServeHTTP(w, request)
		if w.Code >= 500 {
			t.Fatalf("%s %s %q is answered %d: %s\n%s", r.method, target, body, w.Code, w.Body, o.log)
		}
		if w.Body.Len() > 0 && strings.HasSuffix(w.Header().Get("Content-Type"), "json") && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s %s %q is answered with no JSON: %s", r.method, target, body, w.Body)
		}
	})
}
