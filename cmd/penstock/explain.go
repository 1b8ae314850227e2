package main

import (
	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
)

const explainPath = "explain"

func newExplain() *cobra.Command {
	var to server
	var a asked
	c := &cobra.Command{
		Use:   "explain TENANT RESOURCE",
		Short: "Say what would become of a call, and why",
		Long: "Say what would become of a call, and why: which limits match and why others do not, where each comes from and who\n" +
			"changed it, what it has counted, and when the call passes. Nothing is charged.",
		Example: "  penstock explain acme 'POST /exports/monthly' --subject user:42",
		Args:    exactly("TENANT", "RESOURCE"),
		RunE: func(c *cobra.Command, args []string) error {
			return to.explained(explain(c, to, a.body(args[0], args[1], 0)))
		},
	}
	c.ValidArgsFunction = firstArg(to.names(tenantsPath), false)
	to.adminFlags(c)
	a.flags(c)
	c.Flags().Int64Var(&a.cost, "cost", 1, "how many permits the call would cost")
	return c
}

func explain(c *cobra.Command, to server, body any) error {
	client, err := to.client()
	if err != nil {
		return err
	}
	ask := client.PostForText
	if to.asJSON {
		ask = client.Post
	}
	var a adminclient.Answer
	if a, err = ask(c.Context(), explainPath, body); err != nil {
		return err
	}
	return printAnswer(c.OutOrStdout(), a)
}
