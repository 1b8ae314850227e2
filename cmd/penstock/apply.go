package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/dynamo"
)

// An applied configuration is one that is in the config table.
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
			client, err := aws(c.Context())
			if err != nil {
				return err
			}
			a, err := applyConfig(c.Context(), dynamo.NewConfigTable(client, tables().Config), config)
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
func applyConfig(ctx context.Context, table *dynamo.ConfigTable, c quota.Config) (applied, error) {
	if err := c.Validate(); err != nil {
		return applied{}, err
	}
	data, err := quota.Encode(c)
	if err != nil {
		return applied{}, err
	}
	a := applied{Plans: len(c.Plans), Tenants: len(c.Tenants)}
	const attempts = 3 // others may be applying the same at the same time
	for range attempts {
		var current []byte
		if current, a.Version, err = table.Load(ctx); err != nil {
			return applied{}, err
		}
		if a.Version > 0 && bytes.Equal(current, data) {
			return a, nil
		}
		if a.Version, err = table.Save(ctx, data, a.Version); err == nil {
			a.Changed = true
			return a, nil
		}
		if !errors.Is(err, dynamo.ErrConflict) {
			return applied{}, err
		}
	}
	return applied{}, fmt.Errorf("somebody else keeps changing the configuration: %w", err)
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
