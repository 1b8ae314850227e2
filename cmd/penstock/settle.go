package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

type settleOptions struct {
	to   server
	cost int64
}

func newSettle() *cobra.Command {
	var o settleOptions
	c := &cobra.Command{
		Use:   "settle RECEIPT --cost N",
		Short: "Say what a call that was charged did cost",
		Long: "Say what a call that was charged did cost. What it did not need comes back, as far as it still keeps others\n" +
			"out; what it needed above is owed. The receipt is in the answer to the check; it is settled once. In the\n" +
			"place of a receipt, - reads the answer from standard input.",
		Example: "  penstock check acme 'GET /search' --cost 10 --json > answer\n" +
			"  penstock settle - --cost 3 < answer",
		Args: exactly("RECEIPT"),
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("cost") {
				return usageError{errors.New("say with --cost how many permits the call did cost; 0 gives all back")}
			}
			receipt := args[0]
			if receipt == "-" {
				var err error
				if receipt, err = receiptOf(c.InOrStdin()); err != nil {
					return err
				}
			}
			return o.to.explained(settle(c.Context(), c.OutOrStdout(), o, receipt))
		},
	}
	o.to.flags(c)
	c.Flags().Int64Var(&o.cost, "cost", 0, "how many permits it did cost; 0 gives all back")
	return c
}

// receiptOf reads the answer to a check and returns its receipt.
func receiptOf(in io.Reader) (string, error) {
	var a struct {
		Receipt string `json:"receipt"`
	}
	err := json.NewDecoder(in).Decode(&a)
	switch {
	case err != nil:
		return "", fmt.Errorf("standard input is not an answer as penstock check --json prints it: %w", err)
	case a.Receipt == "":
		return "", errors.New("the call was not charged: its answer has no receipt")
	}
	return a.Receipt, nil
}

// A settled answer is what of a settlement's answer is printed.
type settled struct {
	Tenant  string `json:"tenant"`
	Cost    int64  `json:"cost"`
	Charged int64  `json:"charged"`
	Repeat  bool   `json:"repeat"`
	Outcome string `json:"outcome"`
}

func settle(ctx context.Context, out io.Writer, o settleOptions, receipt string) error {
	answered, err := o.to.post(ctx, "/v1/settle", struct {
		Receipt string `json:"receipt"`
		Cost    int64  `json:"cost"`
	}{receipt, o.cost})
	if err != nil {
		return err
	}
	if p := answered.Problem(); p != nil {
		return p
	}
	if o.to.asJSON {
		return printAnswer(out, answered)
	}
	var a settled
	if err := answered.Decode(&a); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, a)
	return err
}

// String says an answer in one line.
func (a settled) String() string {
	s := fmt.Sprintf("settled: %d of %d charged to %s", a.Cost, a.Charged, a.Tenant)
	if a.Repeat {
		s += ", before"
	}
	if a.Outcome == "unknown" {
		s += ", perhaps in part"
	}
	return s
}
