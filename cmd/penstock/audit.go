package main

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
	"github.com/spf13/cobra"
)

func newAudit() *cobra.Command {
	var tenant string
	l := &listing[adminclient.Entry]{
		path:    func() string { return "audit" },
		query:   func() url.Values { return values("tenant", tenant) },
		columns: []string{"at", "who", "action", "object", "change"},
		row: func(e adminclient.Entry) []string {
			return []string{date(e.At), e.Who, e.Action, e.Object, changeOf(e)}
		},
	}
	c := l.command("List who changed what, the newest first")
	c.Use, c.Aliases = "audit", nil
	c.Flags().StringVar(&tenant, "tenant", "", "only what is about this tenant")
	completes(c, "tenant", l.to.names(tenantsPath))
	return c
}

// changeOf says a change by its members where the audit has both objects whole, else as it has it.
func changeOf(e adminclient.Entry) string {
	if e.After == "" {
		return ""
	}
	var before, after map[string]any
	if json.Unmarshal([]byte(e.After), &after) != nil || e.Before != "" && json.Unmarshal([]byte(e.Before), &before) != nil {
		return e.After
	}
	return strings.Join(memberDiff(before, after), "; ")
}
