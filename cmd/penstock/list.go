package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
)

// A listing is a command that prints a list of the server's.
type listing[T any] struct {
	to      server
	limit   int
	path    func() string
	query   func() url.Values // nil: none
	columns []string
	row     func(T) []string
}

// command makes the command of a listing.
func (l *listing[T]) command(short string) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   short,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return l.run(c) },
	}
	l.to.adminFlags(c)
	c.Flags().IntVar(&l.limit, "limit", 100, "how many to print; 0 for all")
	return c
}

func (l *listing[T]) run(c *cobra.Command) error {
	if l.limit < 0 {
		return usageError{fmt.Errorf("--limit must not be negative: 0 is all")}
	}
	client, err := l.to.client()
	if err != nil {
		return err
	}
	var query url.Values
	if l.query != nil {
		query = l.query()
	}
	found, err := client.List(c.Context(), l.path(), query, l.limit)
	if err != nil {
		return l.to.explained(err)
	}
	if l.to.asJSON {
		return printBody(c.OutOrStdout(), found)
	}
	items, err := adminclient.Items[T](found)
	if err != nil {
		return err
	}
	s := newScreen(c)
	if len(items) == 0 {
		fmt.Fprintln(s.errs, "There are none.")
		return nil
	}
	rows := make([][]string, len(items))
	for i, item := range items {
		rows[i] = l.row(item)
	}
	s.table(l.columns, rows)
	if found.Cursor != "" {
		fmt.Fprintf(s.errs, "There are more than these %d: --limit 0 prints all.\n", len(items))
	}
	return nil
}

// values are those that are not empty, in pairs of a name and a value.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

// printBody prints JSON in one line, as a server does.
func printBody(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printAnswer prints an answer as it came; nothing when it has no body.
func printAnswer(w io.Writer, a adminclient.Answer) error {
	if len(a.Body) == 0 {
		return nil
	}
	_, err := w.Write(append(bytes.TrimSpace(a.Body), '\n'))
	return err
}

// printJSON prints JSON over several lines, for what no server answered.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// date is a time as tables have it, in UTC; "" of none.
func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}
