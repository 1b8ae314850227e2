package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed43908478/penstock/quota"
)

// describe says a limit in a few words: "per-user 10 per 1s by subject".
func describe(l quota.Limit) string {
	if l.Mode == quota.Off {
		return l.Name + " off"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", l.Name, l.Quota)
	if l.Period != "" {
		fmt.Fprintf(&b, " per %s", l.Period)
	}
	if len(l.By) > 0 {
		b.WriteString(" by " + strings.Join(l.By, "+"))
	}
	if l.Match.Resource != "" {
		fmt.Fprintf(&b, " of %s", l.Match.Resource)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Match.Attributes)) {
		fmt.Fprintf(&b, " with %s=%s", name, l.Match.Attributes[name])
	}
	if l.Mode != "" && l.Mode != quota.Enforce {
		fmt.Fprintf(&b, " (%s)", l.Mode)
	}
	return b.String()
}

func describeAll(limits []quota.Limit) string {
	said := make([]string, len(limits))
	for i, l := range limits {
		said[i] = describe(l)
	}
	return strings.Join(said, "; ")
}
