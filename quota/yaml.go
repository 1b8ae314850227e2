package quota

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxYAML is the size of a configuration file: some 100,000 tenants with an override each.
const maxYAML = 16 << 20

// ParseYAML reads and validates a configuration. The error is a [Problems] with all
// that is wrong and where. It is strict: one document of UTF-8, at most 16 MiB, no
// unknown or repeated members, no empty values, no aliases, anchors or tags.
func ParseYAML(data []byte) (Config, error) {
	c, _, err := CheckYAML(data)
	return c, err
}

// CheckYAML is [ParseYAML], and returns the [Config.Warnings] with where they are.
func CheckYAML(data []byte) (c Config, warnings Problems, err error) {
	root, err := document(data)
	if err != nil {
		return Config{}, nil, err
	}
	r := reader{at: map[string]position{"": {root.Line, root.Column}}, unread: map[string]bool{}}
	config := r.config(root)
	r.add(validate(config))
	if err := r.problems.err(); err != nil {
		return Config{}, nil, err
	}
	return config, r.placed(config.Warnings()).listed(), nil
}

// document parses data, which must be one document, and returns its root.
func document(data []byte) (*yaml.Node, error) {
	if len(data) > maxYAML {
		return nil, Problems{{Text: fmt.Sprintf("the file has %d bytes: at most %d are read; move tenants to the configuration table", len(data), maxYAML)}}
	}
	if line, text := unreadable(data); line > 0 {
		return nil, Problems{{Line: line, Column: 1, Text: text}}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, Problems{{Text: err.Error()}}
	}
	var first, second yaml.Node
	switch err := loader.Load(&first); {
	case errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0:
		return nil, Problems{{Line: 1, Column: 1, Text: "the file is empty: write plans and tenants, or {} for none"}}
	case err != nil:
		return nil, Problems{syntaxProblem(err)}
	}
	switch err := loader.Load(&second); {
	case err == nil:
		return nil, Problems{{Line: second.Line, Column: second.Column, Text: "a second document begins here: put everything into one"}}
	case !errors.Is(err, io.EOF):
		return nil, Problems{syntaxProblem(err)}
	}
	return first.Content[0], nil
}

// unreadable finds the first line that is no text, which the parser refuses without saying where.
func unreadable(data []byte) (line int, text string) {
	line = 1
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		switch {
		case c == utf8.RuneError && size == 1:
			return line, "is not UTF-8: save the file in that encoding"
		case c < ' ' && c != '\t' && c != '\r' && c != '\n', c == 0x7f:
			return line, fmt.Sprintf("has the control character %U: remove it", c)
		case c == '\n':
			line++
		}
		data = data[size:]
	}
	return 0, ""
}

func syntaxProblem(err error) Problem {
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return Problem{Text: err.Error()}
	}
	text := e.Message
	if e.ContextMsg != "" {
		text = e.ContextMsg + ": " + text
	}
	switch {
	case strings.Contains(e.ContextMsg, "alias"):
		text += "; " + quoteStar
	case strings.HasSuffix(e.Message, "cannot start any token"):
		text += "; indent with spaces, not tabs"
	case e.ContextMark.Line > 0 && e.ContextMark.Line < e.Mark.Line:
		text += fmt.Sprintf("; it begins in line %d", e.ContextMark.Line)
	}
	return Problem{Line: e.Mark.Line, Column: e.Mark.Column, Text: "not YAML: " + text}
}

const quoteStar = `a * that stands for itself is written in quotes, as in "*"`

// A reader makes a configuration of a YAML tree. It goes only where the format has
// members, collects what is wrong, and notes where each member stands.
type reader struct {
	problems Problems
	at       map[string]position // by path
	unread   map[string]bool     // paths whose value could not be taken
}

type position struct{ line, column int }

// A field reads the value of one member.
type field func(path string, value *yaml.Node)

