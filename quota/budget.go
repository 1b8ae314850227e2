package quota

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed43908478/penstock/limit"
)

// All limits that are by the same are decided in one write of one item, so one write
// must be able to hold them, and an item too.
const (
	maxLimits    = 20   // in one item, whose size every write pays for
	maxOperators = 300  // and functions: what DynamoDB takes in the condition, and in the update
	maxBytes     = 4096 // of each
)

// checkItems reports the limits that are the first too many for their item. own says
// which of the limits stand under path.
func (ps *Problems) checkItems(path string, limits []placed, own func(placed) bool, known sizes) {
	shared := map[string]*sharing{}
	for _, l := range limits {
		needs, ok := known.of(l.Limit)
		if !ok {
			continue // reported already
		}
		group := groupName(l.By, l.shards())
		s := shared[group]
		if s == nil {
			s = new(sharing)
			shared[group] = s
		}
		excess := s.add(l.Limit, needs)
		if excess == "" {
			continue
		}
		at := member(path, "limits")
		if own(l) {
			at = element(at, l.index)
		}
		ps.add(at, "%s", excess)
	}
}

// enforced is what one item of the limit has.
func (l *Limit) enforced() (*limit.Limit, error) {
	made, err := limit.New(l.policy())
	if err == nil && l.shards() > 1 {
		return made.Share(l.shards())
	}
	return made, err
}

// needs is what a limit needs of a write: for itself, and for what the item has beside.
type needs struct{ limit, item size }

// sizes remembers what limits need while many tenants have the same.
type sizes map[sized]needs

// sized is what of a limit its needs depend on.
type sized struct {
	policy     limit.Policy
	shards     int
	requestIDs int
}

// of returns what a limit needs; ok is false of one that is not valid.
func (s sizes) of(l *Limit) (n needs, ok bool) {
	key := sized{l.policy(), l.shards(), l.rememberedIDs()}
	if n, ok = s[key]; ok {
		return n, true
	}
	enforced, err := l.enforced()
	if err != nil {
		return n, false
	}
	n = needs{largest(enforced.Forms()), sizeOfItem(l.rememberedIDs())}
	s[key] = n
	return n, true
}

// A sharing is the limits that are by the same.
//
// Not all of them meet: those of "GET /a" and those of "GET /b" are never in one write, and
// if they are by resource never in one item. So they are put into sets of which no two
// limits can match the same request, or be in the same item. At most one of a set is there
// then, and the sum over the sets of what the largest of each needs is enough for all.
type sharing struct {
	writes, items []*alternatives
	own           size // of the item itself
	reported      bool
}

type alternatives struct {
	limits []*Limit
	size   size // what any of them needs at most
}

// add returns what to say of the limit if it is the first too many.
func (s *sharing) add(l *Limit, needs needs) (excess string) {
	s.writes = place(s.writes, l, needs.limit, apart)
	s.items = place(s.items, l, size{}, apartBy)
	s.own = s.own.atLeast(needs.item)
	whole := s.own
	for _, a := range s.writes {
		whole = whole.plus(a.size)
	}
	switch {
	case s.reported:
		return ""
	case len(s.items) > maxLimits:
		excess = fmt.Sprintf("%.70q is limit number %d of one item by %s, which holds at most %d: remove one, or add what they match to by", l.Name, len(s.items), sayBy(l), maxLimits)
	case !whole.fits():
		excess = fmt.Sprintf("%.70q does not fit into one write with the limits before it that are by %s: use token_bucket in the place of windows, or logs of smaller quotas", l.Name, sayBy(l))
	}
	s.reported = excess != ""
	return excess
}

// place puts a limit into the first set in which it is apart from all others, or a new one.
func place(sets []*alternatives, l *Limit, needs size, apart func(a, b *Limit) bool) []*alternatives {
	meets := func(other *Limit) bool { return !apart(l, other) }
	for _, set := range sets {
		if !slices.ContainsFunc(set.limits, meets) {
			set.limits, set.size = append(set.limits, l), set.size.atLeast(needs)
			return sets
		}
	}
	return append(sets, &alternatives{[]*Limit{l}, needs})
}

func sayBy(l *Limit) string {
	if len(l.By) == 0 {
		return "the tenant alone"
	}
	return strings.Join(canonical(l.By), ", ")
}

// apart reports whether two limits match no request together.
func apart(a, b *Limit) bool {
	return apartIn(a, b, func(string) bool { return true })
}

// apartBy reports whether two limits that are by the same never have the same item.
func apartBy(a, b *Limit) bool {
	return apartIn(a, b, func(part string) bool { return slices.Contains(a.By, part) })
}

// apartIn reports whether two limits match no values of some of the parts together.
func apartIn(a, b *Limit, counts func(part string) bool) bool {
	if a.Match.Resource != "" && b.Match.Resource != "" && counts(byResource) && disjoint(a.Match.Resource, b.Match.Resource) {
		return true
	}
	for name, pattern := range a.Match.Attributes {
		if other, ok := b.Match.Attributes[name]; ok && counts(attributes+name) && disjoint(pattern, other) {
			return true
		}
	}
	return false
}
