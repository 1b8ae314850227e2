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
			said := details(name)
			if len(said) == 1 {
				fmt.Fprintln(s.out, s.colour(colour, "  "+sign+" "+name)+"  "+printable(said[0]))
				continue
			}
			fmt.Fprintln(s.out, s.colour(colour, "  "+sign+" "+name))
			for _, detail := range said {
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
// "limits.daily.quota: 1000 → 2000". Limits are told apart by their names.
func memberDiff(before, after any) []string {
	was, is := asObject(before), asObject(after)
	oldLimits, newLimits := takeLimits(was), takeLimits(is)
	lines := changes("", was, is)
	for _, name := range names(oldLimits, newLimits) {
		one, existed := oldLimits[name]
		other, exists := newLimits[name]
		path := "limits." + name
		switch {
		case !exists:
			lines = append(lines, path+": removed")
		case !existed:
			lines = append(lines, path+": added, "+strings.Join(changes("", nil, other), ", "))
		default:
			lines = append(lines, changes(path+".", one, other)...)
		}
	}
	if len(lines) == 0 {
		if one, other := limitNames(before), limitNames(after); !slices.Equal(one, other) {
			lines = append(lines, "limits: in another order, "+strings.Join(other, ", "))
		}
	}
	return lines
}

// changes says which members of an object differ.
func changes(path string, was, is map[string]any) (lines []string) {
	for _, name := range names(was, is) {
		if one, other := inWords(was[name]), inWords(is[name]); one != other {
			lines = append(lines, path+name+": "+arrow(one, other))
		}
	}
	return lines
}

// names are those of two objects, in order.
func names[T any](a, b map[string]T) []string {
	all := maps.Clone(b)
	if all == nil {
		all = map[string]T{}
	}
	maps.Copy(all, a)
	return slices.Sorted(maps.Keys(all))
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

// takeLimits takes the limits out of an object, by their names and without them.
func takeLimits(object map[string]any) map[string]map[string]any {
	all := map[string]map[string]any{}
	list, _ := object["limits"].([]any)
	delete(object, "limits")
	for _, l := range list {
		if l, ok := l.(map[string]any); ok {
			name := inWords(l["name"])
			delete(l, "name")
			all[name] = l
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

// inWords is a text without quotes, and else JSON; "" of what is not there.
func inWords(v any) string {
	if v == nil {
		return ""
	}
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
