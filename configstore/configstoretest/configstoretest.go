// Package configstoretest is the conformance suite of [configstore.Items]. Every
// driver passes it with one line:
//
//	func TestConformance(t *testing.T) {
//		configstoretest.Run(t, func(*testing.T) configstore.Items { return memory.New() })
//	}
//
// First the contract of items by itself; then what a store on them promises to those
// who race, and to those whose change is cut off.
package configstoretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed43908478/penstock/configstore"
)

// Run runs the suite. open returns items of which there are none, which are used by
// one test; what it has to close, it closes with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) configstore.Items) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, configstore.Items)
	}{
		{"items are read as they were written", reads},
		{"conditions", conditions},
		{"a transaction is written whole or not", atomicity},
		{"deletes", deletes},
		{"a range", ranges},
		{"pages", pages},
		{"a partition is by itself", partitions},
		{"large items", large},
		{"the largest transaction", largest},
		{"one of those who race wins", races},
		{"a caller who gave up", gaveUp},
		{"racing writers of one tenant", oneTenant},
		{"racing writers of many tenants", manyTenants},
		{"racing keys", racingKeys},
		{"a writer that dies", dyingWriter},
		{"a reader while versions change", readers},
		{"what a writer left is swept up", sweeping},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func key(pk, sk string) configstore.Key { return configstore.Key{PK: pk, SK: sk} }

func item(pk, sk string, version int64, data string) configstore.Item {
	return configstore.Item{Key: key(pk, sk), Version: version, Data: []byte(data)}
}

// A desk asserts on items.
type desk struct {
	t     *testing.T
	items configstore.Items
}

func (d desk) transacts(tx configstore.Transaction, want error) {
	d.t.Helper()
	if err := d.items.Transact(d.t.Context(), tx); !errors.Is(err, want) {
		d.t.Fatalf("transact: %v, want %v", err, want)
	}
}

func (d desk) puts(items ...configstore.Item) {
	d.t.Helper()
	d.transacts(configstore.Transaction{Puts: items}, nil)
}

// has fails unless the item is there as it was written.
func (d desk) has(want configstore.Item) {
	d.t.Helper()
	got, ok, err := d.items.Get(d.t.Context(), want.Key)
	if err != nil || !ok || got.Key != want.Key || got.Version != want.Version || !bytes.Equal(got.Data, want.Data) {
		d.t.Errorf("got %.100v, %t, %v, want %.100v", got, ok, err, want)
	}
}

func (d desk) lacks(k configstore.Key) {
	d.t.Helper()
	if got, ok, err := d.items.Get(d.t.Context(), k); ok || err != nil {
		d.t.Errorf("got %.100v, %t, %v, want none", got, ok, err)
	}
}

func reads(t *testing.T, items configstore.Items) {
	d := desk{t, items}
	d.lacks(key("a", "b"))
	for _, want := range []configstore.Item{
		item("a", "b", 0, "x"),
		item("a", "b", 7, "another"),
		item("a", "b", 1<<53+1, "\x00\xff{}"),
		item("a#é/:@", " ~", 0, "x"),
	} {
		d.puts(want)
		d.has(want)
	}
}

func conditions(t *testing.T, items configstore.Items) {
	d := desk{t, items}
	k := key("a", "b")
	step := func(if_, next int64, want error) {
		t.Helper()
		d.transacts(configstore.Transaction{
			If: []configstore.Condition{{Key: k, Version: if_}}, Puts: []configstore.Item{item("a", "b", next, "x")},
		}, want)
	}
	step(1, 2, configstore.ErrConflict)
	d.lacks(k)
	step(0, 5, nil)
	step(0, 6, configstore.ErrConflict)
	step(4, 6, configstore.ErrConflict)
	step(6, 6, configstore.ErrConflict)
	d.has(item("a", "b", 5, "x"))
	step(5, 6, nil)
	d.has(item("a", "b", 6, "x"))

	// About an item that is not written, and one that is deleted.
	other := func(if_ int64, want error) {
		t.Helper()
		d.transacts(configstore.Transaction{
			If: []configstore.Condition{{Key: k, Version: if_}}, Puts: []configstore.Item{item("other", "b", 0, "x")},
		}, want)
	}
	other(5, configstore.ErrConflict)
	d.lacks(key("other", "b"))
	other(6, nil)
	d.has(item("other", "b", 0, "x"))
	d.transacts(configstore.Transaction{If: []configstore.Condition{{Key: k, Version: 5}}, Deletes: []configstore.Key{k}}, configstore.ErrConflict)
	d.transacts(configstore.Transaction{If: []configstore.Condition{{Key: k, Version: 6}}, Deletes: []configstore.Key{k}}, nil)
	d.lacks(k)
}

func atomicity(t *testing.T, items configstore.Items) {
	d := desk{t, items}
	d.puts(item("a", "1", 1, "old"))
	tx := configstore.Transaction{
		If:      []configstore.Condition{{Key: key("a", "2"), Version: 9}},
		Puts:    []configstore.Item{item("a", "0", 0, "new"), item("a", "2", 2, "new"), item("b", "2", 2, "new")},
		Deletes: []configstore.Key{key("a", "1")},
	}
	d.transacts(tx, configstore.ErrConflict)
	d.has(item("a", "1", 1, "old"))
	for _, p := range tx.Puts {
		d.lacks(p.Key)
	}
	tx.If[0].Version = 0
	d.transacts(tx, nil)
	d.lacks(key("a", "1"))
	for _, p := range tx.Puts {
		d.has(p)
	}
}

func deletes(t *testing.T, items configstore.Items) {
	d := desk{t, items}
	d.puts(item("a", "1", 1, "x"), item("a", "2", 1, "x"), item("a", "3", 1, "x"))
	d.transacts(configstore.Transaction{Deletes: []configstore.Key{key("a", "2")}}, nil)
	d.transacts(configstore.Transaction{Deletes: []configstore.Key{key("a", "2"), key("a", "none")}}, nil)
	d.lists(configstore.Range{PK: "a", Limit: 10}, "1", "3")
}

// lists fails unless the whole range has these, page by page.
func (d desk) lists(r configstore.Range, want ...string) {
	d.t.Helper()
	got := []string{}
	for {
		page, more, err := d.items.Query(d.t.Context(), r)
		if err != nil || len(page) > r.Limit {
			d.t.Fatalf("%+v: %d items, %v", r, len(page), err)
		}
		for _, i := range page {
			if i.PK != r.PK || (len(i.Data) == 0) != r.KeysOnly {
				d.t.Errorf("%+v: got %v", r, i)
			}
			got, r.After = append(got, i.SK), i.SK
		}
		if !more {
			break
		}
	}
	if !reflect.DeepEqual(got, append([]string{}, want...)) {
		d.t.Errorf("%+v: got %q, want %q", r, got, want)
	}
}

func ranges(t *testing.T, items configstore.Items) {
	d := desk{t, items}
	d.puts(item("a", "3", 1, "x"), item("a", "1", 1, "x"), item("a", "20", 0, "x"), item("a", "2", 1, "x"), item("a", "Z", 1, "x"), item("a", "é", 1, "x"))
	for _, c := range []struct {
		r    configstore.Range
		want []string
	}{
		{configstore.Range{}, []string{"1", "2", "20", "3", "Z", "é"}},
		{configstore.Range{From: "2"}, []string{"2", "20", "3", "Z", "é"}},
		{configstore.Range{To: "2"}, []string{"1", "2"}},
		{configstore.Range{From: "15", To: "25"}, []string{"2", "20"}},
		{configstore.Range{From: "4", To: "5"}, nil},
		{configstore.Range{KeysOnly: true, To: "1"}, []string{"1"}},
		{configstore.Range{From: "x", To: "y", KeysOnly: true}, nil},
	} {
		for limit := 1; limit < 8; limit += 2 {
			r := c.r
			r.PK, r.Limit = "a", limit
			d.lists(r, c.want...)
			r.Descending = true
			reversed := []string{}
			for i := range c.want {
				reversed = append(reversed, c.want[len(c.want)-1-i])
			}
			d.lists(r, reversed...)
		}
	}
}

// A cursor stands for its place also when its item is gone.
func pages(t *testing.T, items configstore.Items) {
	d := desk{t, items}
	d.puts(item("a", "1", 1, "x"), item("a", "3", 1, "x"), item("a", "5", 1, "x"))
	d.lists(configstore.Range{PK: "a", After: "3", Limit: 1}, "5")
	d.lists(configstore.Range{PK: "a", After: "2", Limit: 1}, "3", "5")
	d.lists(configstore.Range{PK: "a", After: "5", Limit: 1})
	d.lists(configstore.Range{PK: "a", After: "4", Limit: 1, Descending: true}, "3", "1")
	d.lists(configstore.Range{PK: "a", After: "1", Limit: 1, Descending: true})
}

func partitions(t *testing.T, items configstore.Items) {
	d := desk{t, items}
	d.puts(item("a", "1", 1, "x"), item("aa", "2", 1, "x"), item("a/", "3", 1, "x"), item("b", "4", 1, "x"), item("A", "5", 1, "x"))
	for _, descending := range []bool{false, true} {
		d.lists(configstore.Range{PK: "a", Limit: 10, Descending: descending}, "1")
		d.lists(configstore.Range{PK: "a/", Limit: 10, Descending: descending}, "3")
		d.lists(configstore.Range{PK: "b", Limit: 10, Descending: descending}, "4")
		d.lists(configstore.Range{PK: "c", Limit: 10, Descending: descending})
	}
}

// noise is data that no compression makes smaller.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return string(b)
}

