package dynamo_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

func TestTablesThatAreThereAreKept(t *testing.T) {
	client, tables := dynamotest.Tables(t)
	s := dynamo.New(client, tables.State, dynamo.WithBudget(patience))
	if _, err := s.Apply(t.Context(), charging); err != nil {
		t.Fatal(err)
	}
	if err := dynamo.CreateTables(t.Context(), client, tables); err != nil {
		t.Fatalf("again: %v", err)
	}
	states, err := s.Read(t.Context(), charging.Key, []string{"per-user.tb"})
	if err != nil || states[0].IsZero() {
		t.Errorf("%+v, %v", states, err)
	}
}

func TestStateExpires(t *testing.T) {
	client, tables := dynamotest.Tables(t)
	out, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &tables.State})
	if err != nil {
		t.Fatal(err)
	}
	if d := out.TimeToLiveDescription; d.TimeToLiveStatus != types.TimeToLiveStatusEnabled || *d.AttributeName != "expires_at" {
		t.Errorf("%+v", d)
	}
	table, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &tables.State})
	if err != nil {
		t.Fatal(err)
	}
	if mode := table.Table.BillingModeSummary; mode == nil || mode.BillingMode != types.BillingModePayPerRequest {
		t.Errorf("billing %+v", mode)
	}
}

func TestATableNameHasThreeCharacters(t *testing.T) {
	if err := dynamo.CreateTables(t.Context(), dynamotest.Client(t), dynamo.Tables{State: "st", Config: "config"}); err == nil {
		t.Error("no error")
	}
}

func TestWaitingForATableEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := dynamo.WaitTables(ctx, dynamotest.Client(t), dynamo.Tables{State: "nobody-made-it", Config: "neither"}); err == nil {
		t.Error("no error")
	}
}
