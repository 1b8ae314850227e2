package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed43908478/penstock/quota"
)

// A reader takes what the formats have from a tree, and collects what is wrong with it
// and what is to be said of it.
type reader struct {
	problems quota.Problems
	notes    []Note
}

// A field reads the value of one member.
type field func(path string, value *yaml.Node)

const maxProblems = 100

// err returns the problems by line, nil when there are none.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b quota.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if more := len(r.problems) - maxProblems; more > 0 {
		r.problems = append(r.problems[:maxProblems], quota.Problem{Text: fmt.Sprintf("%d more are not listed", more)})
	}
	return r.problems
}

func (r *reader) problem(path string, n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, quota.Problem{Line: n.Line, Column: n.Column, Path: path, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) note(n Note) { r.notes = append(r.notes, n) }

// fields reads a mapping that has these members and no others.
func (r *reader) fields(path string, n *yaml.Node, fields map[string]field) {
	r.entries(path, n, func(path, name string, value *yaml.Node) {
		read, ok := fields[name]
		if !ok {
			r.problem(path, value, "is unknown: remove it; there are %s", strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
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
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
			r.problem(path, key, "has a name that is not a word: write it as text")
			continue
		}
		path := member(path, key.Value)
		if first, ok := lines[key.Value]; ok {
			r.problem(path, key, "is there twice, first in line %d: remove one", first)
			continue
		}
		lines[key.Value] = key.Line
		read(path, key.Value, value)
	}
}

// elements reads a list, and what is in it by place.
func (r *reader) elements(path string, n *yaml.Node, read func(at place, value *yaml.Node)) {
	if !r.is(path, n, yaml.SequenceNode, "a list") {
		return
	}
	for i, value := range n.Content {
		read(place{value.Line, fmt.Sprintf("%s[%d]", path, i)}, value)
	}
}

// text reads any single value as it is written: a descriptor's value may be 404.
func (r *reader) text(to *string) field {
	return func(path string, n *yaml.Node) {
		if r.is(path, n, yaml.ScalarNode, "a text") {
			*to = n.Value
		}
	}
}

func (r *reader) flag(to *bool) field {
	return func(path string, n *yaml.Node) {
		switch {
		case !r.is(path, n, yaml.ScalarNode, "true or false"):
		case n.ShortTag() != "!!bool":
			r.problem(path, n, "must be true or false, not %.40q", n.Value)
		default:
			*to = strings.EqualFold(n.Value, "true")
		}
	}
}

// A count is a whole number that may be missing.
type count struct {
	place
	value int64
	given bool
}

// maxCount is what the formats have room for.
const maxCount = 1<<32 - 1

func (r *reader) count(to *count) field {
	return func(path string, n *yaml.Node) {
		if !r.is(path, n, yaml.ScalarNode, "a whole number") {
			return
		}
		v, err := strconv.ParseInt(n.Value, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange), err == nil && (v < 0 || v > maxCount):
			r.problem(path, n, "%.40s is out of range: write 0 to %d", n.Value, int64(maxCount))
		case err != nil, n.ShortTag() == "!!str":
			r.problem(path, n, "must be a whole number such as 100, not %.40q", n.Value)
		}
		*to = count{place{n.Line, path}, v, true}
	}
}

// is reports whether n is of the kind that is wanted, and has nothing that makes a file
// mean more than it shows.
func (r *reader) is(path string, n *yaml.Node, kind yaml.Kind, wanted string) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.problem(path, n, `is an alias, which is not read: write the value out; a * that stands for itself is written in quotes, as in "*"`)
	case n.Anchor != "":
		r.problem(path, n, "has the anchor %.40q, which is not read: remove it, and write the value out where it is used", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.problem(path, n, "has the tag %.40q, which is not read: remove it", n.Tag)
	case n.ShortTag() == "!!null":
		r.problem(path, n, "has no value: write %s, or remove it", wanted)
	case n.Kind != kind:
		r.problem(path, n, "must be %s, not %s", wanted, kindName(n.Kind))
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

// member is the path of a member; a name that is not a word is quoted.
func member(path, name string) string {
	word := name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || '9' < c) && (c < 'A' || 'Z' < c) && (c < 'a' || 'z' < c)
	})
	switch {
	case !word:
		return fmt.Sprintf("%s[%.130q]", path, name)
	case path == "":
		return name
	}
	return path + "." + name
}