func (r *reader) config(n *yaml.Node) (c Config) {
	r.fields("", n, map[string]field{
		"plans": func(path string, n *yaml.Node) {
			c.Plans = make(map[string]Plan, len(n.Content)/2)
			r.entries(path, n, func(path, name string, n *yaml.Node) { c.Plans[name] = r.plan(path, n) })
		},
		"tenants": func(path string, n *yaml.Node) {
			c.Tenants = make(map[string]Tenant, len(n.Content)/2)
			r.entries(path, n, func(path, name string, n *yaml.Node) { c.Tenants[name] = r.tenant(path, n) })
		},
		"default_plan": r.text(&c.DefaultPlan),
	})
	return c
}

func (r *reader) plan(path string, n *yaml.Node) (p Plan) {
	r.fields(path, n, map[string]field{"limits": r.limits(&p.Limits)})
	return p
}

func (r *reader) tenant(path string, n *yaml.Node) (t Tenant) {
	r.fields(path, n, map[string]field{"plan": r.text(&t.Plan), "limits": r.limits(&t.Limits)})
	return t
}

func (r *reader) limits(to *[]Limit) field {
	return func(path string, n *yaml.Node) {
		*to = make([]Limit, 0, len(n.Content))
		r.elements(path, n, func(path string, n *yaml.Node) { *to = append(*to, r.limit(path, n)) })
	}
}

func (r *reader) limit(path string, n *yaml.Node) (l Limit) {
	r.fields(path, n, map[string]field{
		"name":           r.text(&l.Name),
		"match":          func(path string, n *yaml.Node) { l.Match = r.match(path, n) },
		"by":             r.texts(&l.By),
		"algorithm":      r.text(&l.Algorithm),
		"quota":          r.number(&l.Quota),
		"period":         r.period(&l.Period),
		"burst":          r.number(&l.Burst),
		"mode":           r.text((*string)(&l.Mode)),
		"on_store_error": r.text((*string)(&l.OnStoreError)),
		"soft_percent":   r.number(&l.SoftPercent),
		"slack":          r.text(&l.Slack),
		"resolution":     r.number(&l.Resolution),
		"spread":         r.number(&l.Spread),
		"ttl":            r.text(&l.TTL),
		"request_ids":    r.number(&l.RequestIDs),
		"shadows":        r.text(&l.Shadows),
		"anchor_day":     r.number(&l.AnchorDay),
	})
	return l
}

func (r *reader) match(path string, n *yaml.Node) (m Match) {
	r.fields(path, n, map[string]field{
		"resource": r.text(&m.Resource),
		"attributes": func(path string, n *yaml.Node) {
			m.Attributes = make(map[string]string, len(n.Content)/2)
			r.entries(path, n, func(path, name string, n *yaml.Node) {
				var pattern string
				r.text(&pattern)(path, n)
				m.Attributes[name] = pattern
			})
		},
	})
	return m
}

// fields reads a mapping that has these members and no others.
func (r *reader) fields(path string, n *yaml.Node, fields map[string]field) {
	r.entries(path, n, func(path, name string, value *yaml.Node) {
		read, ok := fields[name]
		if !ok {
			known := make([]string, 0, len(fields))
			for name := range fields {
				known = append(known, name)
			}
			slices.Sort(known)
			r.problem(path, value, "is unknown: remove it; there are %s", strings.Join(known, ", "))
			return
		}
		read(path, value)
	})
}

// entries reads a mapping of any names.
func (r *reader) entries(path string, n *yaml.Node, read func(path, name string, value *yaml.Node)) {
	if !r.is(path, n, yaml.MappingNode, "members, as in name: value") {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !r.plain(path, key) {
			continue
		}
		if key.Kind != yaml.ScalarNode {
			r.problem(path, key, "has a name that is not a word")
			continue
		}
		path := member(path, key.Value)
		if first, ok := r.at[path]; ok {
			r.problem(path, key, "is there twice, first in line %d: remove one", first.line)
			continue
		}
		r.at[path] = position{key.Line, key.Column}
		read(path, key.Value, value)
	}
}

func (r *reader) elements(path string, n *yaml.Node, read func(path string, value *yaml.Node)) {
	if !r.is(path, n, yaml.SequenceNode, "a list, as in [a, b]") {
		return
	}
	for i, value := range n.Content {
		path := element(path, i)
		r.at[path] = position{value.Line, value.Column}
		read(path, value)
	}
}

