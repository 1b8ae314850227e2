package quota

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one thing that is wrong with a configuration, and what to do about it.
type Problem struct {
	// Line and Column are where, from 1; 0 when the configuration was not read from YAML.
	Line   int `json:"line,omitzero"`
	Column int `json:"column,omitzero"`
	// Path is the member: "plans.free.limits[0].quota", or "" for the whole document.
	Path string `json:"path,omitempty"`
	Text string `json:"text"`
}

// String returns "line 12: plans.free.limits[0].quota: must be at least 1, not 0",
// without the parts that are not known.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.where()
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.where())
}

// In returns the same with the name of the file, as compilers do: "penstock.yaml:12: …".
func (p Problem) In(file string) string {
	if p.Line == 0 {
		return file + ": " + p.where()
	}
	return fmt.Sprintf("%s:%d: %s", file, p.Line, p.where())
}

func (p Problem) where() string {
	if p.Path == "" {
		return p.Text
	}
	return p.Path + ": " + p.Text
}

// Problems is the error of a configuration: all that is wrong with it, by line. After
// a hundred it only says how many more there are.
type Problems []Problem //nolint:errname // what is wrong is what it holds; that it is an error is how it gets about

// Error returns one problem a line.
func (ps Problems) Error() string { return ps.join(Problem.String) }

// In returns one problem a line, each with the name of the file.
func (ps Problems) In(file string) string {
	return ps.join(func(p Problem) string { return p.In(file) })
}

func (ps Problems) join(text func(Problem) string) string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text(p))
	}
	return b.String()
}

const maxProblems = 100

// err returns the problems as an error, nil when there are none.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps.listed()
}

// listed returns the problems as they are told: by line, and not too many.
func (ps Problems) listed() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if more := len(ps) - maxProblems; more > 0 {
		ps = append(ps[:maxProblems], Problem{Text: fmt.Sprintf("%d more are not listed", more)})
	}
	return ps
}

func (ps *Problems) add(path, format string, args ...any) {
	*ps = append(*ps, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// Paths name members as one would write them in code. A name that has other
// characters than a word is quoted, so that a tenant called "a.plan" is not
// mistaken for a member of the tenant "a".

func member(path, name string) string {
	switch {
	case !validName(name, 128, isWord):
		return fmt.Sprintf("%s[%.130q]", path, name)
	case path == "":
		return name
	}
	return path + "." + name
}

func element(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// parent returns the path of what a member or an element belongs to.
func parent(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }

func isWord(c byte) bool { return isLower(c) || 'A' <= c && c <= 'Z' || c == '_' }

// Member returns the path of a member, as [Problem] has it: Member("tenants", "acme") is "tenants.acme".
func Member(path, name string) string { return member(path, name) }
