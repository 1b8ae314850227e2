package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// A server is a Penstock to call.
type server struct{ url, key string }

func (s *server) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.url, "url", cmp.Or(os.Getenv("PENSTOCK_URL"), "http://127.0.0.1:8080"), "where Penstock is; PENSTOCK_URL sets the default")
	f.StringVar(&s.key, "key", "", "key to call with (default PENSTOCK_KEY)")
}

// post sends a body, and returns the answer as it came and in the form that is given.
func (s *server) post(ctx context.Context, path string, body []byte, answer any) (status int, data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(s.url, "/")+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, usageError{err}
	}
	r.Header.Set("Content-Type", "application/json")
	if key := cmp.Or(s.key, os.Getenv("PENSTOCK_KEY")); key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, fmt.Errorf("%w (is penstock serve running? --url says where)", err)
	}
	defer resp.Body.Close()
	if data, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20)); err != nil {
		return 0, nil, err
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return 0, nil, fmt.Errorf("%s is not Penstock: it answered %d and no JSON", s.url, resp.StatusCode)
	}
	return resp.StatusCode, data, nil
}
