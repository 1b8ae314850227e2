package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
	"github.com/seed43908478/penstock/quota"
)

const (
	plansPath       = "plans"
	defaultPlanPath = "default_plan"
)

func newPlans() *cobra.Command {
	return group("plans", "Plans: the limits that tenants have",
		newPlansList(), newGet(plansPath, "Print a plan, as set takes it", planOf), newPlansSet(), newPlansDefault(),
		newDelete(plansPath, "Delete a plan that no tenant has", "Delete a plan that no tenant has. That there is none is no error.", "This deletes plan %s"))
}

func newPlansList() *cobra.Command {
	var prefix string
	l := &listing[adminclient.Plan]{
		path:    func() string { return plansPath },
		query:   func() url.Values { return values("prefix", prefix) },
		columns: []string{"plan", "limits", ""},
		row: func(p adminclient.Plan) []string {
			return []string{p.Name, strconv.Itoa(len(p.Limits)), describeAll(p.Limits)}
		},
	}
	c := l.command("List plans, by name")
	c.Flags().StringVar(&prefix, "prefix", "", "only those whose name begins so")
	return c
}

// planOf is what set takes of a plan.
func planOf(a adminclient.Answer) (any, error) {
	var p adminclient.Plan
	if err := a.Decode(&p); err != nil {
		return nil, err
	}
	return p.Plan, nil
}

type planSet struct {
	to     server
	limits limitChange
}

func newPlansSet() *cobra.Command {
	var o planSet
	c := &cobra.Command{
		Use:   "set NAME [FILE]",
		Short: "Create or change a plan",
		Long: "Create or change a plan. With a FILE, or - for standard input, it is what that says, in YAML as plans get\n" +
			"prints it; with flags it stays as it is, but for what they say.",
		Example: "  penstock plans set trial --limit 'name: per-user, by: [subject], algorithm: token_bucket, quota: 3, period: minute'\n" +
			"  penstock plans set trial --remove-limit per-user\n" +
			"  penstock plans get free | penstock plans set trial -",
		Args: between(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return o.to.explained(o.run(c, args)) },
	}
	c.ValidArgsFunction = firstArg(o.to.names(plansPath), true)
	o.to.adminFlags(c)
	o.limits.flags(c)
	return c
}

func (o *planSet) run(c *cobra.Command, args []string) error {
	flags := !o.limits.empty()
	if flags == (len(args) == 2) {
		return usageError{errors.New("say what it is to be: either a FILE, or --limit and --remove-limit")}
	}
	client, err := o.to.client()
	if err != nil {
		return err
	}
	path := object(plansPath, args[0])
	var p adminclient.Plan
	was, found, err := find(c, client, path)
	if err != nil {
		return err
	}
	if found {
		if err := was.DecodeAll(&p); err != nil {
			return err
		}
	}
	if flags {
		p.Limits, err = o.limits.apply(p.Limits)
	} else {
		p.Plan, err = readPart(c.InOrStdin(), args[1], quota.ReadPlanYAML)
	}
	if err != nil {
		return err
	}
	return replace(c, o.to, client, path, was, p.Plan)
}

func newPlansDefault() *cobra.Command {
	var to server
	var none bool
	c := &cobra.Command{
		Use:   "default [NAME]",
		Short: "Print or set the plan of tenants that are not known by name",
		Long: "Print or set the plan of tenants that are not known by name. Without one they are unknown, and refused;\n" +
			"--none makes it so.",
		Args: between(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if none && len(args) == 1 {
				return usageError{errors.New("say either a NAME or --none")}
			}
			return to.explained(defaultPlan(c, to, args, none))
		},
	}
	c.ValidArgsFunction = firstArg(to.names(plansPath), false)
	to.adminFlags(c)
	c.Flags().BoolVar(&none, "none", false, "have none")
	return c
}

func defaultPlan(c *cobra.Command, to server, args []string, none bool) error {
	client, err := to.client()
	if err != nil {
		return err
	}
	var a adminclient.Answer
	if none || len(args) == 1 {
		var d adminclient.DefaultPlan
		if !none {
			d.DefaultPlan = args[0]
		}
		a, err = client.Put(c.Context(), defaultPlanPath, nil, "", d)
	} else {
		a, err = client.Get(c.Context(), defaultPlanPath, nil)
	}
	if err != nil {
		return err
	}
	if to.asJSON {
		return printAnswer(c.OutOrStdout(), a)
	}
	var d adminclient.DefaultPlan
	if err := a.Decode(&d); err != nil {
		return err
	}
	if d.DefaultPlan == "" {
		_, err = fmt.Fprintln(c.OutOrStdout(), "none: tenants that are not known by name are refused")
	} else {
		_, err = fmt.Fprintln(c.OutOrStdout(), d.DefaultPlan)
	}
	return err
}
