package dynamo_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
	"github.com/seed43908478/penstock/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		client, tables := dynamotest.Tables(t)
		return dynamo.New(client, tables.State, dynamo.WithBudget(patience))
	})
}

// patience is a budget for tests that share a busy machine.
const patience = 10e9

// The time is that of DynamoDB Local too, on the same machine: allocations tell more.
func BenchmarkApply(b *testing.B) {
	client, tables := dynamotest.Tables(b)
	s := dynamo.New(client, tables.State, dynamo.WithBudget(patience))
	bucket := limit.Write{
		Guards:  []limit.Guard{{Kind: limit.RegisterInOrAbsent, Register: "tat", Min: math.MinInt64, Max: math.MaxInt64}},
		Changes: []limit.Change{{Kind: limit.Set, Register: "tat", Value: 1}, {Kind: limit.Set, Register: "t", Value: 100}},
	}
	b.Run("one caller", func(b *testing.B) {
		b.ReportAllocs()
		w := store.Write{Key: "alice", Parts: []store.Part{{Limit: "per-user.tb", Write: bucket}}}
		for b.Loop() {
			if _, err := s.Apply(context.Background(), w); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("64 callers", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			w := store.Write{Parts: []store.Part{{Limit: "per-user.tb", Write: bucket}}}
			for n := 0; pb.Next(); n++ {
				w.Key = fmt.Sprint("user ", n%1000)
				if _, err := s.Apply(context.Background(), w); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
