package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type checkOptions struct {
	to         server
	subject    string
	attributes map[string]string
	cost       int64
	maxWait    time.Duration
	asJSON     bool
}

func newCheck() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check TENANT RESOURCE",
		Short: "Ask whether a call may go on",
		Long:  "Ask whether a call may go on, and charge it. The exit code is 0 when it may, 3 when it may not.",
		Example: "  penstock check acme 'GET /search' --subject user:42\n" +
			"  penstock check acme 'POST /exports' --cost 0        # only look",
		Args: exactly("TENANT", "RESOURCE"),
		RunE: func(c *cobra.Command, args []string) error {
			return check(c.Context(), c.OutOrStdout(), o, args[0], args[1])
		},
	}
	o.to.flags(c)
	f := c.Flags()
	f.StringVar(&o.subject, "subject", "", "who calls, as user:42")
	f.StringToStringVar(&o.attributes, "attribute", nil, "what else is known of the call, as ip=203.0.113.9")
	f.Int64Var(&o.cost, "cost", 1, "how many permits; 0 only looks")
	f.DurationVar(&o.maxWait, "max-wait", 0, "how long the call would wait for permits, at most 30s")
	f.BoolVar(&o.asJSON, "json", false, "print the answer as it came, with the receipt")
	return c
}

// An answer is what of a check's answer is printed.
type answer struct {
	Allowed    bool   `json:"allowed"`
	Limit      string `json:"limit"`
	Remaining  int64  `json:"remaining"`
	RetryAfter int64  `json:"retry_after_ms"`
	Wait       int64  `json:"wait_ms"`
	Reason     string `json:"reason"`
	Source     string `json:"source"`
	Degraded   string `json:"degraded"`
	Never      bool   `json:"never"`
	Detail     string `json:"detail"`
	Title      string `json:"title"`
}

func check(ctx context.Context, out io.Writer, o checkOptions, tenant, resource string) error {
	body, err := json.Marshal(struct {
		Tenant     string            `json:"tenant"`
		Resource   string            `json:"resource"`
		Subject    string            `json:"subject,omitempty"`
		Attributes map[string]string `json:"attributes,omitempty"`
		Cost       int64             `json:"cost"`
		MaxWait    int64             `json:"max_wait_ms,omitempty"`
	}{tenant, resource, o.subject, o.attributes, o.cost, (o.maxWait + time.Millisecond - 1).Milliseconds()})
	if err != nil {
		return err
	}
	var a answer
	status, data, err := o.to.post(ctx, "/v1/check", body, &a)
	if err != nil {
		return err
	}
	if status != http.StatusOK && status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return fmt.Errorf("%s", cmp.Or(a.Detail, a.Title, http.StatusText(status)))
	}
	if o.asJSON {
		_, err = out.Write(append(bytes.TrimSpace(data), '\n'))
	} else {
		_, err = fmt.Fprintln(out, a)
	}
	if err == nil && !a.Allowed {
		return exitError(exitRefused)
	}
	return err
}

// String says an answer in one line.
func (a answer) String() string {
	var b strings.Builder
	switch {
	case a.Allowed && a.Limit == "":
		b.WriteString("allowed: no limit applies")
	case a.Allowed:
		fmt.Fprintf(&b, "allowed: %d left of %s", a.Remaining, a.Limit)
	case a.Never:
		fmt.Fprintf(&b, "refused for ever: more than %s can hold", a.Limit)
	default:
		fmt.Fprintf(&b, "refused by %s (%s), again in %s", a.Limit, a.Reason, time.Duration(a.RetryAfter)*time.Millisecond)
	}
	if a.Wait > 0 {
		fmt.Fprintf(&b, ", wait %s first", time.Duration(a.Wait)*time.Millisecond)
	}
	if a.Degraded != "" {
		fmt.Fprintf(&b, " (degraded: %s)", a.Degraded)
	}
	return b.String()
}
