package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// administer sends a request to an address below /admin/v1/ of a server; headers are "Name: value".
func (s *server) administer(ctx context.Context, method, address string, body object, header ...string) (answer, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return answer{}, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+"/admin/v1/"+address, bytes.NewReader(data))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+adminKey)
	r.Header.Set("Content-Type", "application/json")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	a := answer{status: response.StatusCode, header: map[string]string{}}
	for name := range response.Header {
		a.header[strings.ToLower(name)] = response.Header.Get(name)
	}
	if a.status == http.StatusNoContent {
		return a, nil
	}
	return a, json.NewDecoder(response.Body).Decode(&a.body)
}

func (s *server) admin(t *testing.T, method, address string, body object, header ...string) answer {
	t.Helper()
	a, err := s.administer(t.Context(), method, address, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// acmeWith is a tenant with a limit of its own.
func acmeWith(daily int) object {
	return object{"plan": "free", "limits": []object{{"name": "daily", "algorithm": "fixed_window", "quota": daily, "period": "day"}}}
}

// A hundred administrators on two servers replace the same revision of a tenant: one of them does, each time.
func TestOneOfAHundredWins(t *testing.T) {
	const racers, rounds = 100, 3
	d := deploy(t, limited(bucket(5)))
	env := append(slices.Clone(d.env), awsEnv...)
	servers := []*server{serve(t, env, "--store", "dynamodb", "--config", plan(t, "{name: a, algorithm: token_bucket, quota: 5, period: 1s}")), nil}
	servers[1] = serve(t, env, "--store", "dynamodb", "--config", plan(t, "{name: a, algorithm: token_bucket, quota: 5, period: 1s}"))

	tag := servers[0].admin(t, "GET", "tenants/acme", nil).header["etag"]
	before := servers[0].admin(t, "GET", "audit", nil).body["items"].([]any)
	var winners []int
	for round := range rounds {
		var mu sync.Mutex
		statuses := map[int]int{}
		next := ""
		var all sync.WaitGroup
		for i := range racers {
			mine := 1 + round*racers + i
			all.Go(func() {
				a, err := servers[i%len(servers)].administer(t.Context(), "PUT", "tenants/acme", acmeWith(mine), "If-Match: "+tag)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if statuses[a.status]++; a.status == http.StatusOK {
					next, winners = a.header["etag"], append(winners, mine)
				}
			})
		}
		all.Wait()
		if statuses[http.StatusOK] != 1 || statuses[http.StatusPreconditionFailed] != racers-1 {
			t.Fatalf("round %d: statuses %v, want one 200 and the rest 412", round, statuses)
		}
		tag = next
	}

	entries := servers[1].admin(t, "GET", "audit?tenant=acme", nil).body["items"].([]any)
	all := servers[1].admin(t, "GET", "audit", nil).body["items"].([]any)
	if len(all) != len(before)+rounds {
		t.Errorf("%d entries, want %d more than the %d before", len(all), rounds, len(before))
	}
	slices.Reverse(entries)
	var told []int
	last := 0.0
	for _, e := range entries[len(entries)-rounds:] {
		entry := e.(object)
		if version := entry["version"].(float64); version <= last {
			t.Errorf("version %f after %f", version, last)
		} else {
			last = version
		}
		var after struct{ Limits []quota.Limit }
		if err := json.Unmarshal([]byte(entry["after"].(string)), &after); err != nil {
			t.Fatal(err)
		}
		told = append(told, int(after.Limits[0].Quota))
	}
	if !slices.Equal(told, winners) || fmt.Sprintf("%q", fmt.Sprintf("%.0f", last)) != tag {
		t.Errorf("the audit tells of %v, and winners were %v; the last version %.0f, the tag %s", told, winners, last, tag)
	}
}

// A switchboard stands before DynamoDB Local and cuts what is said to the config table.
type switchboard struct {
	url string

	mu     sync.Mutex
	cut    func(operation string) bool // whether a call is cut; nil: none is
	answer bool                        // whether only its answer is lost
}

func newSwitchboard(t *testing.T, endpoint, configTable string) *switchboard {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	b := &switchboard{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		b.mu.Lock()
		cut, lost := b.cut != nil && bytes.Contains(body, []byte(configTable)) && b.cut(operation), b.answer
		b.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case cut && lost:
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case cut:
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

func (b *switchboard) set(answer bool, cut func(operation string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer, b.cut = answer, cut
}

func everything(string) bool { return true }

// With the config table away checks go on by what was known, changes are refused, and
// afterwards everything is as it was.
func TestWithoutTheConfigTableChecksGoOn(t *testing.T) {
	d := deploy(t, limited(bucket(5)))
	b := newSwitchboard(t, dynamotest.Endpoint(t), d.tables.Config)
	s := serve(t, append(environment(b.url, d.tables), awsEnv...), "--store", "dynamodb", "--config", plan(t, "{name: all, algorithm: fixed_window, quota: 3, period: day, on_store_error: deny}"))
	before := s.admin(t, "GET", "config", nil)
	call := object{"tenant": "acme", "resource": "GET /"}
	s.check(t, "", call).want(t, 200, "remaining", 2.0)

	b.set(false, everything)
	for _, c := range []struct {
		method, address string
		body            object
	}{
		{"PUT", "tenants/acme", acmeWith(9)},
		{"PUT", "tenants/new", acmeWith(9)},
		{"DELETE", "tenants/acme", nil},
		{"POST", "tenants/acme/keys", object{}},
		{"POST", "tenants/acme/reset", object{}},
		{"PUT", "config", object{}},
		{"GET", "tenants", nil},
	} {
		header := []string{}
		if c.address == "tenants/acme" || c.address == "config" {
			header = append(header, "If-Match: *")
		}
		a := s.admin(t, c.method, c.address, c.body, header...)
		a.want(t, 503, "type", "urn:penstock:unavailable")
		if a.header["retry-after"] != "1" || !strings.Contains(a.body["detail"].(string), "table") {
			t.Errorf("%s %s: %v, %v", c.method, c.address, a.header, a.body)
		}
	}
	s.check(t, "", call).want(t, 200, "remaining", 1.0, "degraded", "")
	s.check(t, "", call).want(t, 200, "remaining", 0.0)
	s.check(t, "", call).want(t, 429, "limit", "all")

	b.set(false, nil)
	after := s.admin(t, "GET", "config", nil)
	if after.header["etag"] != before.header["etag"] || fmt.Sprint(after.body) != fmt.Sprint(before.body) {
		t.Errorf("it was %s %v, and is %s %v", before.header["etag"], before.body, after.header["etag"], after.body)
	}
	s.admin(t, "PUT", "tenants/acme", acmeWith(9), "If-Match: *").want(t, 200)
}

// Wherever a change is torn off, and whether or not its write was made: it is there as a whole, with its
// entry in the audit, or not at all; and what was told is so.
func TestATornChangeIsWholeOrNotThere(t *testing.T) {
	d := deploy(t, limited(bucket(5)))
	b := newSwitchboard(t, dynamotest.Endpoint(t), d.tables.Config)
	s := serve(t, append(environment(b.url, d.tables), awsEnv...), "--store", "dynamodb", "--config", plan(t, "{name: all, algorithm: fixed_window, quota: 3, period: day}"))
	seen := map[int]int{}
	for n, lost := 1, false; n <= 4; n++ {
		for range 2 {
			lost = !lost
			quotaOf := 10*n + 1
			if lost {
				quotaOf++
			}
			before := d.audit(t)
			writes := 0
			b.set(lost, func(operation string) bool {
				if operation != "GetItem" && operation != "Query" {
					writes++
				}
				return writes >= n
			})
			a := s.admin(t, "PUT", "tenants/acme", acmeWith(quotaOf), "If-Match: *")
			b.set(false, nil)
			seen[a.status]++
			after := d.audit(t)
			acme, _, err := d.config.Tenant(t.Context(), "acme")
			if err != nil {
				t.Fatal(err)
			}
			made := len(acme.Limits) > 0 && acme.Limits[0].Quota == int64(quotaOf)
			if made != (len(after) == len(before)+1) || made && after[0].Version != acme.Revision {
				t.Errorf("torn at write %d, answer lost %t: made %t, and %d entries after %d", n, lost, made, len(after), len(before))
			}
			switch detail, _ := a.body["detail"].(string); {
			case a.status == 200 && !made:
				t.Errorf("torn at write %d, answer lost %t: it was told that it is made", n, lost)
			case a.status == 503 && made && strings.Contains(detail, "nothing was changed"):
				t.Errorf("torn at write %d, answer lost %t: it is made, and was told: %s", n, lost, detail)
			case a.status != 200 && a.status != 503:
				t.Errorf("torn at write %d, answer lost %t: status %d: %v", n, lost, a.status, a.body)
			}
		}
	}
	if seen[200] == 0 || seen[503] == 0 {
		t.Errorf("statuses %v: was anything torn, and anything not?", seen)
	}
}

func (d *deployment) audit(t *testing.T) []configstore.Entry {
	t.Helper()
	entries, _, err := d.config.Audit(t.Context(), configstore.AuditFilter{})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
