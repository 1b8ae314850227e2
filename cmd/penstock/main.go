// Command penstock is Penstock on the command line: the whole system in one process,
// and the tools around it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFailed  = 1 // it could not be done; stderr says why
	exitUsage   = 2 // the command line is wrong
	exitRefused = 3 // check: the answer is no
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[exitError](err); ok {
		return int(code)
	}
	fmt.Fprintln(os.Stderr, "penstock:", err)
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// exitError ends the program with a code, when all has been said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a mistake on the command line.
type usageError struct{ error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "penstock",
		Short: "An exact, multi-tenant rate limiter",
		Long: "Penstock is an exact, multi-tenant rate limiter: API Gateway, Lambda, one conditional write to DynamoDB.\n" +
			"Here the whole of it runs in one process: penstock serve.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (penstock %s --help says more)", err, c.Name())}
	})
	root.AddCommand(newServe(), newCheck(), newSettle(), newApply(), newKeys(), newTables(), newBench(), newImport())
	return root
}
