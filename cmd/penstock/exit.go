package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
)

// Exit codes, as penstock help exit-codes has them.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitRefused  = 3
	exitChanges  = 4
	exitConflict = 5
	exitNotFound = 6
)

const exitCodes = `Exit codes:

  0  done; check: the call may go on; apply --dry-run: nothing would change
  1  it could not be done, and stderr says why
  2  the command line is wrong, or a confirmation is missing: nothing was done
  3  check: the call may not go on
  4  apply --dry-run: there are changes
  5  somebody else made a change meanwhile, or what is there does not allow it; nothing was done
  6  what was named is not there
`

func newExitCodes() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes say", Long: exitCodes}
}

// exitError ends the program with a code, when all has been said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a mistake on the command line.
type usageError struct{ error }

func exitCode(err error) int {
	if code, ok := errors.AsType[exitError](err); ok {
		return int(code)
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	p, ok := errors.AsType[*adminclient.ProblemError](err)
	if !ok {
		return exitFailed
	}
	switch p.Status {
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusConflict, http.StatusPreconditionFailed, http.StatusPreconditionRequired:
		return exitConflict
	}
	return exitFailed
}
