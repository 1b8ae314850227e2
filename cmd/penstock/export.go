package main

import (
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
)

func newExport() *cobra.Command {
	var to server
	c := &cobra.Command{
		Use:   "export",
		Short: "Print plans and tenants as a file that apply takes",
		Long:  "Print plans and tenants as a file that apply takes. Keys, and what limits have counted, are not in it.",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return to.explained(export(c, to)) },
	}
	to.adminFlags(c)
	return c
}

func export(c *cobra.Command, to server) error {
	client, err := to.client()
	if err != nil {
		return err
	}
	if to.asJSON {
		a, err := client.Get(c.Context(), configPath, nil)
		if err != nil {
			return err
		}
		return printAnswer(c.OutOrStdout(), a)
	}
	config, _, err := currentConfig(c.Context(), client)
	if err != nil {
		return err
	}
	data, err := asYAML(config)
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(data)
	return err
}

// asYAML is a configuration, or a part of one, as it is written by hand.
func asYAML(v any) ([]byte, error) {
	return yaml.Dump(v, yaml.WithIndent(2), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1))
}
