package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/activity"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/configstore/memory"
)

func TestActivity(t *testing.T) {
	now := time.Date(2026, time.March, 14, 12, 0, 7, 0, time.UTC)
	known := activity.New()
	known.Add(now, "acme", "per-user", true)
	known.Add(now, "acme", "per-user", false)
	const key = "0123456789abcdef"
	get := func(a *activity.Activity, query string) *httptest.ResponseRecorder {
		h := NewAdmin(AdminOptions{
			Config: configstore.New(memory.New(), configstore.Options{}), Secret: []byte("s"), Key: key, Activity: a,
			Now: func() time.Time { return now },
		})
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/admin/v1/activity"+query, nil)
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := get(known, "?tenant=acme&minutes=1")
	want := `{"step_ms":10000,"to":"2026-03-14T12:00:10Z","series":[{"limit":"per-user","allowed":[0,0,0,0,0,1],"refused":[0,0,0,0,0,1]}]}`
	if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for query, status := range map[string]int{
		"":                        http.StatusBadRequest,
		"?tenant=acme&minutes=61": http.StatusBadRequest,
		"?tenant=acme&minutes=":   http.StatusBadRequest,
		"?tenant=acme&minutes=x":  http.StatusBadRequest,
		"?tenant=acme&hours=1":    http.StatusBadRequest,
		"?tenant=globex":          http.StatusOK,
	} {
		if w := get(known, query); w.Code != status {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	if w := get(nil, "?tenant=acme"); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "CloudWatch") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
