package quota

import (
	"math"
	"slices"

	"github.com/seed43908478/penstock/limit"
)

// A size is how much of DynamoDB's expressions a write takes, estimated from above: every
// name and every value is counted as four bytes, "#123" and ":123".
type size struct {
	condition, update expression
}

type expression struct{ operators, bytes int }

func (e expression) plus(o expression) expression {
	return expression{e.operators + o.operators, e.bytes + o.bytes}
}

func (s size) plus(o size) size { return size{s.condition.plus(o.condition), s.update.plus(o.update)} }

// atLeast returns the larger of each figure.
func (s size) atLeast(o size) size {
	larger := func(a, b expression) expression {
		return expression{max(a.operators, b.operators), max(a.bytes, b.bytes)}
	}
	return size{larger(s.condition, o.condition), larger(s.update, o.update)}
}

func (s size) fits() bool {
	for _, e := range []expression{s.condition, s.update} {
		if e.operators > maxOperators || e.bytes > maxBytes {
			return false
		}
	}
	return true
}

// largest returns what any of these writes needs at most.
func largest(forms []limit.Write) (s size) {
	for _, w := range forms {
		s = s.atLeast(sizeOf(w))
	}
	return s
}

// sizeOfItem is what an item has beside its limits: until when it is kept, the revision of
// the configuration it was last written by, and request ids.
func sizeOfItem(remembered int) size {
	ids := limit.RequestIDs{Remembered: remembered}
	s := size{update: expression{0, len("SET #123 = :123 REMOVE ")}}
	s = s.plus(sizeOf(limit.Write{
		Guards:  []limit.Guard{{Kind: limit.RegisterInOrAbsent}},
		Changes: []limit.Change{{Kind: limit.Set}},
	}))
	full := limit.State{Log: make([]int64, 2*maxRequestIDs)}
	return s.plus(largest([]limit.Write{ids.Propose(limit.State{}, 1).Write, ids.Propose(full, 1).Write}))
}

// sizeOf is what one limit's write needs.
func sizeOf(w limit.Write) (s size) {
	for i := range w.Guards {
		s.condition = s.condition.plus(sizeOfGuard(&w.Guards[i]))
	}
	has := func(k limit.ChangeKind) bool {
		return slices.ContainsFunc(w.Changes, func(c limit.Change) bool { return c.Kind == k })
	}
	appending := appendsList
	switch {
	case has(limit.Clear):
		appending = expression{} // it is among the elements of the new list
	case has(limit.Remove), has(limit.AddAt):
		appending = expression{bytes: len(", #123[100098] = :123")}
	}
	for i := range w.Changes {
		s.update = s.update.plus(sizeOfChange(&w.Changes[i], appending))
		s.condition = s.condition.plus(sizeOfPresence(&w.Changes[i], w.Guards))
	}
	return s
}

// appendsList appends any number of elements to a list.
var appendsList = expression{2, len(", #123 = list_append(if_not_exists(#123, :123), :124)")}

// text is as many operators, joined to what was before.
func text(operators int, example string) expression {
	return expression{operators + 1, len(" AND ") + len(example)}
}

func sizeOfGuard(g *limit.Guard) expression {
	between := "BETWEEN :123 AND :124"
	oneSided := g.Min == math.MinInt64 || g.Max == math.MaxInt64
	if oneSided || g.Kind == limit.ElementsIn && g.Min == g.Max {
		between = ">= :123"
	}
	orAbsent := g.Kind == limit.RegisterInOrAbsent || g.Kind == limit.SizeInOrAbsent
	if g.Min > g.Max && !orAbsent { // nothing is
		return text(3, "attribute_exists(#123) AND attribute_not_exists(#123)")
	}
	switch g.Kind {
	case limit.LogIs:
		return text(1, "#123 = :123")
	case limit.RegisterIn:
		return text(1, "#123 "+between)
	case limit.SizeIn:
		return text(2, "size(#123) "+between)
	case limit.RegisterInOrAbsent:
		return text(3, "(attribute_not_exists(#123) OR #123 "+between+")")
	case limit.SizeInOrAbsent:
		return text(4, "(attribute_not_exists(#123) OR size(#123) "+between+")")
	case limit.ElementsIn:
		return times(g.N, text(1, "#123[1000] "+between))
	default: // limit.Lacks
		return text(2, "NOT contains(#123, :123)")
	}
}

func times(n int, e expression) expression { return expression{n * e.operators, n * e.bytes} }

// sizeOfChange is what a change needs in the update. Elements that are appended while
// others are removed are named one by one: appending is what each takes.
func sizeOfChange(c *limit.Change, appending expression) expression {
	switch c.Kind {
	case limit.Set:
		return expression{0, len(", #123 = :123")}
	case limit.Add:
		return expression{1, len(", #123 = #123 + :123")}
	case limit.AddFrom:
		return expression{2, len(", #123 = if_not_exists(#123, :123) + :124")}
	case limit.Drop:
		return expression{0, len(", #123")}
	case limit.Remove:
		return times(c.N, expression{0, len(", #123[1000]")})
	case limit.AddAt:
		return expression{1, len(", #123[1000] = #123[1000] + :123")}
	case limit.Clear:
		return expression{0, len(", #123 = :123")}
	default: // limit.Append
		if appending == appendsList {
			return appending
		}
		return times(c.N, appending)
	}
}

// sizeOfPresence is what a change needs in the condition, so that there is something to change.
func sizeOfPresence(c *limit.Change, guards []limit.Guard) (e expression) {
	switch c.Kind {
	case limit.Add:
		if !slices.ContainsFunc(guards, func(g limit.Guard) bool { return g.Kind == limit.RegisterIn && g.Register == c.Register }) {
			return text(1, "attribute_exists(#123)")
		}
	case limit.Remove, limit.AddAt:
		return text(1, "attribute_exists(#123[1000])")
	case limit.Set, limit.AddFrom, limit.Drop, limit.Append, limit.Clear:
	}
	return e
}
