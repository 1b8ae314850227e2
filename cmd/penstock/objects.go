package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
	"github.com/seed43908478/penstock/quota"
)

// A limitChange is what the flags --limit and --remove-limit ask for.
type limitChange struct{ set, remove []string }

func (l *limitChange) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&l.set, "limit", nil, "a limit in YAML, as 'name: daily, algorithm: token_bucket, quota: 1000, period: day';\nreplaces the one of that name; may be repeated")
	f.StringArrayVar(&l.remove, "remove-limit", nil, "name of a limit to take away; may be repeated")
}

func (l *limitChange) empty() bool { return len(l.set)+len(l.remove) == 0 }

// apply makes the change to a list of limits.
func (l *limitChange) apply(limits []quota.Limit) ([]quota.Limit, error) {
	limits = slices.Clone(limits)
	find := func(name string) int {
		return slices.IndexFunc(limits, func(l quota.Limit) bool { return l.Name == name })
	}
	for _, name := range l.remove {
		i := find(name)
		if i < 0 {
			return nil, usageError{fmt.Errorf("--remove-limit %s: there is no such limit", name)}
		}
		limits = slices.Delete(limits, i, i+1)
	}
	for _, text := range l.set {
		read, err := quota.ReadPlanYAML([]byte("limits: [{" + text + "}]"))
		if err != nil {
			return nil, usageError{fmt.Errorf("--limit %q: %w", text, pathsOnly(err))}
		}
		for _, limit := range read.Limits {
			if i := find(limit.Name); i >= 0 {
				limits[i] = limit
			} else {
				limits = append(limits, limit)
			}
		}
	}
	return limits, nil
}

// pathsOnly leaves out the line, of a text that has one.
func pathsOnly(err error) error {
	problems, ok := errors.AsType[quota.Problems](err)
	if !ok {
		return err
	}
	for i := range problems {
		problems[i].Line = 0
	}
	return problems
}

// find asks for an object. That it is not there is no error.
func find(c *cobra.Command, client *adminclient.Client, path string) (a adminclient.Answer, found bool, err error) {
	a, err = client.Get(c.Context(), path, nil)
	if p, ok := errors.AsType[*adminclient.ProblemError](err); ok && p.Status == http.StatusNotFound {
		return a, false, nil
	}
	return a, err == nil, err
}

// replace puts an object in the place of the one that was found, or there where none was.
func replace(c *cobra.Command, to server, client *adminclient.Client, path string, was adminclient.Answer, body any) error {
	a, err := client.Put(c.Context(), path, nil, was.ETag(), body)
	err = lost(err, fmt.Sprintf("Somebody changed %s meanwhile, and nothing was done: run this again to make the change to what is there now.", path))
	if err != nil {
		return err
	}
	if to.asJSON {
		return printAnswer(c.OutOrStdout(), a)
	}
	how := "changed"
	switch {
	case a.Status == http.StatusCreated:
		how = "created"
	case a.ETag() == was.ETag():
		how = "unchanged"
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", path, how)
	return err
}

// lost says that somebody else was faster, if that is what went wrong.
func lost(err error, detail string) error {
	p, ok := errors.AsType[*adminclient.ProblemError](err)
	if !ok || p.Status != http.StatusPreconditionFailed && p.Status != http.StatusPreconditionRequired {
		return err
	}
	return &adminclient.ProblemError{Status: p.Status, Title: p.Title, Detail: detail}
}

// object is the path of an object: "tenants/acme".
func object(collection, name string) string { return collection + "/" + url.PathEscape(name) }

// newGet makes a command that prints one object as YAML that set takes back.
func newGet(collection, short string, part func(adminclient.Answer) (any, error)) *cobra.Command {
	var to server
	c := &cobra.Command{
		Use:   "get NAME",
		Short: short,
		Args:  exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return to.explained(get(c, to, object(collection, args[0]), part))
		},
	}
	c.ValidArgsFunction = firstArg(to.names(collection), false)
	to.adminFlags(c)
	return c
}

func get(c *cobra.Command, to server, path string, part func(adminclient.Answer) (any, error)) error {
	client, err := to.client()
	if err != nil {
		return err
	}
	a, err := client.Get(c.Context(), path, nil)
	if err != nil {
		return err
	}
	if to.asJSON {
		return printAnswer(c.OutOrStdout(), a)
	}
	written, err := part(a)
	if err != nil {
		return err
	}
	data, err := asYAML(written)
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(data)
	return err
}

// newDelete makes a command that deletes one object.
func newDelete(collection, short, long, question string) *cobra.Command {
	var to server
	var yes bool
	c := &cobra.Command{
		Use:     "delete NAME",
		Aliases: []string{"rm"},
		Short:   short,
		Long:    long,
		Args:    exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return to.explained(remove(c, to, object(collection, args[0]), fmt.Sprintf(question, args[0]), yes))
		},
	}
	c.ValidArgsFunction = firstArg(to.names(collection), false)
	to.adminFlags(c)
	c.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	return c
}

func remove(c *cobra.Command, to server, path, question string, yes bool) error {
	client, err := to.client()
	if err != nil {
		return err
	}
	_, found, err := find(c, client, path)
	if err != nil {
		return err
	}
	if found {
		if err := newScreen(c).confirm(yes, question); err != nil {
			return err
		}
		if _, err := client.Delete(c.Context(), path); err != nil {
			return err
		}
	}
	if to.asJSON {
		return nil // the server's answer is empty
	}
	how := "deleted"
	if !found {
		how = "was not there"
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", path, how)
	return err
}
