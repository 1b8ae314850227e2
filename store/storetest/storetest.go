// Package storetest is the conformance suite of [store.Store]. Every store passes
// it with one line:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return memory.New() })
//	}
//
// A store is asked for afresh by each test. What is stored may be kept on disk or
// behind a network: the suite only knows the contract.
package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

// Run runs the suite. open returns a store with no items, which is used by one
// test; what it has to close, it closes with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	suites := []struct {
		name  string
		tests []test
	}{
		{"guard", guards},
		{"change", changes},
		{"parts", severalParts},
		{"log", logs},
		{"read", reads},
		{"context", contexts},
		{"race", races},
	}
	for _, suite := range suites {
		t.Run(suite.name, func(t *testing.T) {
			for _, test := range suite.tests {
				t.Run(test.name, func(t *testing.T) {
					test.run(t, open(t))
				})
			}
		})
	}
	t.Run("model", func(t *testing.T) { agreesWithTheModel(t, open(t)) })
}

type test struct {
	name string
	run  func(*testing.T, store.Store)
}

// An item is one key of the store under test.
type item struct {
	t   rapid.TB
	s   store.Store
	key string
}

func newItem(t rapid.TB, s store.Store, key string) item { return item{t, s, key} }

// write is the write of some parts, expiring long after the test.
func (i item) write(parts ...store.Part) store.Write {
	return store.Write{Key: i.key, Parts: parts, ExpiresAt: time.Now().Add(24 * time.Hour)}
}

func (i item) try(parts ...store.Part) store.Result {
	i.t.Helper()
	r, err := i.s.Apply(context.Background(), i.write(parts...))
	if err != nil {
		i.t.Fatalf("Apply to %q: %v", i.key, err)
	}
	if len(r.States) != len(parts) {
		i.t.Fatalf("Apply of %d parts returned %d states", len(parts), len(r.States))
	}
	return r
}

// applies wants a write to be applied.
func (i item) applies(parts ...store.Part) outcome {
	i.t.Helper()
	r := i.try(parts...)
	if !r.Applied {
		i.t.Fatalf("not applied: %+v\nfound: %+v", parts, r.States)
	}
	return outcome{i.t, r.States}
}

// fails wants the guards of a write not to hold.
func (i item) fails(parts ...store.Part) outcome {
	i.t.Helper()
	r := i.try(parts...)
	if r.Applied {
		i.t.Fatalf("applied: %+v\nnow: %+v", parts, r.States)
	}
	return outcome{i.t, r.States}
}

// has wants to read this state of a limit.
func (i item) has(name string, want limit.State) {
	i.t.Helper()
	states, err := i.s.Read(context.Background(), i.key, []string{name})
	if err != nil {
		i.t.Fatalf("Read %q: %v", i.key, err)
	}
	outcome{i.t, states}.is(want)
}

// An outcome is the states a call returned.
type outcome struct {
	t      rapid.TB
	states []limit.State
}

// is wants the states, in order.
func (o outcome) is(want ...limit.State) {
	o.t.Helper()
	if len(o.states) != len(want) {
		o.t.Fatalf("%d states, want %d", len(o.states), len(want))
	}
	for n := range want {
		if !same(o.states[n], want[n]) {
			o.t.Fatalf("state %d is %+v, want %+v", n, o.states[n], want[n])
		}
	}
}

// same compares states: the order of registers means nothing, an empty log is not an absent one.
func same(a, b limit.State) bool {
	return slices.Equal(sorted(a.Registers), sorted(b.Registers)) &&
		slices.Equal(a.Log, b.Log) && (a.Log == nil) == (b.Log == nil)
}

func sorted(registers []limit.Register) []limit.Register {
	return slices.SortedFunc(slices.Values(registers), func(a, b limit.Register) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// absent is the state of a limit never used.
var absent limit.State

// registers is the state of a limit that has only registers.
func registers(name string, value int64, more ...limit.Register) limit.State {
	return limit.State{Registers: append([]limit.Register{{Name: name, Value: value}}, more...)}
}

func and(name string, value int64) limit.Register { return limit.Register{Name: name, Value: value} }

// log is the state of a limit that has only a log.
func log(times ...int64) limit.State { return limit.State{Log: append([]int64{}, times...)} }

// A step is a guard or a change of a part.
type step func(*limit.Write)

// part is the share of one limit in a write.
func part(name string, steps ...step) store.Part {
	p := store.Part{Limit: name}
	for _, s := range steps {
		s(&p.Write)
	}
	return p
}

func guard(g limit.Guard) step   { return func(w *limit.Write) { w.Guards = append(w.Guards, g) } }
func change(c limit.Change) step { return func(w *limit.Write) { w.Changes = append(w.Changes, c) } }

func ifIn(register string, least, most int64) step {
	return guard(limit.Guard{Kind: limit.RegisterIn, Register: register, Min: least, Max: most})
}

func ifInOrAbsent(register string, least, most int64) step {
	return guard(limit.Guard{Kind: limit.RegisterInOrAbsent, Register: register, Min: least, Max: most})
}

func ifSize(least, most int64) step {
	return guard(limit.Guard{Kind: limit.SizeIn, Min: least, Max: most})
}

func ifSizeOrAbsent(least, most int64) step {
	return guard(limit.Guard{Kind: limit.SizeInOrAbsent, Min: least, Max: most})
}

func ifElements(from, n int, least, most int64) step {
	return guard(limit.Guard{Kind: limit.ElementsIn, From: from, N: n, Min: least, Max: most})
}

func ifLacks(element int64) step {
	return guard(limit.Guard{Kind: limit.Lacks, Min: element, Max: element})
}

func ifLog(elements ...int64) step {
	return guard(limit.Guard{Kind: limit.LogIs, Elements: elements})
}

func set(register string, value int64) step {
	return change(limit.Change{Kind: limit.Set, Register: register, Value: value})
}

func add(register string, n int64) step {
	return change(limit.Change{Kind: limit.Add, Register: register, Value: n})
}

func addFrom(register string, base, n int64) step {
	return change(limit.Change{Kind: limit.AddFrom, Register: register, Base: base, Value: n})
}

func drop(register string) step {
	return change(limit.Change{Kind: limit.Drop, Register: register})
}

func push(n int, value int64) step {
	return change(limit.Change{Kind: limit.Append, N: n, Value: value})
}

func remove(from, n int) step {
	return change(limit.Change{Kind: limit.Remove, From: from, N: n})
}

func addAt(index int, n int64) step {
	return change(limit.Change{Kind: limit.AddAt, From: index, Value: n})
}

func clearLog() step { return change(limit.Change{Kind: limit.Clear}) }
