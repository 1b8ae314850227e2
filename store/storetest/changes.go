package storetest

import (
	"math"
	"testing"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

var changes = []test{
	{"set makes a register or replaces it", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(bucket, set("tat", 1), set("t", 2))).is(registers("tat", 1, and("t", 2)))
		alice.applies(part(bucket, set("tat", 3))).is(registers("tat", 3, and("t", 2)))
		alice.has(bucket, registers("tat", 3, and("t", 2)))
	}},
	{"add counts up and down", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(daily, set("n", 5)))
		alice.applies(part(daily, ifIn("n", 0, 9), add("n", 3))).is(registers("n", 8))
		alice.applies(part(daily, ifIn("n", 0, 9), add("n", -10))).is(registers("n", -2))
		alice.has(daily, registers("n", -2))
	}},
	{"add to a register that is not there does not hold", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.fails(part(daily, add("n", 1))).is(absent)
		alice.has(daily, absent)
		alice.applies(part(daily, set("n", 1)))
		alice.fails(part(daily, add("n", 1), add("m", 1))).is(registers("n", 1))
	}},
	{"add from a base makes a register or counts on", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(daily, addFrom("n", 100, 1))).is(registers("n", 101))
		alice.applies(part(daily, addFrom("n", 500, 2), addFrom("m", -5, 0))).is(registers("n", 103, and("m", -5)))
		alice.fails(part(daily, ifInOrAbsent("n", 0, 102), addFrom("n", 100, 1))).is(registers("n", 103, and("m", -5)))
	}},
	{"drop takes a register away", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(daily, drop("n"))).is(absent)
		alice.applies(part(daily, set("n", 1), set("m", 2)), part(bucket, set("n", 3)))
		alice.applies(part(daily, drop("n"), add("m", 1), drop("o"))).is(registers("m", 3))
		alice.has(bucket, registers("n", 3))
		alice.fails(part(daily, ifIn("n", math.MinInt64, math.MaxInt64))).is(registers("m", 3))
		alice.applies(part(daily, ifInOrAbsent("n", 5, 5), addFrom("n", 7, 1), drop("m"))).is(registers("n", 8))
		alice.applies(part(daily, drop("n"))).is(absent)
	}},
	{"removing elements that are not there does not hold", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.fails(part(exact, remove(0, 1))).is(absent)
		alice.applies(part(exact, push(2, 1)))
		alice.fails(part(exact, remove(1, 2))).is(log(1, 1))
		alice.fails(part(exact, remove(0, 3), push(1, 2))).is(log(1, 1))
		alice.fails(part(exact, ifSize(2, 9), remove(0, 3))).is(log(1, 1))
		alice.fails(part(exact, ifElements(0, 2, 1, 1), remove(0, 3))).is(log(1, 1))
	}},
	{"adding to elements that are not there does not hold", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.fails(part(exact, addAt(0, 1))).is(absent)
		alice.applies(part(exact, push(2, 1)))
		alice.fails(part(exact, addAt(2, 1))).is(log(1, 1))
		alice.fails(part(exact, ifSize(2, 9), addAt(2, 1))).is(log(1, 1))
		alice.fails(part(exact, ifElements(0, 2, 1, 1), addAt(0, 1), addAt(2, 1))).is(log(1, 1))
		alice.applies(part(exact, ifLog(1, 1), addAt(1, 1))).is(log(1, 2))
	}},
	{"all of 64 bits are kept", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		extremes := limit.State{
			Registers: []limit.Register{{Name: "least", Value: math.MinInt64}, {Name: "most", Value: math.MaxInt64}},
			Log:       []int64{math.MinInt64, -1, 0, 1<<53 + 1, math.MaxInt64},
		}
		alice.applies(part(exact, set("least", math.MinInt64), set("most", math.MaxInt64),
			push(1, math.MinInt64), push(1, -1), push(1, 0), push(1, 1<<53+1), push(1, math.MaxInt64))).is(extremes)
		alice.applies(part(exact, ifIn("least", math.MinInt64, math.MinInt64), ifIn("most", math.MaxInt64, math.MaxInt64))).is(extremes)
		alice.fails(part(exact, ifIn("most", math.MinInt64, math.MaxInt64-1))).is(extremes)
		alice.applies(part(exact, add("most", -1), add("least", 1)))
		alice.has(exact, limit.State{
			Registers: []limit.Register{{Name: "least", Value: math.MinInt64 + 1}, {Name: "most", Value: math.MaxInt64 - 1}},
			Log:       extremes.Log,
		})
	}},
	{"no change at all is a question", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(bucket, ifInOrAbsent("tat", 0, 0))).is(absent)
		alice.has(bucket, absent)
		alice.fails(part(bucket, ifIn("tat", 0, 0))).is(absent)
	}},
	{"a write that fails leaves no item", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.fails(part(bucket, ifIn("tat", 0, 9), set("tat", 1)))
		alice.has(bucket, absent)
	}},
}

