package dynamotest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"
)

// Proxy returns the address of a server before the shared one, that has change edit the
// headers of each answer. A Date that change deletes is not sent.
func Proxy(tb testing.TB, change func(http.Header)) string {
	tb.Helper()
	target, err := url.Parse(Endpoint(tb))
	if err != nil {
		tb.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ModifyResponse = func(r *http.Response) error {
		change(r.Header)
		return nil
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil // else net/http sends its own
		forward.ServeHTTP(w, r)
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// Ahead moves the Date of an answer: it is what a server sends whose clock is ahead of
// the true time by d, or behind when d is negative. Of d full seconds count.
func Ahead(h http.Header, d time.Duration) {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		h.Set("Date", date.Add(d).Format(http.TimeFormat))
	}
}
