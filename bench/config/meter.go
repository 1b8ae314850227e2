package main

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
)

// A meter has every call say what it consumed, and adds that up.
type meter struct {
	mu                 sync.Mutex
	calls, reads, puts float64
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls, m.reads, m.puts = 0, 0, 0
}

func (m *meter) cost(took time.Duration) cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return cost{Seconds: took.Seconds(), Calls: int(m.calls), WriteUnits: m.puts, ReadUnits: m.reads}
}

func (m *meter) observe(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("PenstockMeter",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error,
		) {
			ask(in.Parameters)
			out, metadata, err := next.HandleInitialize(ctx, in)
			if err == nil {
				m.add(out.Result)
			}
			return out, metadata, err
		}), middleware.Before)
}

func ask(parameters any) {
	const total = types.ReturnConsumedCapacityTotal
	switch in := parameters.(type) {
	case *dynamodb.GetItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.QueryInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.PutItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.DeleteItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.TransactWriteItemsInput:
		in.ReturnConsumedCapacity = total
	}
}

func (m *meter) add(result any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	switch out := result.(type) {
	case *dynamodb.GetItemOutput:
		m.reads += units(out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		m.reads += units(out.ConsumedCapacity)
	case *dynamodb.PutItemOutput:
		m.puts += units(out.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		m.puts += units(out.ConsumedCapacity)
	case *dynamodb.TransactWriteItemsOutput:
		for _, c := range out.ConsumedCapacity {
			m.puts += units(&c)
		}
	}
}

func units(c *types.ConsumedCapacity) float64 {
	if c == nil {
		return 0
	}
	return aws.ToFloat64(c.CapacityUnits)
}

func createKey(ctx context.Context, s *configstore.Store) error {
	_, record := apikey.Mint([]byte("0123456789abcdef0123456789abcdef"), apikey.Options{Scopes: []apikey.Scope{apikey.CheckOwn}, Tenant: "tenant-0000000", Now: time.Now()})
	return s.CreateKey(ctx, record, by)
}
