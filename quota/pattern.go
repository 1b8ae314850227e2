package quota

import "strings"

// A pattern is text in which * stands for any run of characters, cut at its stars.
// The zero pattern matches "" only.
type pattern struct {
	exact          bool // there is no star: prefix is all of it
	prefix, suffix string
	middle         []string // what must follow each other between them, none empty
}

func newPattern(s string) pattern {
	pieces := strings.Split(s, "*")
	last := len(pieces) - 1
	if last == 0 {
		return pattern{exact: true, prefix: s}
	}
	p := pattern{prefix: pieces[0], suffix: pieces[last]}
	for _, piece := range pieces[1:last] {
		if piece != "" {
			p.middle = append(p.middle, piece)
		}
	}
	return p
}

// match reports whether the pattern matches all of s. Each middle piece is taken
// where it is found first. That leaves the most for the others, so there is no going
// back, and the time is that of reading s once.
func (p *pattern) match(s string) bool {
	if p.exact {
		return s == p.prefix
	}
	if len(s) < len(p.prefix)+len(p.suffix) || !strings.HasPrefix(s, p.prefix) || !strings.HasSuffix(s, p.suffix) {
		return false
	}
	s = s[len(p.prefix) : len(s)-len(p.suffix)]
	for _, piece := range p.middle {
		i := strings.Index(s, piece)
		if i < 0 {
			return false
		}
		s = s[i+len(piece):]
	}
	return true
}

// disjoint reports whether two patterns match no text together. That is told by how
// they begin and end, which is where they differ in practice: others are said to meet.
func disjoint(a, b string) bool {
	p, q := newPattern(a), newPattern(b)
	switch {
	case p.exact:
		return !q.match(a)
	case q.exact:
		return !p.match(b)
	}
	return !strings.HasPrefix(p.prefix, q.prefix) && !strings.HasPrefix(q.prefix, p.prefix) ||
		!strings.HasSuffix(p.suffix, q.suffix) && !strings.HasSuffix(q.suffix, p.suffix)
}
