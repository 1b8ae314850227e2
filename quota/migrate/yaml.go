package migrate

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed43908478/penstock/quota"
)

// YAML returns the configuration as a file that [quota.ParseYAML] reads, with the notes
// as comments where they belong. The source is what it was made of, for the first line.
func YAML(c quota.Config, notes []Note, source string) ([]byte, error) {
	w := &writer{notes: notes}
	w.comment("", "penstock.yaml, made of "+source+" by penstock import.")
	w.line("#")
	w.comment("", "All limits of a plan that match a request apply. A limit with match counts only requests that have what it asks for; "+
		`"by" says whose the count is, and without it there is one for the tenant. Line numbers are those of the file it was made of.`)
	w.comments("", "", "")
	w.line("")
	w.plans(c.Plans)
	if len(c.Tenants) > 0 {
		w.line("")
		w.line("tenants:")
		for _, name := range slices.Sorted(maps.Keys(c.Tenants)) {
			w.value("  ", map[string]quota.Tenant{name: c.Tenants[name]})
		}
	}
	if c.DefaultPlan != "" {
		w.line("")
		w.value("", map[string]string{"default_plan": c.DefaultPlan})
	}
	return w.Bytes(), w.err
}

type writer struct {
	bytes.Buffer

	notes []Note
	err   error
}

func (w *writer) plans(plans map[string]quota.Plan) {
	if len(plans) == 0 {
		w.line("plans: {}")
		return
	}
	w.line("plans:")
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		w.line("")
		w.comments("  ", name, "")
		limits := plans[name].Limits
		if len(limits) == 0 {
			w.value("  ", map[string]map[string][]int{name: {"limits": {}}})
			continue
		}
		w.value("  ", map[string]*yaml.Node{name: {Kind: yaml.ScalarNode, Tag: "!!null"}})
		w.line("    limits:")
		for i, l := range limits {
			if i > 0 {
				w.line("")
			}
			w.comments("      ", name, l.Name)
			w.limit(l)
		}
	}
}

// limit writes a limit as an element of a list, its match in one line.
func (w *writer) limit(l quota.Limit) {
	var n yaml.Node
	if err := n.Encode(l); err != nil {
		w.err = err
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch value := n.Content[i+1]; n.Content[i].Value {
		case "match":
			value.Style = yaml.FlowStyle
			quoted(value)
		case "mode":
			value.Style = 0 // off is no boolean in the YAML that is read
		}
	}
	w.value("      ", []*yaml.Node{&n})
}

// quoted puts the patterns of a match into double quotes, as people write them.
func quoted(match *yaml.Node) {
	for i := 1; i < len(match.Content); i += 2 {
		if v := match.Content[i]; v.Kind == yaml.MappingNode {
			quoted(v)
		} else {
			v.Style = yaml.DoubleQuotedStyle
		}
	}
}

// value writes YAML, indented.
func (w *writer) value(indent string, v any) {
	data, err := yaml.Dump(v, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		w.err = err
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(string(data), "\n"), "\n") {
		w.line("%s", indent+line)
	}
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
}

// comments writes the notes of a plan, of a limit, or of neither.
func (w *writer) comments(indent, plan, limit string) {
	for _, n := range w.notes {
		if n.Plan == plan && n.Limit == limit {
			w.comment(indent, fmt.Sprintf("Line %d, %s: %s.", n.Line, n.Kind, n.Text))
		}
	}
}

// comment writes a text in lines of some 100 characters. What is no character for a
// comment is left out.
func (w *writer) comment(indent, text string) {
	const width = 100
	line := indent + "#"
	for _, word := range strings.FieldsFunc(text, func(c rune) bool {
		return c <= ' ' || 0x7f <= c && c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff
	}) {
		if len(line)+1+len(word) > width && line != indent+"#" {
			w.line("%s", line)
			line = indent + "#"
		}
		line += " " + word
	}
	w.line("%s", line)
}
