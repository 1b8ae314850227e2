package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
)

type resetOptions struct {
	to    server
	whose whose
	limit string
	yes   bool
}

func newReset() *cobra.Command {
	var o resetOptions
	c := &cobra.Command{
		Use:   "reset TENANT",
		Short: "Have counts of a tenant begin afresh",
		Long: "Have counts of a tenant begin afresh: those of whom --subject, --resource and --attribute name; with --limit only\n" +
			"that limit's, and alone all counts of it; with no flag all that the tenant has.",
		Example: "  penstock reset acme --subject user:42\n" +
			"  penstock reset acme --limit daily",
		Args: exactly("TENANT"),
		RunE: func(c *cobra.Command, args []string) error { return o.to.explained(o.run(c, args[0])) },
	}
	c.ValidArgsFunction = firstArg(o.to.names(tenantsPath), false)
	o.to.adminFlags(c)
	o.whose.flags(c)
	c.Flags().StringVar(&o.limit, "limit", "", "only the counts of this limit")
	c.Flags().BoolVar(&o.yes, "yes", false, "reset without asking")
	return c
}

func (o *resetOptions) run(c *cobra.Command, tenant string) error {
	body := map[string]any{}
	for name, value := range o.whose.said(c) {
		body[name] = value
	}
	if len(o.whose.attributes) > 0 {
		body["attributes"] = o.whose.attributes
	}
	question := "This resets all counts of tenant " + tenant
	if o.limit != "" {
		question = "This resets all counts of limit " + o.limit + " of tenant " + tenant
		if len(body) > 0 {
			question = "This resets the count of limit " + o.limit
		}
		body["limit"] = o.limit
	} else if len(body) > 0 {
		question = "This resets counts of tenant " + tenant
	}
	client, err := o.to.client()
	if err != nil {
		return err
	}
	s := newScreen(c)
	if err := s.confirm(o.yes, question); err != nil {
		return err
	}
	a, err := client.Post(c.Context(), object(tenantsPath, tenant)+"/reset", body)
	if err != nil {
		return err
	}
	if o.to.asJSON {
		return printAnswer(s.out, a)
	}
	var done adminclient.ResetDone
	if err := a.Decode(&done); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "reset: %s; every instance knows within %s\n", strings.Join(done.Limits, ", "), milliseconds(done.WithinMS))
	return err
}
