package main

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
)

const (
	// completionTime is how long a shell waits for names of the server.
	completionTime = time.Second
	// mostCompletions is how many names it is told.
	mostCompletions = 100
)

// names completes with the names of tenants or plans, the first argument or a flag. Without
// a server there is nothing to complete, and nothing is said.
func (s *server) names(collection string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		client, err := s.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// Also where a lesser key is called with: names are told to administrators only.
		client.Key = cmp.Or(s.key, os.Getenv("PENSTOCK_ADMIN_KEY"), client.Key)
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		list, err := client.List(ctx, collection, url.Values{"prefix": {typed}}, mostCompletions)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		named, err := adminclient.Items[struct{ Name string }](list)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := make([]cobra.Completion, len(named))
		for i, n := range named {
			found[i] = n.Name
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// firstArg completes the first argument only, the second with files where there is one.
func firstArg(f cobra.CompletionFunc, files bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return f(c, args, typed)
		case files && len(args) == 1:
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completes gives a flag its completion.
func completes(c *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // only of a flag that the command has not
	}
}
