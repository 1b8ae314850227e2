package dynamo_test

import (
	"testing"

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
