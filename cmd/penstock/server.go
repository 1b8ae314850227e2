package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
)

// A server is a Penstock to call.
type server struct {
	url, key string
	// keys are the variables that may have the key, the first that is set.
	keys   []string
	asJSON bool
}

// flags are those of a command that calls with a key of PENSTOCK_KEY.
func (s *server) flags(c *cobra.Command) { s.flagsOf(c, "PENSTOCK_KEY") }

// adminFlags are those of a command that administers.
func (s *server) adminFlags(c *cobra.Command) { s.flagsOf(c, "PENSTOCK_ADMIN_KEY", "PENSTOCK_KEY") }

func (s *server) flagsOf(c *cobra.Command, keys ...string) {
	s.keys = keys
	f := c.Flags()
	f.StringVar(&s.url, "url", cmp.Or(os.Getenv("PENSTOCK_URL"), "http://127.0.0.1:8080"), "where Penstock is; PENSTOCK_URL sets the default")
	f.StringVar(&s.key, "key", "", "key to call with (default "+strings.Join(keys, ", else ")+")")
	f.BoolVar(&s.asJSON, "json", false, "print the answer as it came, in JSON")
}

// keyIn returns the key, and where it was found.
func (s *server) keyIn() (key, where string) {
	if s.key != "" {
		return s.key, "--key"
	}
	for _, name := range s.keys {
		if key := os.Getenv(name); key != "" {
			return key, name
		}
	}
	return "", ""
}

func (s *server) client() (*adminclient.Client, error) {
	u, err := url.Parse(s.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageError{fmt.Errorf("--url %q is no address: write it as http://127.0.0.1:8080", s.url)}
	}
	key, _ := s.keyIn()
	// The address of administration is that of its Penstock too.
	root := strings.TrimSuffix(strings.TrimRight(s.url, "/"), strings.TrimRight(adminclient.AdminRoot, "/"))
	return &adminclient.Client{URL: root, Key: key}, nil
}

// post sends a body to one of the doors that decide, once: whatever it answers is an answer.
func (s *server) post(ctx context.Context, path string, body any) (adminclient.Answer, error) {
	client, err := s.client()
	if err != nil {
		return adminclient.Answer{}, err
	}
	data, err := json.Marshal(body)
	if err != nil {
		return adminclient.Answer{}, err
	}
	return client.Send(ctx, adminclient.Request{Method: http.MethodPost, Path: path, Body: data})
}

// explained adds what to do to an error of a call.
func (s *server) explained(err error) error {
	p, answered := errors.AsType[*adminclient.ProblemError](err)
	unreachable, notSent := errors.AsType[*url.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted before the answer came: a change that was sent is made as a whole or not at all, look which")
	case notSent:
		return fmt.Errorf("%s cannot be reached: %w (is penstock serve running? --url says where)", s.url, unreachable.Err)
	case answered && (p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden):
		return fmt.Errorf("%w\n%s", err, s.remedy(p.Status))
	}
	return err
}

// remedy says what to do about a key that is refused.
func (s *server) remedy(status int) string {
	_, where := s.keyIn()
	wanted := "one with the scope check:any, or the tenant's own"
	if s.keys[0] == "PENSTOCK_ADMIN_KEY" {
		wanted = "one with the scope admin, or the PENSTOCK_ADMIN_KEY that the server has; penstock serve prints one when it has none"
	}
	switch {
	case where == "":
		return fmt.Sprintf("No key was sent: give --key, or set %s. It must be %s.", s.keys[0], wanted)
	case status == http.StatusForbidden:
		return fmt.Sprintf("The key in %s is not enough: it must be %s.", where, wanted)
	}
	return fmt.Sprintf("The key in %s is none that this server knows, or does not work any more: it must be %s.", where, wanted)
}
