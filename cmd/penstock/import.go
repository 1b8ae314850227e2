package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/quota/migrate"
)

// A format is one that import reads.
type format struct {
	use, short, long string
	source           string
	read             func([]byte) (quota.Config, []migrate.Note, error)
}

var formats = []format{
	{
		use:    "envoy FILE",
		short:  "Make a configuration of the rules of Envoy's rate limit service",
		long:   "Make a configuration of the rules of Envoy's (and Lyft's) rate limit service: domain, descriptors, rate_limit.",
		source: "the rules of Envoy's rate limit service",
		read:   migrate.Envoy,
	},
	{
		use:    "usage-plans FILE",
		short:  "Make a configuration of API Gateway's usage plans",
		long:   "Make a configuration of API Gateway's usage plans, as \"aws apigateway get-usage-plans\" prints them in JSON.",
		source: "API Gateway's usage plans",
		read:   migrate.UsagePlans,
	},
}

type importOptions struct{ asJSON, strict bool }

func newImport() *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "Make a configuration of another limiter's files",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("there is nothing to import from %q: use envoy or usage-plans", args[0])}
			}
			return c.Help()
		},
	}
	for _, f := range formats {
		c.AddCommand(newImportOf(f))
	}
	return c
}

func newImportOf(f format) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   f.use,
		Short: f.short,
		Long: f.long + "\nThe configuration is printed; on stderr, by line, is said what it does not say, or says otherwise, " +
			"and what is left to do.\nFILE - is standard input. No server is asked.",
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			return importFile(c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr(), f, o, args[0])
		},
	}
	c.Flags().BoolVar(&o.asJSON, "json", false, "print JSON: config and notes")
	c.Flags().BoolVar(&o.strict, "strict", false, "fail when something could not be expressed")
	return c
}

func importFile(in io.Reader, out, notesTo io.Writer, f format, o importOptions, path string) error {
	data, err := readFile(in, path)
	if err != nil {
		return err
	}
	config, notes, err := f.read(data)
	if problems, ok := errors.AsType[quota.Problems](err); ok {
		return fmt.Errorf("the file has errors:\n%s", problems.In(path))
	} else if err != nil {
		return err
	}
	if err := printImported(out, notesTo, f, o, path, config, notes); err != nil {
		return err
	}
	if n := migrate.Count(notes, migrate.NotExpressed); o.strict && n > 0 {
		return fmt.Errorf("%s could not be expressed (--strict)", things(n, "thing"))
	}
	return nil
}

func printImported(out, notesTo io.Writer, f format, o importOptions, path string, config quota.Config, notes []migrate.Note) error {
	if o.asJSON {
		return printJSON(out, struct {
			Config quota.Config   `json:"config"`
			Notes  []migrate.Note `json:"notes"`
		}{config, append([]migrate.Note{}, notes...)})
	}
	data, err := migrate.YAML(config, notes, f.source)
	if err != nil {
		return err
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(notesTo, n.In(path))
	}
	limits := 0
	for _, p := range config.Plans {
		limits += len(p.Limits)
	}
	fmt.Fprintf(notesTo, "%s, %s: %d not expressed, %d approximated\n", things(len(config.Plans), "plan"), things(limits, "limit"),
		migrate.Count(notes, migrate.NotExpressed), migrate.Count(notes, migrate.Approximated))
	return nil
}

// things returns "1 limit", "2 limits".
func things(n int, name string) string {
	if n == 1 {
		return "1 " + name
	}
	return fmt.Sprintf("%d %ss", n, name)
}
