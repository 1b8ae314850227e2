package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type checkOptions struct {
	to      server
	asked   asked
	maxWait time.Duration
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
			return o.to.explained(check(c.Context(), c.OutOrStdout(), o, args[0], args[1]))
		},
	}
	c.ValidArgsFunction = firstArg(o.to.names(tenantsPath), false)
	o.to.flags(c)
	o.asked.flags(c)
	c.Flags().Int64Var(&o.asked.cost, "cost", 1, "how many permits; 0 only looks")
	c.Flags().DurationVar(&o.maxWait, "max-wait", 0, "how long the call would wait for permits, at most 30s")
	return c
}

// What is asked about a call, beside tenant and resource.
type asked struct {
	subject    string
	attributes map[string]string
	cost       int64
}

func (a *asked) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&a.subject, "subject", "", "who calls, as user:42")
	f.StringToStringVar(&a.attributes, "attribute", nil, "what else is known of the call, as ip=203.0.113.9")
}

// body is what a check sends.
func (a *asked) body(tenant, resource string, maxWait time.Duration) any {
	return struct {
		Tenant     string            `json:"tenant"`
		Resource   string            `json:"resource"`
		Subject    string            `json:"subject,omitempty"`
		Attributes map[string]string `json:"attributes,omitempty"`
		Cost       int64             `json:"cost"`
		MaxWait    int64             `json:"max_wait_ms,omitempty"`
	}{tenant, resource, a.subject, a.attributes, a.cost, (maxWait + time.Millisecond - 1).Milliseconds()}
}

// An answer is what of a check's answer is printed.
type answer struct {
	Allowed    *bool  `json:"allowed"`
	Limit      string `json:"limit"`
	Remaining  int64  `json:"remaining"`
	RetryAfter int64  `json:"retry_after_ms"`
	Wait       int64  `json:"wait_ms"`
	Reason     string `json:"reason"`
	Source     string `json:"source"`
	Degraded   string `json:"degraded"`
	Never      bool   `json:"never"`
}

func check(ctx context.Context, out io.Writer, o checkOptions, tenant, resource string) error {
	answered, err := o.to.post(ctx, "/v1/check", o.asked.body(tenant, resource, o.maxWait))
	if err != nil {
		return err
	}
	// A refusal is an answer that says allowed: false; other problems do not say.
	var a answer
	if err := answered.Decode(&a); err != nil {
		return err
	}
	if a.Allowed == nil {
		return answered.Problem()
	}
	if o.to.asJSON {
		err = printAnswer(out, answered)
	} else {
		_, err = fmt.Fprintln(out, a)
	}
	if err == nil && !*a.Allowed {
		return exitError(exitRefused)
	}
	return err
}

// String says an answer in one line.
func (a answer) String() string {
	var b strings.Builder
	switch {
	case *a.Allowed && a.Limit == "":
		b.WriteString("allowed: no limit applies")
	case *a.Allowed:
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
