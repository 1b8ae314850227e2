package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
)

// mostNames is how many plans or tenants of a kind a difference tells one by one.
const mostNames = 20

// printDiff prints what makes after of before: a line for each plan and tenant, and
// one for each member that changes.
func (s screen) printDiff(before, after quota.Config) {
	d := configstore.Diff(before, after)
	printNames(s, "plans", d.Plans, before.Plans, after.Plans)
	printNames(s, "tenants", d.Tenants, before.Tenants, after.Tenants)
	if d.DefaultPlan {
		fmt.Fprintf(s.out, "default_plan: %s\n", arrow(before.DefaultPlan, after.DefaultPlan))
	}
}

func printNames[T any](s screen, of string, n configstore.Names, before, after map[string]T) {
	if len(n.Added)+len(n.Changed)+len(n.Removed) == 0 {
		return
	}
	fmt.Fprintln(s.out, of)
	each := func(sign string, colour text.Color, names []string, details func(name string) []string) {
		for _, name := range names[:min(mostNames, len(names))] {
			fmt.Fprintln(s.out, s.colour(colour, "  "+sign+" "+name))
			for _, detail := range details(name) {
				fmt.Fprintln(s.out, "      "+printable(detail))
			}
		}
		if more := len(names) - mostNames; more > 0 {
			fmt.Fprintln(s.out, s.colour(colour, fmt.Sprintf("  %s %d more", sign, more)))
		}
	}
	var none T
	each("+", text.FgGreen, n.Added, func(name string) []string { return memberDiff(none, after[name]) })
	each("~", text.FgYellow, n.Changed, func(name string) []string { return memberDiff(before[name], after[name]) })
	each("-", text.FgRed, n.Removed, func(string) []string { return nil })
}

// memberDiff says which members make after of before: "plan: free → pro",
// "limits.daily.quota: 1000 → 2000". Limits are told apart by their names, and one
// that comes is said in one line.
func memberDiff(before, after any) (lines []string) {
	was, is := members(before), members(after)
	for _, path := range slices.Sorted(maps.Keys(merged(was, is))) {
		if was[path] != is[path] {
			lines = append(lines, path+": "+arrow(was[path], is[path]))
		}
	}
	if one, other := limitNames(before), limitNames(after); len(lines) == 0 && !slices.Equal(one, other) {
		lines = append(lines, "limits: in another order: "+strings.Join(other, ", "))
	}
	return lines
}

func arrow(was, is string) string {
	switch {
	case was == "":
		return is
	case is == "":
		return was + " → none"
	}
	return was + " → " + is
}

func merged(a, b map[string]string) map[string]string {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// members are the members of an object by path: those of limits by the limit's name.
func members(v any) map[string]string {
	object := asObject(v)
	all := map[string]string{}
	for name, value := range object {
		if name != "limits" {
			all[name] = inWords(value)
		}
	}
	for name, l := range limitsOf(object) {
		path := "limits." + name
		for member, value := range l {
			if member != "name" {
				all[path+"."+member] = inWords(value)
			}
		}
	}
	return all
}

func limitsOf(object map[string]any) map[string]map[string]any {
	all := map[string]map[string]any{}
	list, _ := object["limits"].([]any)
	for _, l := range list {
		if l, ok := l.(map[string]any); ok {
			all[inWords(l["name"])] = l
		}
	}
	return all
}

func limitNames(v any) (names []string) {
	list, _ := asObject(v)["limits"].([]any)
	for _, l := range list {
		if l, ok := l.(map[string]any); ok {
			names = append(names, inWords(l["name"]))
		}
	}
	return names
}

// asObject is what v is as JSON.
func asObject(v any) (object map[string]any) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	_ = d.Decode(&object) // what is no object has no members
	return object
}

// inWords is a text without quotes, and else JSON.
func inWords(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
