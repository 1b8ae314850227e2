package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed43908478/penstock/store/dynamo"
)

// A fleet is several penstock serve processes on one table.
type fleet struct {
	urls      []string
	processes []*exec.Cmd
	client    *http.Client
}

// tables are those that the processes use.
var tables = dynamo.Tables{State: "penstock-state", Config: "penstock-config"}

// config has a limit for each measurement, chosen by the resource.
func (s settings) config() string { return fmt.Sprintf(config, s.period) }

const config = `
plans:
  measured:
    limits:
      - {name: bucket, match: {resource: bucket}, by: [subject], algorithm: token_bucket, quota: 100, period: day, on_store_error: deny}
      - {name: log, match: {resource: log}, by: [subject], algorithm: sliding_window_log, quota: 100, period: hour, on_store_error: deny}
      - {name: window, match: {resource: window}, by: [subject], algorithm: fixed_window, quota: 100, period: day, on_store_error: deny}
      - {name: counter, match: {resource: counter}, by: [subject], algorithm: sliding_window_counter, quota: 100, period: day, on_store_error: deny}
      - {name: refill, match: {resource: refill}, by: [subject], algorithm: interval_refill, quota: 100, period: day, on_store_error: deny}
      - {name: leaky, match: {resource: leaky}, by: [subject], algorithm: leaky_bucket, quota: 100, period: day, on_store_error: deny}
      - {name: subwindows, match: {resource: subwindows}, by: [resource, subject], algorithm: sliding_window_log, resolution: 60, quota: 100, period: hour, on_store_error: deny}
      - {name: slots, match: {resource: slots}, by: [resource, subject], algorithm: concurrency, quota: 100, ttl: 1h, on_store_error: deny}
      - {name: rate, match: {resource: rate}, by: [subject], algorithm: token_bucket, quota: 50, period: 1s, burst: 50, on_store_error: deny}
      - {name: lossy, match: {resource: lossy}, by: [subject], algorithm: token_bucket, quota: 10000, period: 24h, on_store_error: deny}
      - {name: local, match: {resource: local}, by: [subject], algorithm: token_bucket, quota: 100, period: 1s, on_store_error: local}
      - {name: interval, match: {resource: interval}, by: [resource, subject], algorithm: interval_refill, quota: 10, period: %s, on_store_error: deny}
      - {name: away-bucket, match: {resource: away-bucket}, by: [resource, subject], algorithm: token_bucket, quota: 80, period: day, on_store_error: local}
      - {name: away-log, match: {resource: away-log}, by: [resource, subject], algorithm: sliding_window_log, quota: 80, period: hour, on_store_error: local}
      - {name: away-window, match: {resource: away-window}, by: [resource, subject], algorithm: fixed_window, quota: 80, period: day, on_store_error: local}
      - {name: away-refill, match: {resource: away-refill}, by: [resource, subject], algorithm: interval_refill, quota: 80, period: day, on_store_error: local}
      - {name: away-few, match: {resource: away-few}, by: [resource, subject], algorithm: token_bucket, quota: 5, period: day, on_store_error: local}
tenants:
  acme: {plan: measured}
`

// build compiles penstock into a folder, and puts its configuration beside it.
func build(ctx context.Context, folder, config string) (binary string, err error) {
	binary = filepath.Join(folder, "penstock")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/seed43908478/penstock/cmd/penstock")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, os.WriteFile(filepath.Join(folder, "penstock.yaml"), []byte(config), 0o600)
}

// launch starts n processes and waits until they listen.
func launch(ctx context.Context, binary string, n int, endpoint string) (*fleet, error) {
	f := &fleet{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}, Timeout: 30 * time.Second}}
	for range n {
		cmd := exec.CommandContext(ctx, binary, "serve", "--addr", "127.0.0.1:0", "--store", "dynamodb", "--create-tables",
			"--config", filepath.Join(filepath.Dir(binary), "penstock.yaml"))
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+endpoint, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
			fmt.Sprintf("PENSTOCK_MAX_INSTANCES=%d", n), "PENSTOCK_ADMIN_KEY="+adminKey, "PENSTOCK_SECRET=for measurements only")
		log, err := cmd.StderrPipe()
		if err != nil {
			return f, err
		}
		if err := cmd.Start(); err != nil {
			return f, err
		}
		f.processes = append(f.processes, cmd)
		url, err := listening(log)
		if err != nil {
			return f, err
		}
		f.urls = append(f.urls, url)
	}
	return f, nil
}

var listens = regexp.MustCompile(`msg=listening url=(\S+)`)

// listening reads a log until it says where the process listens, and discards the rest.
func listening(log io.Reader) (string, error) {
	var seen bytes.Buffer
	lines := bufio.NewScanner(io.TeeReader(log, &seen))
	for lines.Scan() {
		if found := listens.FindStringSubmatch(lines.Text()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return found[1], nil
		}
	}
	return "", fmt.Errorf("a process did not start:\n%s", &seen)
}

func (f *fleet) stop() {
	for _, p := range f.processes {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// An answer is what of a check's answer is measured.
type answer struct {
	status  int
	took    time.Duration
	Allowed bool   `json:"allowed"`
	Retry   int64  `json:"retry_after_ms"`
	Reset   int64  `json:"reset_after_ms"`
	Source  string `json:"source"`
	Reason  string `json:"reason"`
	Title   string `json:"title"`
	Outcome string `json:"outcome"`
	Left    int64  `json:"remaining"`
	// Degraded says which rung of the fallback answered.
	Degraded string `json:"degraded"`
	Limits   []struct {
		Quota int `json:"quota"`
	} `json:"limits"`
}

// said tells answers apart, as in "429 Quota Exceeded quota memory known".
func (a answer) said() string {
	parts := []string{strconv.Itoa(a.status), a.Title, a.Reason, a.Source, a.Degraded, a.Outcome}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// check asks the i-th process.
func (f *fleet) check(ctx context.Context, i int, resource, subject string) (answer, error) {
	return f.send(ctx, i, fmt.Sprintf(`{"tenant":"acme","resource":%q,"subject":%q}`, resource, subject))
}

// send posts a check to the i-th process.
func (f *fleet) send(ctx context.Context, i int, body string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.urls[i%len(f.urls)]+"/v1/check", bytes.NewReader([]byte(body)))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	start := time.Now()
	resp, err := f.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{status: resp.StatusCode}
	err = json.NewDecoder(resp.Body).Decode(&a)
	a.took = time.Since(start)
	return a, err
}
