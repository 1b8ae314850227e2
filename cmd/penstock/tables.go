package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/store/dynamo"
)

func newTables() *cobra.Command {
	c := &cobra.Command{Use: "tables", Short: "Create the DynamoDB tables, wait for them"}
	c.AddCommand(
		newTablesVerb("create", "Create the tables that are missing, and wait until they can be used", createTables),
		newTablesVerb("wait", "Wait until the tables can be used", dynamo.WaitTables),
	)
	return c
}

func newTablesVerb(verb, short string, do func(context.Context, *dynamodb.Client, dynamo.Tables) error) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   verb,
		Short: short,
		Long:  short + ".\nTheir names are PENSTOCK_STATE_TABLE (penstock-state) and PENSTOCK_CONFIG_TABLE (penstock-config).",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := aws(c.Context())
			if err != nil {
				return err
			}
			names := tables()
			if err := do(c.Context(), client, names); err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), map[string]string{"state_table": names.State, "config_table": names.Config})
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s and %s are ready\n", names.State, names.Config)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func createTables(ctx context.Context, client *dynamodb.Client, names dynamo.Tables) error {
	if err := dynamo.CreateTables(ctx, client, names); err != nil {
		return fmt.Errorf("creating the tables %s and %s: %w", names.State, names.Config, err)
	}
	return dynamo.WaitTables(ctx, client, names)
}
