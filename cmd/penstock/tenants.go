package main

import (
	"errors"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
	"github.com/seed43908478/penstock/quota"
)

const tenantsPath = "tenants"

func newTenants() *cobra.Command {
	return group("tenants", "Tenants: the plan that each has, and limits of its own",
		newTenantsList(), newGet(tenantsPath, "Print a tenant, as set takes it", tenantOf), newTenantsSet(),
		newDelete(tenantsPath, "Delete a tenant", "Delete a tenant, and revoke its keys. That there is none is no error.", "This deletes tenant %s, and revokes its keys"))
}

func newTenantsList() *cobra.Command {
	var prefix, search, plan string
	l := &listing[adminclient.Tenant]{
		path:    func() string { return tenantsPath },
		query:   func() url.Values { return values("prefix", prefix, "search", search, "plan", plan) },
		columns: []string{"tenant", "plan", "own limits"},
		row:     func(t adminclient.Tenant) []string { return []string{t.Name, t.Plan, describeAll(t.Limits)} },
	}
	c := l.command("List tenants, by name")
	f := c.Flags()
	f.StringVar(&prefix, "prefix", "", "only those whose name begins so")
	f.StringVar(&search, "search", "", "only those whose name has this in it")
	f.StringVar(&plan, "plan", "", "only those that have this plan")
	completes(c, "plan", l.to.names(plansPath))
	return c
}

// tenantOf is what set takes of a tenant.
func tenantOf(a adminclient.Answer) (any, error) {
	var t adminclient.Tenant
	if err := a.Decode(&t); err != nil {
		return nil, err
	}
	return t.Tenant, nil
}

type tenantSet struct {
	to     server
	plan   string
	limits limitChange
}

func newTenantsSet() *cobra.Command {
	var o tenantSet
	c := &cobra.Command{
		Use:   "set NAME [FILE]",
		Short: "Create or change a tenant",
		Long: "Create or change a tenant. With a FILE, or - for standard input, it is what that says, in YAML as tenants get\n" +
			"prints it; with flags it stays as it is, but for what they say.",
		Example: "  penstock tenants set acme --plan pro\n" +
			"  penstock tenants set acme --limit 'name: daily, algorithm: token_bucket, quota: 5000, period: day'\n" +
			"  penstock tenants set acme --remove-limit daily\n" +
			"  penstock tenants get acme | sed s/5000/6000/ | penstock tenants set acme -",
		Args: between(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return o.to.explained(o.run(c, args)) },
	}
	c.ValidArgsFunction = firstArg(o.to.names(tenantsPath), true)
	o.to.adminFlags(c)
	c.Flags().StringVar(&o.plan, "plan", "", "the plan it has")
	o.limits.flags(c)
	completes(c, "plan", o.to.names(plansPath))
	return c
}

func (o *tenantSet) run(c *cobra.Command, args []string) error {
	flags := o.plan != "" || !o.limits.empty()
	if flags == (len(args) == 2) {
		return usageError{errors.New("say what it is to be: either a FILE, or --plan, --limit and --remove-limit")}
	}
	client, err := o.to.client()
	if err != nil {
		return err
	}
	path := object(tenantsPath, args[0])
	var t adminclient.Tenant
	was, found, err := find(c, client, path)
	if err != nil {
		return err
	}
	if found {
		if err := was.DecodeAll(&t); err != nil {
			return err
		}
	}
	if flags {
		if o.plan != "" {
			t.Plan = o.plan
		}
		t.Limits, err = o.limits.apply(t.Limits)
	} else {
		t.Tenant, err = readPart(c.InOrStdin(), args[1], quota.ReadTenantYAML)
	}
	if err != nil {
		return err
	}
	return replace(c, o.to, client, path, was, t.Tenant)
}
