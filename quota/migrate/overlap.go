package migrate

import (
	"slices"
	"strings"
)

// How Envoy finds the limit of a list of entries: at each level it takes the descriptor
// of the same key that is most specific, first the one with this very value, then the
// first whose value has a * and matches, then the one without a value. What is below the
// others is not looked at any more. Penstock has no such order: all limits that match
// apply. These are the questions that tell where it matters.

// broad returns the value as a pattern.
func (d *descriptor) broad() string {
	if d.value == "" {
		return "*"
	}
	return d.value
}

// before reports whether Envoy tries d before e, a sibling of the same key that comes
// at the position j when d is at i.
func (d *descriptor) before(e *descriptor, i, j int) bool {
	rank := func(d *descriptor) int {
		switch {
		case d.value == "":
			return 2
		case strings.Contains(d.value, "*"):
			return 1
		}
		return 0
	}
	a, b := rank(d), rank(e)
	return a < b || a == b && i < j
}

// meets reports whether there is a value that both patterns match.
func meets(p, q string) bool {
	ps, qs := strings.Split(p, "*"), strings.Split(q, "*")
	switch {
	case len(ps) == 1:
		return covers(q, p)
	case len(qs) == 1:
		return covers(p, q)
	}
	p, q = ps[0], qs[0]
	if !strings.HasPrefix(p, q) && !strings.HasPrefix(q, p) {
		return false
	}
	p, q = ps[len(ps)-1], qs[len(qs)-1]
	return strings.HasSuffix(p, q) || strings.HasSuffix(q, p)
}

// covers reports whether the pattern p matches all that q matches: the stars of q are
// characters like others, which only a star of p can match.
func covers(p, q string) bool {
	pieces := strings.Split(p, "*")
	last := len(pieces) - 1
	if last == 0 {
		return p == q
	}
	if len(q) < len(pieces[0])+len(pieces[last]) || !strings.HasPrefix(q, pieces[0]) || !strings.HasSuffix(q, pieces[last]) {
		return false
	}
	q = q[len(pieces[0]) : len(q)-len(pieces[last])]
	for _, piece := range pieces[1:last] {
		i := strings.Index(q, piece)
		if i < 0 {
			return false
		}
		q = q[i+len(piece):]
	}
	return true
}

// heirs returns the descriptors that Envoy may take for entries that come by d instead
// of what the rest of a path says, and whether they take all of them.
func (d *descriptor) heirs(rest []*descriptor) (all []*descriptor, complete bool) {
	if len(rest) == 0 {
		if d.limit == nil {
			return nil, false
		}
		return []*descriptor{d}, true
	}
	for _, c := range d.children {
		if c.key != rest[0].key || !meets(c.broad(), rest[0].broad()) {
			continue
		}
		some, full := c.heirs(rest[1:])
		all = append(all, some...)
		complete = complete || full && covers(c.broad(), rest[0].broad())
	}
	return all, complete
}

// keyed is a path, with its patterns by key.
type keyed struct {
	path     []*descriptor
	patterns map[string]string
}

func newKeyed(d *descriptor) keyed {
	k := keyed{d.path(), make(map[string]string, d.depth)}
	for _, p := range k.path {
		k.patterns[p.key] = p.broad()
	}
	return k
}

// counts reports whether there are requests that have all that other asks for, and all
// of k's keys are among its keys: then k counts them too. Of two with the same keys in
// another order, the first counts the second. Those with the same keys in the same
// order are left to compareSiblings: a list of entries has at most one of them.
func (k keyed) counts(other keyed, first bool) bool {
	if len(k.path) > len(other.path) || len(k.path) == len(other.path) && !first || sameKeys(k.path, other.path) {
		return false
	}
	for key, pattern := range k.patterns {
		if p, ok := other.patterns[key]; !ok || !meets(pattern, p) {
			return false
		}
	}
	return true
}

func sameKeys(a, b []*descriptor) bool {
	return slices.EqualFunc(a, b, func(a, b *descriptor) bool { return a.key == b.key })
}
