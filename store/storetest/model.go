package storetest

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

// agreesWithTheModel applies random writes to an item and to a [limit.State] for
// each of its limits. Values are few, so that guards hold about as often as not.
func agreesWithTheModel(t *testing.T, s store.Store) {
	var items atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		it := newItem(rt, s, fmt.Sprintf("item %d", items.Add(1)))
		model := map[string]limit.State{}
		for range rapid.IntRange(1, 12).Draw(rt, "writes") {
			parts := drawParts(rt, model)
			want := holds(model, parts)
			got := it.try(parts...)
			if got.Applied != want {
				rt.Fatalf("applied is %t, want %t: %+v\nmodel: %+v\nfound: %+v", got.Applied, want, parts, model, got.States)
			}
			for n, p := range parts {
				if want {
					model[p.Limit] = model[p.Limit].After(p.Changes)
				}
				if !same(got.States[n], model[p.Limit]) {
					rt.Fatalf("state of %s is %+v, want %+v\nafter %+v", p.Limit, got.States[n], model[p.Limit], parts)
				}
			}
		}
	})
}

// holds is the contract: all guards, and the changes find what they change.
func holds(model map[string]limit.State, parts []store.Part) bool {
	for _, p := range parts {
		s := model[p.Limit]
		if !s.Holds(p.Guards) {
			return false
		}
		for _, c := range p.Changes {
			_, there := s.Register(c.Register)
			switch {
			case c.Kind == limit.Add && !there,
				c.Kind == limit.Remove && c.From+c.N > len(s.Log),
				c.Kind == limit.AddAt && c.From >= len(s.Log):
				return false
			}
		}
	}
	return true
}

func drawParts(t *rapid.T, model map[string]limit.State) []store.Part {
	names := rapid.Permutation([]string{"a.tb", "a.swl", "b.tb"}).Draw(t, "limits")
	parts := make([]store.Part, rapid.IntRange(1, len(names)).Draw(t, "parts"))
	for n := range parts {
		parts[n] = store.Part{Limit: names[n], Write: drawWrite(t, model[names[n]])}
	}
	return parts
}

func drawWrite(t *rapid.T, seen limit.State) limit.Write {
	var w limit.Write
	for range rapid.IntRange(0, 2).Draw(t, "guards") {
		w.Guards = append(w.Guards, drawGuard(t, seen.Log))
	}
	for _, register := range []string{"x", "y"} {
		value := rapid.Int64Range(-3, 3).Draw(t, "value")
		switch rapid.IntRange(0, 5).Draw(t, "register") {
		case 0:
			w.Changes = append(w.Changes, limit.Change{Kind: limit.Set, Register: register, Value: value})
		case 1:
			w.Changes = append(w.Changes, limit.Change{Kind: limit.Add, Register: register, Value: value})
		case 2:
			w.Changes = append(w.Changes, limit.Change{Kind: limit.AddFrom, Register: register, Value: value, Base: rapid.Int64Range(-3, 3).Draw(t, "base")})
		case 3:
			w.Changes = append(w.Changes, limit.Change{Kind: limit.Drop, Register: register})
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "appends") {
		w.Changes = append(w.Changes, limit.Change{Kind: limit.Append, N: rapid.IntRange(1, 3).Draw(t, "n"), Value: rapid.Int64Range(0, 9).Draw(t, "time")})
	}
	from := rapid.IntRange(0, len(seen.Log)).Draw(t, "from")
	kind := rapid.IntRange(0, 5).Draw(t, "log")
	if kind < 2 {
		w.Changes = append(w.Changes, limit.Change{Kind: limit.AddAt, From: from, Value: rapid.Int64Range(-3, 3).Draw(t, "more")})
		from++
	}
	switch kind {
	case 1, 2:
		w.Changes = append(w.Changes, limit.Change{Kind: limit.Remove, From: from, N: rapid.IntRange(1, 3).Draw(t, "n")})
	case 3:
		w.Changes = append(w.Changes, limit.Change{Kind: limit.Clear})
	}
	return w
}

func drawGuard(t *rapid.T, log []int64) limit.Guard {
	bound := rapid.OneOf(rapid.Int64Range(-4, 10), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
	return limit.Guard{
		Kind:     limit.GuardKind(rapid.IntRange(int(limit.RegisterIn), int(limit.LogIs)).Draw(t, "guard")),
		Register: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "of"),
		From:     rapid.IntRange(0, len(log)).Draw(t, "first"),
		N:        rapid.IntRange(1, 2).Draw(t, "elements"),
		Min:      bound.Draw(t, "min"),
		Max:      bound.Draw(t, "max"),
		Elements: log[:rapid.SampledFrom([]int{len(log), len(log) / 2}).Draw(t, "equal elements")],
	}
}
