package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

var reads = []test{
	{"an item never written", func(t *testing.T, s store.Store) {
		states, err := s.Read(t.Context(), "nobody", []string{bucket, daily})
		if err != nil {
			t.Fatal(err)
		}
		outcome{t, states}.is(absent, absent)
	}},
	{"some limits, in the order asked for", func(t *testing.T, s store.Store) {
		newItem(t, s, "alice").applies(part(bucket, set("tat", 1)), part(daily, set("n", 2)), part(exact, push(1, 3)))
		states, err := s.Read(t.Context(), "alice", []string{exact, "unused.tb", bucket})
		if err != nil {
			t.Fatal(err)
		}
		outcome{t, states}.is(log(3), absent, registers("tat", 1))
	}},
	{"no limits", func(t *testing.T, s store.Store) {
		states, err := s.Read(t.Context(), "alice", nil)
		if err != nil || len(states) != 0 {
			t.Fatalf("%v, %v", states, err)
		}
	}},
	{"a state returned stays as it was", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		first := alice.applies(part(exact, set("n", 1), push(2, 1)))
		second := alice.applies(part(exact, add("n", 1), remove(0, 1), push(1, 2)))
		alice.applies(part(exact, add("n", 1), remove(0, 1), push(1, 3)))
		first.is(limit.State{Registers: []limit.Register{{Name: "n", Value: 1}}, Log: []int64{1, 1}})
		second.is(limit.State{Registers: []limit.Register{{Name: "n", Value: 2}}, Log: []int64{1, 2}})
	}},
}

var contexts = []test{
	{"already cancelled: nothing is written", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Apply(ctx, alice.write(part(bucket, set("tat", 1))))
		wantNotWritten(t, err)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error does not tell why: %v", err)
		}
		alice.has(bucket, absent)

		if _, err := s.Read(ctx, "alice", []string{bucket}); err == nil {
			t.Error("Read with a cancelled context: no error")
		}
	}},
	{"deadline already over: nothing is written", func(t *testing.T, s store.Store) {
		alice := newItem(t, s, "alice")
		ctx, cancel := context.WithTimeout(t.Context(), -1)
		defer cancel()
		_, err := s.Apply(ctx, alice.write(part(bucket, set("tat", 1))))
		wantNotWritten(t, err)
		alice.has(bucket, absent)
	}},
}

func wantNotWritten(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*store.Error](err)
	if !ok {
		t.Fatalf("%v (%T), want a *store.Error", err, err)
	}
	if e.Unknown || e.Reason != store.Unavailable {
		t.Errorf("%v, want unavailable with a known outcome", err)
	}
}
