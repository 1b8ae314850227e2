package main

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
)

// Whose names a count of a tenant: the parts that a limit can be by.
type whose struct {
	subject, resource string
	attributes        map[string]string
}

func (w *whose) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&w.subject, "subject", "", "of limits by subject: whose count, as user:42")
	f.StringVar(&w.resource, "resource", "", "of limits by resource: which count, as 'GET /search'")
	f.StringToStringVar(&w.attributes, "attribute", nil, "of limits by an attribute: which count, as ip=203.0.113.9")
}

// said are the parts that were said, which may be empty: the count of all who have none.
func (w *whose) said(c *cobra.Command) map[string]string {
	parts := map[string]string{}
	for flag, value := range map[string]string{"subject": w.subject, "resource": w.resource} {
		if c.Flags().Changed(flag) {
			parts[flag] = value
		}
	}
	return parts
}

func newUsage() *cobra.Command {
	var to server
	var w whose
	c := &cobra.Command{
		Use:   "usage TENANT",
		Short: "Print what the limits of a tenant have counted",
		Long: "Print what the limits of a tenant have counted: those of the tenant as a whole, and with flags those of whom they\n" +
			"name. Nothing is charged.",
		Example: "  penstock usage acme --subject user:42",
		Args:    exactly("TENANT"),
		RunE:    func(c *cobra.Command, args []string) error { return to.explained(usage(c, to, &w, args[0])) },
	}
	c.ValidArgsFunction = firstArg(to.names(tenantsPath), false)
	to.adminFlags(c)
	w.flags(c)
	return c
}

func usage(c *cobra.Command, to server, w *whose, tenant string) error {
	query := url.Values{}
	for name, value := range w.said(c) {
		query.Set(name, value)
	}
	for name, value := range w.attributes {
		query.Set("attributes."+name, value)
	}
	client, err := to.client()
	if err != nil {
		return err
	}
	a, err := client.Get(c.Context(), object(tenantsPath, tenant)+"/usage", query)
	if err != nil {
		return err
	}
	if to.asJSON {
		return printAnswer(c.OutOrStdout(), a)
	}
	var u adminclient.Usage
	if err := a.Decode(&u); err != nil {
		return err
	}
	newScreen(c).printUsage(u)
	return nil
}

func (s screen) printUsage(u adminclient.Usage) {
	fmt.Fprintf(s.out, "tenant %s, plan %s, %s\n", u.Tenant, u.Plan, date(u.At))
	rows := make([][]string, len(u.Limits))
	for i, l := range u.Limits {
		state := ""
		switch {
		case l.Over:
			state = "over"
		case l.RetryAfterMS > 0:
			state = "full, again in " + milliseconds(l.RetryAfterMS)
		}
		rows[i] = []string{
			l.Name, strconv.FormatInt(l.Used, 10), strconv.FormatInt(l.Remaining, 10), strconv.FormatInt(l.Capacity, 10),
			milliseconds(l.ResetAfterMS), l.From, state,
		}
	}
	if len(rows) > 0 {
		s.table([]string{"limit", "used", "left", "of", "whole in", "from", ""}, rows)
	}
	for _, l := range u.More {
		fmt.Fprintf(s.out, "%s counts by %s: name whose with %s\n", l.Name, strings.Join(l.By, ", "), flagsFor(l.By))
	}
}

// flagsFor are the flags that name the parts of a limit's by.
func flagsFor(by []string) string {
	flags := map[string]bool{}
	for _, part := range by {
		if name, ok := strings.CutPrefix(part, "attributes."); ok {
			part = "attribute " + name + "=…"
		}
		flags["--"+part] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(flags)), " ")
}

// milliseconds says a duration, a long one in whole seconds, rounded up.
func milliseconds(n int64) string {
	d := time.Duration(n) * time.Millisecond
	if d >= time.Minute {
		d = (d + time.Second - 1).Truncate(time.Second)
	}
	return d.String()
}
