package quota

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed43908478/penstock/quota/internal/strictyaml"
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
	r := newReader(root)
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
	root, err := strictyaml.Document(data, words)
	if fault, ok := errors.AsType[*strictyaml.DocumentError](err); ok {
		return nil, Problems{{Line: fault.Line, Column: fault.Column, Text: fault.Text}}
	}
	return root, err
}

// words are what is said of a configuration.
var words = &strictyaml.Words{
	Empty:  "the file is empty: write plans and tenants, or {} for none",
	Second: "a second document begins here: put everything into one",
	Syntax: syntaxProblem,
	Alias:  "is an alias, which is not supported: write the value out; " + quoteStar,
	Anchor: "has the anchor %.40q, which is not supported: remove it",
	Tag:    "has the tag %.40q, which is not supported: remove it",
	Name:   "has a name that is not a word",
	List:   "a list, as in [a, b]",
}

func syntaxProblem(e *yaml.LoadError) string {
	text := "not YAML: " + strictyaml.Message(e)
	switch {
	case strings.Contains(e.ContextMsg, "alias"):
		text += "; " + quoteStar
	case strings.HasSuffix(e.Message, "cannot start any token"):
		text += "; indent with spaces, not tabs"
	case e.ContextMark.Line > 0 && e.ContextMark.Line < e.Mark.Line:
		text += fmt.Sprintf("; it begins in line %d", e.ContextMark.Line)
	}
	return text
}

const quoteStar = `a * that stands for itself is written in quotes, as in "*"`

// A reader makes a configuration of a YAML tree. It goes only where the format has
// members, collects what is wrong, and notes where each member stands.
type reader struct {
	strictyaml.Reader

	problems Problems
	at       map[string]position // by path
	unread   map[string]bool     // paths whose value could not be taken
}

type position struct{ line, column int }

type field = strictyaml.Field

func newReader(root *yaml.Node) *reader {
	r := &reader{at: map[string]position{"": {root.Line, root.Column}}, unread: map[string]bool{}}
	r.Reader = strictyaml.Reader{Words: words, Member: member, At: r.stands, Report: r.report}
	return r
}

func (r *reader) stands(path string, n *yaml.Node) { r.at[path] = position{n.Line, n.Column} }

// report notes a problem. What follows from the absence of a value that is lost is not reported.
func (r *reader) report(path string, n *yaml.Node, lost bool, text string) {
	if lost {
		r.unread[path] = true
	}
	r.problems = append(r.problems, Problem{Line: n.Line, Column: n.Column, Path: path, Text: text})
}

func (r *reader) config(n *yaml.Node) (c Config) {
	r.Fields("", n, map[string]field{
		"plans": func(path string, n *yaml.Node) {
			c.Plans = make(map[string]Plan, len(n.Content)/2)
			r.Entries(path, n, func(path, name string, n *yaml.Node) { c.Plans[name] = r.plan(path, n) })
		},
		"tenants": func(path string, n *yaml.Node) {
			c.Tenants = make(map[string]Tenant, len(n.Content)/2)
			r.Entries(path, n, func(path, name string, n *yaml.Node) { c.Tenants[name] = r.tenant(path, n) })
		},
		"default_plan": r.text(&c.DefaultPlan),
	})
	return c
}

func (r *reader) plan(path string, n *yaml.Node) (p Plan) {
	r.Fields(path, n, map[string]field{"limits": r.limits(&p.Limits)})
	return p
}

func (r *reader) tenant(path string, n *yaml.Node) (t Tenant) {
	r.Fields(path, n, map[string]field{"plan": r.text(&t.Plan), "limits": r.limits(&t.Limits)})
	return t
}

func (r *reader) limits(to *[]Limit) field {
	return func(path string, n *yaml.Node) {
		*to = make([]Limit, 0, len(n.Content))
		r.Elements(path, n, func(path string, n *yaml.Node) { *to = append(*to, r.limit(path, n)) })
	}
}

func (r *reader) limit(path string, n *yaml.Node) (l Limit) {
	r.Fields(path, n, map[string]field{
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
	r.Fields(path, n, map[string]field{
		"resource": r.text(&m.Resource),
		"attributes": func(path string, n *yaml.Node) {
			m.Attributes = make(map[string]string, len(n.Content)/2)
			r.Entries(path, n, func(path, name string, n *yaml.Node) {
				var pattern string
				r.text(&pattern)(path, n)
				m.Attributes[name] = pattern
			})
		},
	})
	return m
}

func (r *reader) text(to *string) field {
	return func(path string, n *yaml.Node) {
		switch {
		case !r.Is(path, n, yaml.ScalarNode, "a text"):
		case n.ShortTag() != "!!str":
			r.Lost(path, n, "must be a text, not %.40s: put it in quotes", n.Value)
		default:
			*to = n.Value
		}
	}
}

// period takes a bare number too: that it has no unit is better said than that it is no text.
func (r *reader) period(to *Period) field {
	return func(path string, n *yaml.Node) {
		if r.Is(path, n, yaml.ScalarNode, "a period") {
			*to = Period(n.Value)
		}
	}
}

func (r *reader) texts(to *[]string) field {
	return func(path string, n *yaml.Node) {
		r.Elements(path, n, func(path string, n *yaml.Node) {
			var s string
			r.text(&s)(path, n)
			*to = append(*to, s)
		})
	}
}

// number reads decimal integers only: what 010, 0x10 and 1_000 are depends on the version of YAML.
func (r *reader) number(to *int64) field {
	return func(path string, n *yaml.Node) {
		if !r.Is(path, n, yaml.ScalarNode, "a whole number") {
			return
		}
		v, err := strconv.ParseInt(n.Value, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			r.Lost(path, n, "%.40s is out of range", n.Value)
		case err == nil && n.ShortTag() == "!!str":
			r.Lost(path, n, "must be a number, not a text: write %s without quotes", n.Value)
		case err != nil, n.ShortTag() != "!!int", strconv.FormatInt(v, 10) != n.Value:
			r.Lost(path, n, "must be a whole number such as 100, not %.40q", n.Value)
		default:
			*to = v
		}
	}
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