var severalParts = []test{
	{"all or nothing", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(bucket, set("tat", 10)), part(daily, set("n", 1000)))

		alice.fails(
			part(bucket, ifIn("tat", 0, 10), add("tat", 1)),
			part(daily, ifIn("n", 0, 999), add("n", 1)),
		).is(registers("tat", 10), registers("n", 1000))
		alice.has(bucket, registers("tat", 10))

		alice.fails(
			part(bucket, ifIn("tat", 0, 9), add("tat", 1)),
			part(daily, ifIn("n", 0, 1000), add("n", 1)),
		).is(registers("tat", 10), registers("n", 1000))
		alice.has(daily, registers("n", 1000))

		alice.applies(
			part(bucket, ifIn("tat", 0, 10), add("tat", 1)),
			part(daily, ifIn("n", 0, 1000), add("n", 1)),
		).is(registers("tat", 11), registers("n", 1001))
	}},
	{"states come in the order of the parts", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part("a", set("n", 1)), part("b", set("n", 2)), part("c", push(1, 3))).
			is(registers("n", 1), registers("n", 2), log(3))
		alice.applies(part("c"), part("a"), part("b")).is(log(3), registers("n", 1), registers("n", 2))
		alice.fails(part("b", ifIn("n", 0, 0)), part("nobody"), part("c"), part("a")).
			is(registers("n", 2), absent, log(3), registers("n", 1))
	}},
	{"other limits of the item stay", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(bucket, set("tat", 1)), part(exact, push(2, 5)))
		alice.applies(part(daily, ifInOrAbsent("n", 0, 9), set("n", 1))).is(registers("n", 1))
		alice.fails(part(daily, ifIn("n", 5, 9), set("n", 2))).is(registers("n", 1))
		alice.has(bucket, registers("tat", 1))
		alice.has(exact, log(5, 5))
	}},
	{"a limit whose name begins like another's is another", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part("api", set("tat", 1)), part("api.tb", set("tat", 2)), part("api.tb.swl", push(1, 3)))
		alice.has("api", registers("tat", 1))
		alice.has("api.tb", registers("tat", 2))
		alice.has("api.tb.swl", log(3))
		for _, other := range []string{"ap", "a", "p", "expires", "api.t"} {
			alice.has(other, absent)
		}
	}},
	{"items do not know each other", func(t *testing.T, s store.Store) {
		alice, bob := newItem(t, s, "alice"), newItem(t, s, "bob")
		alice.applies(part(bucket, set("tat", 1)))
		bob.has(bucket, absent)
		bob.applies(part(bucket, ifInOrAbsent("tat", 2, 2), set("tat", 2))).is(registers("tat", 2))
		alice.has(bucket, registers("tat", 1))
	}},
	{"any text is a key and a name", func(t *testing.T, s store.Store) {
		texts := []string{"a|b", "a", "b|c", " ", "#pk", ":v0", "a.b[0]", "SET x = 1", "pk", "expires_at", "日本語", "\x00\x7f", "\"'`\\", "é", "e\u0301"}
		for n, text := range texts {
			newItem(t, s, text).applies(part(text, ifInOrAbsent("n", -1, -1), set("n", int64(n)), push(1, int64(n))))
		}
		for n, text := range texts {
			newItem(t, s, text).has(text, limit.State{Registers: []limit.Register{{Name: "n", Value: int64(n)}}, Log: []int64{int64(n)}})
		}
	}},
	{"twenty limits in one write", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		var first, next []store.Part
		var want []limit.State
		for n := range int64(20) {
			name := "limit-" + string(rune('a'+n)) + ".tb"
			first = append(first, part(name, ifInOrAbsent("tat", math.MinInt64, n-1), set("tat", n), set("t", n)))
			next = append(next, part(name, ifIn("tat", n, n+100), ifIn("t", n, n), add("tat", 2*n)))
			want = append(want, registers("tat", 3*n, and("t", n)))
		}
		alice.applies(first...)
		alice.applies(next...).is(want...)
	}},
}
