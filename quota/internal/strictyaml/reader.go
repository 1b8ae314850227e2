package strictyaml

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Reader goes through a tree, only where the format has members, and reports what is wrong.
type Reader struct {
	Words *Words
	// Report takes one problem of the value at a path. Lost says that the value could not
	// be taken, so that what follows from its absence is no news.
	Report func(path string, n *yaml.Node, lost bool, text string)
	// At, if not nil, is told where each member and element stands.
	At func(path string, n *yaml.Node)
	// Member names a member of a path: "plans.free".
	Member func(path, name string) string
}

// A Field reads the value of one member.
type Field func(path string, value *yaml.Node)

// Fields reads a mapping that has these members and no others.
func (r *Reader) Fields(path string, n *yaml.Node, fields map[string]Field) {
	r.Entries(path, n, func(path, name string, value *yaml.Node) {
		read, ok := fields[name]
		if !ok {
			r.Problem(path, value, "is unknown: remove it; there are %s", strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
			return
		}
		read(path, value)
	})
}

// Entries reads a mapping of any names.
func (r *Reader) Entries(path string, n *yaml.Node, read func(path, name string, value *yaml.Node)) {
	if !r.Is(path, n, yaml.MappingNode, "members, as in name: value") {
		return
	}
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !r.plain(path, key) {
			continue
		}
		if key.Kind != yaml.ScalarNode {
			r.Problem(path, key, "%s", r.Words.Name)
			continue
		}
		path := r.Member(path, key.Value)
		if first, ok := lines[key.Value]; ok {
			r.Problem(path, key, "is there twice, first in line %d: remove one", first)
			continue
		}
		lines[key.Value] = key.Line
		r.at(path, key)
		read(path, key.Value, value)
	}
}

// Elements reads a list.
func (r *Reader) Elements(path string, n *yaml.Node, read func(path string, value *yaml.Node)) {
	if !r.Is(path, n, yaml.SequenceNode, r.Words.List) {
		return
	}
	for i, value := range n.Content {
		path := fmt.Sprintf("%s[%d]", path, i)
		r.at(path, value)
		read(path, value)
	}
}

func (r *Reader) at(path string, n *yaml.Node) {
	if r.At != nil {
		r.At(path, n)
	}
}

// Is reports whether n is of the kind that is wanted, and has nothing of what is left out.
func (r *Reader) Is(path string, n *yaml.Node, kind yaml.Kind, wanted string) bool {
	switch {
	case !r.plain(path, n):
		return false
	case n.ShortTag() == "!!null":
		r.Lost(path, n, "has no value: write %s, or remove it", wanted)
		return false
	case n.Kind != kind:
		r.Lost(path, n, "must be %s, not %s", wanted, kindName(n.Kind))
		return false
	}
	return true
}

// plain reports whether n is without what makes a file mean more than it shows, and
// can make a small one very large.
func (r *Reader) plain(path string, n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.Lost(path, n, "%s", r.Words.Alias)
	case n.Anchor != "":
		r.Lost(path, n, r.Words.Anchor, n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.Lost(path, n, r.Words.Tag, n.Tag)
	default:
		return true
	}
	return false
}

// Problem reports what is wrong with a value.
func (r *Reader) Problem(path string, n *yaml.Node, format string, args ...any) {
	r.Report(path, n, false, fmt.Sprintf(format, args...))
}

// Lost reports a value that cannot be taken.
func (r *Reader) Lost(path string, n *yaml.Node, format string, args ...any) {
	r.Report(path, n, true, fmt.Sprintf(format, args...))
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
