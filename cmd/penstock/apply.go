package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
)

// An applied configuration is one that is in the config store.
type applied struct {
	Version int64 `json:"version"`
	Changed bool  `json:"changed"`
	Plans   int   `json:"plans"`
	Tenants int   `json:"tenants"`
}

func newApply() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Put plans and tenants from a file into the config table",
		Long: "Put plans and tenants from a file into the config table, all of them or, when anything is wrong, nothing.\n" +
			"Running instances see the change within 30 seconds.",
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			config, err := readConfig(args[0])
			if err != nil {
				return err
			}
			store, err := configTable(c.Context())
			if err != nil {
				return err
			}
			a, err := applyConfig(c.Context(), store, config)
			if err != nil {
				return err
			}
			return a.print(c.OutOrStdout(), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usageError{fmt.Errorf("usage: %s", c.UseLine())}
		}
		return nil
	}
}

// applyConfig saves a configuration unless it is the one that is in force.
func applyConfig(ctx context.Context, s *configstore.Store, c quota.Config) (applied, error) {
	a, err := s.Apply(ctx, c, configstore.Precondition{}, by(), nil)
	if err != nil {
		return applied{}, err
	}
	return applied{Version: a.Version, Changed: a.Changed, Plans: len(c.Plans), Tenants: len(c.Tenants)}, nil
}

func (a applied) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(w, a)
	}
	what := "applied as"
	if !a.Changed {
		what = "unchanged, it is"
	}
	_, err := fmt.Fprintf(w, "%d plans, %d tenants: %s version %d\n", a.Plans, a.Tenants, what, a.Version)
	return err
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
