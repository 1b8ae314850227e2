package migrate

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A descriptor is an entry of Envoy's rules: a condition on one key, with a rate limit,
// or more conditions, or both.
type descriptor struct {
	place
	parent   *descriptor // nil: it is at the top
	depth    int         // from 1
	children []*descriptor

	key, value string // value "": any
	limit      *rateLimit

	shadow, share bool
	ignored       []mention // members that do not bear on what is counted
}

// A mention is a name in the file, and where it stands.
type mention struct {
	place
	name string
}

// A rateLimit is what a descriptor allows to each of its values.
type rateLimit struct {
	place
	unit      string
	requests  count
	unlimited bool
	name      string
	replaces  []mention
	other     []mention
}

// path returns the descriptors from the outermost to d.
func (d *descriptor) path() []*descriptor {
	path := make([]*descriptor, d.depth)
	for at := d; at != nil; at = at.parent {
		path[at.depth-1] = at
	}
	return path
}

// String returns "message_type=marketing, to_number".
func (d *descriptor) String() string {
	path := d.path()
	if len(path) > 4 {
		path = append(append([]*descriptor{}, path[:3]...), path[len(path)-1])
	}
	words := make([]string, len(path))
	for i, p := range path {
		words[i] = fmt.Sprintf("%.60s", p.key)
		if p.value != "" {
			words[i] += fmt.Sprintf("=%.60s", p.value)
		}
	}
	return strings.Join(words, ", ")
}

// A rules is what is read of a file of Envoy's rules.
type rules struct {
	reader

	domain      string
	at          place
	top         []*descriptor
	descriptors int
}

// maxDescriptors is how many are read: far more than a plan can hold.
const maxDescriptors = 2000

// maxNested is how deep they are nested at most: a request has 16 attributes.
const maxNested = 32

func (r *rules) read(root *yaml.Node) {
	r.at = place{root.Line, ""}
	r.Fields("", root, map[string]field{
		"domain": func(path string, n *yaml.Node) {
			r.at = place{n.Line, path}
			r.text(&r.domain)(path, n)
		},
		"descriptors": func(path string, n *yaml.Node) { r.top = r.list(path, n, nil) },
	})
	switch {
	case r.domain == "" && len(r.problems) == 0:
		r.Problem("domain", root, "is missing: name the domain that the descriptors belong to")
	case r.descriptors > maxDescriptors:
		r.Problem("descriptors", root, "are %d: at most %d are read; split the file", r.descriptors, maxDescriptors)
	}
}

func (r *rules) list(path string, n *yaml.Node, parent *descriptor) (list []*descriptor) {
	lines := map[string]int{}
	r.elements(path, n, func(at place, n *yaml.Node) {
		if r.descriptors++; r.descriptors > maxDescriptors {
			return
		}
		d := r.descriptor(at, n, parent)
		if first, ok := lines[d.key+"\x00"+d.value]; ok && d.key != "" {
			r.Problem(at.path, n, "%s is there twice, first in line %d: remove one", d, first)
			return
		}
		lines[d.key+"\x00"+d.value] = at.line
		list = append(list, d)
	})
	return list
}

func (r *rules) descriptor(at place, n *yaml.Node, parent *descriptor) *descriptor {
	d := &descriptor{place: at, parent: parent, depth: 1}
	if parent != nil {
		d.depth = parent.depth + 1
	}
	if d.depth > maxNested {
		r.Problem(at.path, n, "is nested deeper than %d: no request has so many attributes; remove it", maxNested)
		return d
	}
	before := len(r.problems)
	r.Fields(at.path, n, map[string]field{
		"key":             r.text(&d.key),
		"value":           r.text(&d.value),
		"rate_limit":      func(path string, n *yaml.Node) { d.limit = r.rateLimit(path, n) },
		"shadow_mode":     r.flag(&d.shadow),
		"share_threshold": r.flag(&d.share),
		"detailed_metric": r.set(&d.ignored, "detailed_metric"),
		"value_to_metric": r.set(&d.ignored, "value_to_metric"),
		"quota_mode":      r.set(&d.ignored, "quota_mode"),
		"descriptors":     func(path string, n *yaml.Node) { d.children = r.list(path, n, d) },
	})
	switch {
	case d.key == "" && len(r.problems) == before:
		r.Problem(at.path, n, "has no key: write key: NAME")
	case d.share && !strings.HasSuffix(d.value, "*"):
		r.Problem(at.path, n, "has share_threshold but no value that ends with *: remove it")
	}
	return d
}

func (r *rules) rateLimit(path string, n *yaml.Node) *rateLimit {
	l := &rateLimit{place: place{n.Line, path}}
	before := len(r.problems)
	r.Fields(path, n, map[string]field{
		"unit":              r.text(&l.unit),
		"requests_per_unit": r.count(&l.requests),
		"unlimited":         r.flag(&l.unlimited),
		"name":              r.text(&l.name),
		"replaces":          func(path string, n *yaml.Node) { l.replaces = r.replaces(path, n, l) },
		"unit_multiplier":   r.multiplier(l),
		"shadow_mode": func(path string, n *yaml.Node) {
			r.Problem(path, n, "is without effect in a rate_limit: write it beside rate_limit, or remove it")
		},
	})
	l.unit = strings.ToLower(l.unit)
	switch _, known := units[l.unit]; {
	case len(r.problems) > before:
	case l.unlimited && l.unit != "":
		r.Problem(path, n, "has a unit and is unlimited: remove one of them")
	case l.unlimited:
	case l.unit == "":
		r.Problem(member(path, "unit"), n, "is missing: write one of %s", unitNames)
	case !known:
		r.Problem(member(path, "unit"), n, "%.40q is unknown: write one of %s", l.unit, unitNames)
	case !l.requests.given:
		r.Problem(member(path, "requests_per_unit"), n, "is missing, which Envoy takes for 0 and refuses every request: write a number")
	}
	return l
}

// multiplier reads how many units make a period; 1 is what there is without it.
func (r *rules) multiplier(l *rateLimit) field {
	return func(path string, n *yaml.Node) {
		var c count
		if r.count(&c)(path, n); c.value != 1 {
			l.other = append(l.other, mention{place{n.Line, path}, "unit_multiplier"})
		}
	}
}

func (r *rules) replaces(path string, n *yaml.Node, l *rateLimit) (all []mention) {
	r.elements(path, n, func(at place, n *yaml.Node) {
		replaced := mention{place: at}
		r.Fields(at.path, n, map[string]field{"name": r.text(&replaced.name)})
		switch replaced.name {
		case "":
			r.Problem(at.path, n, "names nothing: write name: NAME, as the other rate_limit has it")
		case l.name:
			r.Problem(at.path, n, "names the limit itself: write the name of another")
		}
		all = append(all, replaced)
	})
	return all
}

// set reads a flag, and keeps where it is when it is set.
func (r *rules) set(to *[]mention, name string) field {
	return func(path string, n *yaml.Node) {
		var is bool
		if r.flag(&is)(path, n); is {
			*to = append(*to, mention{place{n.Line, path}, name})
		}
	}
}