func (r *reader) text(to *string) field {
	return func(path string, n *yaml.Node) {
		switch {
		case !r.is(path, n, yaml.ScalarNode, "a text"):
		case n.ShortTag() != "!!str":
			r.unreadable(path, n, "must be a text, not %.40s: put it in quotes", n.Value)
		default:
			*to = n.Value
		}
	}
}

// period takes a bare number too: that it has no unit is better said than that it is no text.
func (r *reader) period(to *Period) field {
	return func(path string, n *yaml.Node) {
		if r.is(path, n, yaml.ScalarNode, "a period") {
			*to = Period(n.Value)
		}
	}
}

func (r *reader) texts(to *[]string) field {
	return func(path string, n *yaml.Node) {
		r.elements(path, n, func(path string, n *yaml.Node) {
			var s string
			r.text(&s)(path, n)
			*to = append(*to, s)
		})
	}
}

// number reads decimal integers only: what 010, 0x10 and 1_000 are depends on the version of YAML.
func (r *reader) number(to *int64) field {
	return func(path string, n *yaml.Node) {
		if !r.is(path, n, yaml.ScalarNode, "a whole number") {
			return
		}
		v, err := strconv.ParseInt(n.Value, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			r.unreadable(path, n, "%.40s is out of range", n.Value)
		case err == nil && n.ShortTag() == "!!str":
			r.unreadable(path, n, "must be a number, not a text: write %s without quotes", n.Value)
		case err != nil, n.ShortTag() != "!!int", strconv.FormatInt(v, 10) != n.Value:
			r.unreadable(path, n, "must be a whole number such as 100, not %.40q", n.Value)
		default:
			*to = v
		}
	}
}

// is reports whether n is of the kind that is wanted, and has nothing of what the format leaves out.
func (r *reader) is(path string, n *yaml.Node, kind yaml.Kind, wanted string) bool {
	switch {
	case !r.plain(path, n):
		return false
	case n.ShortTag() == "!!null":
		r.unreadable(path, n, "has no value: write %s, or remove it", wanted)
		return false
	case n.Kind != kind:
		r.unreadable(path, n, "must be %s, not %s", wanted, kindName(n.Kind))
		return false
	}
	return true
}

// plain reports whether n is without what makes a file mean more than it shows, and
// can make a small one very large.
func (r *reader) plain(path string, n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.unreadable(path, n, "is an alias, which is not supported: write the value out; "+quoteStar)
	case n.Anchor != "":
		r.unreadable(path, n, "has the anchor %.40q, which is not supported: remove it", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.unreadable(path, n, "has the tag %.40q, which is not supported: remove it", n.Tag)
	default:
		return true
	}
	return false
}

func kindName(k yaml.Kind) string {
	switch k {
	case yaml.MappingNode:
		return "members"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

// unreadable reports a value that cannot be taken. What follows from its absence is not reported.
func (r *reader) unreadable(path string, n *yaml.Node, format string, args ...any) {
	r.unread[path] = true
	r.problem(path, n, format, args...)
}

func (r *reader) problem(path string, n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, Problem{Line: n.Line, Column: n.Column, Path: path, Text: fmt.Sprintf(format, args...)})
}

// add takes over problems that have only paths, except of what could not be read.
func (r *reader) add(ps Problems) {
	for _, p := range r.placed(ps) {
		if !within(r.unread, p.Path) {
			r.problems = append(r.problems, p)
		}
	}
}

// placed says where problems are that have only paths. What is missing is where the
// member stands that it is missing from.
func (r *reader) placed(ps Problems) Problems {
	for i := range ps {
		at := r.position(ps[i].Path)
		ps[i].Line, ps[i].Column = at.line, at.column
	}
	return ps
}

func (r *reader) position(path string) position {
	for {
		if at, ok := r.at[path]; ok {
			return at
		}
		path = parent(path)
	}
}

func within(paths map[string]bool, path string) bool {
	for path != "" && !paths[path] {
		path = parent(path)
	}
	return paths[path]
}
