package storetest

import (
	"math"
	"testing"

	"github.com/seed43908478/penstock/store"
)

const bucket, daily, exact = "per-user.tb", "per-day.fw", "per-user.swl"

var guards = []test{
	{"a register in a range", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.fails(part(bucket, ifIn("tat", math.MinInt64, math.MaxInt64), set("tat", 1))).is(absent)
		alice.applies(part(bucket, set("tat", 10)))

		alice.fails(part(bucket, ifIn("tat", 11, 20), set("tat", 1))).is(registers("tat", 10))
		alice.fails(part(bucket, ifIn("tat", 0, 9), set("tat", 1))).is(registers("tat", 10))
		alice.applies(part(bucket, ifIn("tat", 10, 20))).is(registers("tat", 10))
		alice.applies(part(bucket, ifIn("tat", 0, 10))).is(registers("tat", 10))
		alice.applies(part(bucket, ifIn("tat", 10, 10))).is(registers("tat", 10))
	}},
	{"a register in a range or absent", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(bucket, ifInOrAbsent("tat", math.MinInt64, 99), set("tat", 100))).is(registers("tat", 100))
		alice.fails(part(bucket, ifInOrAbsent("tat", math.MinInt64, 99), set("tat", 100))).is(registers("tat", 100))
		alice.applies(part(bucket, ifInOrAbsent("tat", math.MinInt64, 100), set("tat", 200))).is(registers("tat", 200))
		alice.fails(part(bucket, ifInOrAbsent("tat", 201, math.MaxInt64), set("tat", 0))).is(registers("tat", 200))
		alice.applies(part(bucket, ifInOrAbsent("n", 7, 7), set("n", 7))).is(registers("tat", 200, and("n", 7)))
	}},
	{"a range with nothing in it", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(bucket, ifInOrAbsent("tat", 2, 1), set("tat", 1)), part(exact, ifSizeOrAbsent(2, 1), push(1, 5)))
		alice.fails(part(bucket, ifInOrAbsent("tat", 2, 1)))
		alice.fails(part(bucket, ifIn("tat", 2, 1)))
		alice.fails(part(exact, ifSize(2, 1)))
		alice.fails(part(exact, ifElements(0, 1, 6, 4)))
	}},
	{"several guards on one register", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(bucket, set("tat", 5)))
		alice.applies(part(bucket, ifIn("tat", 0, 9), ifInOrAbsent("tat", 5, 5), set("tat", 6)))
		alice.fails(part(bucket, ifIn("tat", 0, 9), ifInOrAbsent("tat", 5, 5), set("tat", 7))).is(registers("tat", 6))
	}},
	{"the size of a log", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.fails(part(exact, ifSize(0, math.MaxInt64))).is(absent)
		alice.applies(part(exact, push(3, 7)))

		alice.fails(part(exact, ifSize(4, 9))).is(log(7, 7, 7))
		alice.fails(part(exact, ifSize(0, 2))).is(log(7, 7, 7))
		alice.applies(part(exact, ifSize(3, 3)))
		alice.applies(part(exact, ifSize(math.MinInt64, math.MaxInt64)))
	}},
	{"a log that lacks an element", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, ifLacks(7), push(1, 7))).is(log(7))
		alice.fails(part(exact, ifLacks(7), push(1, 7))).is(log(7))
		alice.applies(part(exact, ifLacks(math.MinInt64), push(1, math.MinInt64))).is(log(7, math.MinInt64))
		alice.fails(part(exact, ifLacks(math.MinInt64)))
		alice.applies(part(exact, ifLacks(8), ifSize(2, 2), remove(0, 1), push(1, 8))).is(log(math.MinInt64, 8))
		alice.applies(part(exact, ifLacks(7))).is(log(math.MinInt64, 8))
	}},
	{"the size of a log or absent", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.applies(part(exact, ifSizeOrAbsent(0, 2), push(1, 1))).is(log(1))
		alice.applies(part(exact, ifSizeOrAbsent(0, 2), push(2, 2))).is(log(1, 2, 2))
		alice.fails(part(exact, ifSizeOrAbsent(0, 2), push(1, 3))).is(log(1, 2, 2))
		alice.fails(part(exact, ifSizeOrAbsent(4, 9), push(1, 3))).is(log(1, 2, 2))
	}},
	{"elements of a log", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		alice.fails(part(exact, ifElements(0, 1, math.MinInt64, math.MaxInt64))).is(absent)
		alice.applies(part(exact, push(1, 10), push(1, 20), push(1, 30)))

		alice.applies(part(exact, ifElements(0, 2, 10, 20)))
		alice.applies(part(exact, ifElements(2, 1, 30, 30)))
		alice.applies(part(exact, ifElements(0, 3, math.MinInt64, math.MaxInt64)))
		alice.fails(part(exact, ifElements(0, 2, math.MinInt64, 19))).is(log(10, 20, 30))
		alice.fails(part(exact, ifElements(1, 2, 21, math.MaxInt64))).is(log(10, 20, 30))
		alice.fails(part(exact, ifElements(2, 2, math.MinInt64, math.MaxInt64))).is(log(10, 20, 30))
		alice.fails(part(exact, ifElements(3, 1, math.MinInt64, math.MaxInt64))).is(log(10, 20, 30))
	}},
}
