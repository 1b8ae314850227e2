package storetest

import (
	"math"
	"testing"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

var logs = []test{
	{"a log grows from nothing", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, push(1, 10))).is(log(10))
		alice.applies(part(exact, push(1, 20))).is(log(10, 20))
		alice.applies(part(exact, push(2, 30))).is(log(10, 20, 30, 30))
		alice.has(exact, log(10, 20, 30, 30))
	}},
	{"a new time takes the place of the oldest", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, push(1, 10), push(1, 20), push(1, 30)))
		alice.applies(part(exact, ifSize(1, 3), ifElements(0, 1, math.MinInt64, 10), remove(0, 1), push(1, 40))).is(log(20, 30, 40))
		alice.fails(part(exact, ifSize(1, 3), ifElements(0, 1, math.MinInt64, 10), remove(0, 1), push(1, 40))).is(log(20, 30, 40))
	}},
	{"several at once, in order", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, push(1, 1), push(2, 2), push(1, 3))).is(log(1, 2, 2, 3))
		alice.applies(part(exact, ifElements(0, 3, 1, 2), remove(0, 3), push(2, 4), push(1, 5))).is(log(3, 4, 4, 5))
		alice.has(exact, log(3, 4, 4, 5))
	}},
	{"more taken out than put in", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, push(5, 1), push(1, 2)))
		alice.applies(part(exact, ifSize(6, 6), ifElements(0, 5, 1, 1), remove(0, 5), push(1, 3))).is(log(2, 3))
	}},
	{"all of it replaced", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, push(3, 1)))
		alice.applies(part(exact, ifElements(0, 3, 1, 1), remove(0, 3), push(3, 2))).is(log(2, 2, 2))
	}},
	{"giving back takes out of the middle", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, push(1, 1), push(2, 2), push(1, 3)))
		alice.fails(part(exact, ifElements(2, 2, 2, 2), remove(2, 2))).is(log(1, 2, 2, 3))
		alice.applies(part(exact, ifElements(1, 2, 2, 2), remove(1, 2))).is(log(1, 3))
		alice.applies(part(exact, remove(1, 1), push(1, 4))).is(log(1, 4))
	}},
	{"an emptied log is there", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, push(1, 1)))
		alice.applies(part(exact, remove(0, 1))).is(log())
		alice.has(exact, log())
		alice.applies(part(exact, ifSize(0, 0)))
		alice.fails(part(exact, ifSizeOrAbsent(1, 9)))
		alice.applies(part(exact, push(1, 2))).is(log(2))
	}},
	{"a count in the middle goes up and down", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, push(3, 5), set("sum", 15)))
		alice.applies(part(exact, ifElements(2, 1, 5, 5), addAt(2, 4), ifIn("sum", 15, 15), add("sum", 4))).
			is(counted(19, 5, 5, 9))
		alice.applies(part(exact, addAt(0, -7), addAt(2, 1))).is(counted(19, -2, 5, 10))
		alice.has(exact, counted(19, -2, 5, 10))
	}},
	{"counts move on", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, push(1, 1), push(1, 2), push(1, 3), set("sum", 6)))
		alice.applies(part(exact, ifElements(0, 1, 1, 1), remove(0, 1), push(1, 0), push(1, 4), addAt(2, 10), ifIn("sum", 0, 9), add("sum", 3))).
			is(counted(9, 2, 13, 0, 4))
		alice.applies(part(exact, addAt(3, 1), push(1, 7))).is(counted(9, 2, 13, 0, 5, 7))
	}},
	{"a list that is replaced as a whole", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.fails(part(exact, ifLog(), clearLog())).is(absent)
		alice.applies(part(exact, clearLog(), push(2, 1), push(1, 2))).is(log(1, 1, 2))
		for _, other := range [][]int64{{}, {1, 1}, {1, 2, 1}, {1, 1, 2, 2}} {
			alice.fails(part(exact, ifLog(other...), clearLog(), push(1, 9))).is(log(1, 1, 2))
		}
		alice.applies(part(exact, ifLog(1, 1, 2), clearLog(), push(1, math.MaxInt64), push(1, math.MinInt64))).is(log(math.MaxInt64, math.MinInt64))
		alice.applies(part(exact, ifLog(math.MaxInt64, math.MinInt64), clearLog())).is(log())
		alice.applies(part(exact, ifLog())).is(log())
	}},
	{"a log beside registers and another log", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, push(2, 1)), part("other.swl", push(1, 9)), part(bucket, set("tat", 1)))
		alice.applies(
			part(exact, ifElements(0, 1, 1, 1), remove(0, 1), push(1, 2)),
			part("other.swl", ifElements(0, 1, 9, 9), remove(0, 1), push(2, 8)),
			part(bucket, ifIn("tat", 1, 1), add("tat", 1)),
		).is(log(1, 2), log(8, 8), registers("tat", 2))
	}},
	{"a hundred of a thousand are replaced", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		want := make([]int64, 0, 1000)
		for n := range int64(10) {
			alice.applies(part(exact, ifSizeOrAbsent(0, 900), push(100, n)))
		}
		for n := range int64(10) {
			for range 100 {
				want = append(want, n+1)
			}
		}
		alice.applies(part(exact, ifSize(100, 1000), ifElements(0, 100, math.MinInt64, 0), remove(0, 100), push(100, 10))).is(log(want...))
		alice.fails(part(exact, ifSize(100, 1000), ifElements(0, 100, math.MinInt64, 0), remove(0, 100), push(100, 10))).is(log(want...))
		alice.has(exact, log(want...))
	}},
}

// counted is the state of a log of counts.
func counted(sum int64, counts ...int64) limit.State {
	return limit.State{Registers: registers("sum", sum).Registers, Log: counts}
}
