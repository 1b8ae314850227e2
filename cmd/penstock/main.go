// Command penstock is Penstock on the command line: the whole system in one process,
// and the tools around it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // who asks a second time does not wait
	return execute(ctx, newRoot())
}

// execute runs the command, says what went wrong, and returns the exit code.
func execute(ctx context.Context, root *cobra.Command) int {
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if _, silent := errors.AsType[exitError](err); !silent {
		fmt.Fprintln(root.ErrOrStderr(), "penstock:", err)
	}
	return exitCode(err)
}

func newRoot() *cobra.Command {
	root := group("penstock", "An exact, multi-tenant rate limiter",
		newServe(), newCheck(), newSettle(),
		newApply(), newExport(), newTenants(), newPlans(), newKeys(), newUsage(), newReset(), newAudit(), newExplain(),
		newTables(), newBench(), newImport(), newExitCodes(),
	)
	root.Long = "Penstock is an exact, multi-tenant rate limiter: API Gateway, Lambda, one conditional write to DynamoDB.\n" +
		"Here the whole of it runs in one process: penstock serve."
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (%s --help says more)", err, c.CommandPath())}
	})
	return root
}

// group returns a command that only has others.
func group(name, short string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			advice := c.CommandPath() + " --help says what it has"
			if like := c.SuggestionsFor(args[0]); len(like) > 0 {
				advice = "did you mean " + strings.Join(like, " or ") + "?"
			}
			return usageError{fmt.Errorf("%s has no %q (%s)", c.CommandPath(), args[0], advice)}
		},
		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(verbs...)
	return c
}

func exactly(names ...string) cobra.PositionalArgs { return between(len(names), len(names)) }

// between allows so many arguments.
func between(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError{fmt.Errorf("usage: %s", c.UseLine())}
		}
		return nil
	}
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no argument %q", c.CommandPath(), args[0])}
	}
	return nil
}