func large(t *testing.T, items configstore.Items) {
	d := desk{t, items}
	var want []string
	for n := range 6 {
		sk := fmt.Sprint(n)
		i := item("large", sk, 1, noise(configstore.MaxData))
		d.puts(i)
		d.has(i)
		want = append(want, sk)
	}
	d.lists(configstore.Range{PK: "large", Limit: 10}, want...) // more than one answer of DynamoDB holds
	d.lists(configstore.Range{PK: "large", Limit: 10, KeysOnly: true}, want...)
}

func largest(t *testing.T, items configstore.Items) {
	d := desk{t, items}
	tx := configstore.Transaction{If: []configstore.Condition{{Key: key("largest", "00"), Version: 0}}}
	for n := range configstore.MaxItems {
		tx.Puts = append(tx.Puts, item("largest", fmt.Sprintf("%02d", n), 1, noise(3000)))
	}
	d.transacts(tx, nil)
	d.transacts(tx, configstore.ErrConflict)
	for _, p := range tx.Puts {
		d.has(p)
	}
}

func races(t *testing.T, items configstore.Items) {
	const rounds, racers = 10, 8
	d := desk{t, items}
	for version := range int64(rounds) {
		var won atomic.Int64
		var all sync.WaitGroup
		for n := range racers {
			all.Go(func() {
				err := items.Transact(t.Context(), configstore.Transaction{
					If:   []configstore.Condition{{Key: key("a", "head"), Version: version}},
					Puts: []configstore.Item{item("a", "head", version+1, "x"), item("a", fmt.Sprintf("of %d", version), int64(n), "x")},
				})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, configstore.ErrConflict) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won.Load() > 1 {
			t.Fatalf("%d have won", won.Load())
		}
		if won.Load() == 0 { // they were in each other's way: allowed, but not for ever
			d.transacts(configstore.Transaction{
				If:   []configstore.Condition{{Key: key("a", "head"), Version: version}},
				Puts: []configstore.Item{item("a", "head", version+1, "x")},
			}, nil)
		}
	}
	d.has(item("a", "head", rounds, "x"))
}

func gaveUp(t *testing.T, items configstore.Items) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := items.Get(ctx, key("a", "b")); err == nil {
		t.Error("Get")
	}
	if _, _, err := items.Query(ctx, configstore.Range{PK: "a", Limit: 1}); err == nil {
		t.Error("Query")
	}
	if err := items.Transact(ctx, configstore.Transaction{Puts: []configstore.Item{item("a", "b", 1, "x")}}); err == nil {
		t.Error("Transact")
	}
	desk{t, items}.lacks(key("a", "b"))
}
