package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/quota/internal/strictyaml"
)

// A reader takes what the formats have from a tree, and collects what is wrong with it
// and what is to be said of it.
type reader struct {
	strictyaml.Reader

	problems quota.Problems
	notes    []Note
}

type field = strictyaml.Field

// begin makes the reader ready to read.
func (r *reader) begin() {
	r.Reader = strictyaml.Reader{Words: words, Member: member, Report: r.report}
}

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

func (r *reader) report(path string, n *yaml.Node, _ bool, text string) {
	r.problems = append(r.problems, quota.Problem{Line: n.Line, Column: n.Column, Path: path, Text: text})
}

func (r *reader) note(n Note) { r.notes = append(r.notes, n) }

// elements reads a list, and what is in it by place.
func (r *reader) elements(path string, n *yaml.Node, read func(at place, value *yaml.Node)) {
	r.Elements(path, n, func(path string, value *yaml.Node) { read(place{value.Line, path}, value) })
}

// text reads any single value as it is written: a descriptor's value may be 404.
func (r *reader) text(to *string) field {
	return func(path string, n *yaml.Node) {
		if r.Is(path, n, yaml.ScalarNode, "a text") {
			*to = n.Value
		}
	}
}

func (r *reader) flag(to *bool) field {
	return func(path string, n *yaml.Node) {
		switch {
		case !r.Is(path, n, yaml.ScalarNode, "true or false"):
		case n.ShortTag() != "!!bool":
			r.Problem(path, n, "must be true or false, not %.40q", n.Value)
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
		if !r.Is(path, n, yaml.ScalarNode, "a whole number") {
			return
		}
		v, err := strconv.ParseInt(n.Value, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange), err == nil && (v < 0 || v > maxCount):
			r.Problem(path, n, "%.40s is out of range: write 0 to %d", n.Value, int64(maxCount))
		case err != nil, n.ShortTag() == "!!str":
			r.Problem(path, n, "must be a whole number such as 100, not %.40q", n.Value)
		}
		*to = count{place{n.Line, path}, v, true}
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
