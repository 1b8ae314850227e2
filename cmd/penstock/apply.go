package main

import (
	"context"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
)

// configPath is where the whole configuration is.
const configPath = "config"

type applyOptions struct {
	to          server
	dryRun, yes bool
}

func newApply() *cobra.Command {
	var o applyOptions
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Make plans and tenants what a file says",
		Long: "Make plans and tenants what a file says: all of them or, when anything is wrong, nothing. What the file has not\n" +
			"is deleted, and the keys of tenants that are deleted are revoked: that is asked before. FILE - is standard\n" +
			"input. What changes is printed first; with --dry-run only that, and the exit code is 4 when there is anything.\n" +
			"Instances see the change within 30 seconds.",
		Example: "  penstock apply penstock.yaml --dry-run\n" +
			"  penstock export | sed s/free/basic/ | penstock apply - --yes",
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error { return o.to.explained(apply(c, o, args[0])) },
	}
	o.to.adminFlags(c)
	f := c.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "only print what would change; exit code 4 when there is anything")
	f.BoolVar(&o.yes, "yes", false, "delete without asking")
	return c
}

func apply(c *cobra.Command, o applyOptions, path string) error {
	after, err := readConfig(c.InOrStdin(), c.ErrOrStderr(), path)
	if err != nil {
		return err
	}
	client, err := o.to.client()
	if err != nil {
		return err
	}
	s := newScreen(c)
	before, etag, err := currentConfig(c.Context(), client)
	if err != nil {
		return err
	}
	d := configstore.Diff(before, after)
	if !o.to.asJSON {
		s.printDiff(before, after)
	}
	if o.dryRun {
		return tryConfig(c, o, client, after, d)
	}
	if gone := len(d.Plans.Removed) + len(d.Tenants.Removed); gone > 0 {
		if err := s.confirm(o.yes, "This deletes "+deleted(d)); err != nil {
			return err
		}
	}
	var a adminclient.Answer
	err = s.working("applying "+contents(after), func() error {
		a, err = client.Put(c.Context(), configPath, nil, etag, after)
		return err
	})
	err = lost(err, "Somebody changed the configuration meanwhile, and nothing was applied: run this again to see what changes now.")
	if err != nil {
		return err
	}
	if o.to.asJSON {
		return printAnswer(c.OutOrStdout(), a)
	}
	return printApplied(s.out, a, contents(after))
}

func printApplied(w io.Writer, a adminclient.Answer, what string) error {
	var done struct {
		Version int64
		Changed bool
	}
	if err := a.Decode(&done); err != nil {
		return err
	}
	how := "applied as"
	if !done.Changed {
		how = "unchanged, it is"
	}
	_, err := fmt.Fprintf(w, "%s: %s version %d\n", what, how, done.Version)
	return err
}

// currentConfig returns the configuration of the server, and what to send when it is
// replaced; "" when nothing was ever saved.
func currentConfig(ctx context.Context, client *adminclient.Client) (c quota.Config, etag string, err error) {
	a, err := client.Get(ctx, configPath, nil)
	if err != nil {
		return c, "", err
	}
	err = a.DecodeAll(&c)
	return c, a.ETag(), err
}

// tryConfig has the server check the configuration, and ends with the exit code for changes.
func tryConfig(c *cobra.Command, o applyOptions, client *adminclient.Client, after quota.Config, d configstore.Difference) error {
	a, err := client.Put(c.Context(), configPath, url.Values{"dry_run": {"true"}}, "", after)
	if err != nil {
		return err
	}
	if o.to.asJSON {
		err = printAnswer(c.OutOrStdout(), a)
	} else if d.Empty() {
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s: nothing would change\n", contents(after))
	}
	if err == nil && !d.Empty() {
		return exitError(exitChanges)
	}
	return err
}

// contents returns "2 plans, 1 tenant".
func contents(c quota.Config) string {
	return things(len(c.Plans), "plan") + ", " + things(len(c.Tenants), "tenant")
}

// deleted says what a difference removes.
func deleted(d configstore.Difference) string {
	plans, tenants := d.Plans.Removed, d.Tenants.Removed
	switch {
	case len(tenants) == 0:
		return things(len(plans), "plan")
	case len(plans) == 0:
		return things(len(tenants), "tenant") + ", and revokes their keys"
	}
	return things(len(plans), "plan") + " and " + things(len(tenants), "tenant") + ", and revokes their keys"
}
