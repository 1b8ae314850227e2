package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/bench"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/memory"
)

type benchOptions struct {
	store        string
	createTables bool
	length       time.Duration
	asJSON       bool
}

func newBench() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure"}
	var o benchOptions
	decisions := &cobra.Command{
		Use:   "decisions",
		Short: "Count what decisions take: DynamoDB calls, write units, time as a ratio to bare writes",
		Long: "Count what decisions take: DynamoDB calls, write units, time as a ratio to bare writes.\n\n" +
			"The writes go to the state table, under keys of their own that expire. Against a table on AWS they cost money.\n" +
			"Units are what DynamoDB says it consumed; of a write whose condition failed it does not say, and one unit is counted.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return benchDecisions(c.Context(), c.OutOrStdout(), o) },
	}
	f := decisions.Flags()
	f.StringVar(&o.store, "store", "memory", "memory or dynamodb")
	f.BoolVar(&o.createTables, "create-tables", false, "with dynamodb: create the tables that are missing")
	f.DurationVar(&o.length, "length", 3*time.Second, "of each scenario")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	c.AddCommand(decisions)
	return c
}

// A benchReport is what bench decisions found.
type benchReport struct {
	Store     string         `json:"store"`
	Scenarios []bench.Result `json:"scenarios"`
	// Refusals are 1,000 calls within a second to a key that is used up.
	Refusals benchRefusals `json:"repeated_refusals"`
	Speed    []bench.Speed `json:"speed,omitempty"`
}

type benchRefusals struct {
	Decisions int   `json:"decisions"`
	Calls     int64 `json:"calls"`
}

func benchDecisions(ctx context.Context, out io.Writer, o benchOptions) error {
	var used bench.Usage
	st, floor, err := benchStore(ctx, o, &used)
	if err != nil {
		return err
	}
	report := benchReport{Store: o.store}
	for _, s := range scenarios() {
		r, err := s.Run(ctx, st, &used, o.length)
		if err != nil {
			return fmt.Errorf("%+v: %w", s, err)
		}
		report.Scenarios = append(report.Scenarios, r)
	}
	if report.Refusals, err = repeatedRefusals(ctx, st, &used); err != nil {
		return err
	}
	if floor != nil {
		if report.Speed, err = benchSpeed(ctx, floor, o.length/8); err != nil {
			return err
		}
	}
	if o.asJSON {
		return printJSON(out, report)
	}
	return report.print(out)
}

func benchSpeed(ctx context.Context, t *benchTable, turn time.Duration) (all []bench.Speed, err error) {
	floor := bench.Floor{Bare: t.add(""), Conditional: t.add("#n BETWEEN :zero AND :most OR attribute_not_exists(#n)")}
	for _, keys := range []int{1, 100} {
		for _, callers := range []int{1, 8, 64} {
			s, err := bench.MeasureSpeed(ctx, dynamo.New(t.client, t.name), floor, callers, keys, turn)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

func scenarios() (all []bench.Scenario) {
	for _, algorithm := range []string{"token_bucket", "sliding_window_log", "fixed_window", "sliding_window_counter", "interval_refill"} {
		for _, keys := range []int{1, 50} {
			for _, load := range []float64{0.5, 1.5} {
				for _, c := range []struct{ callers, instances int }{{1, 1}, {8, 8}, {64, 1}, {64, 64}} {
					all = append(all, bench.Scenario{Algorithm: algorithm, Keys: keys, Callers: c.callers, Instances: c.instances, Load: load})
				}
			}
		}
	}
	return all
}

// A benchTable is a table to make bare writes to.
type benchTable struct {
	client *dynamodb.Client
	name   string
}

// benchStore is the store to measure, and the table behind it where there is one.
func benchStore(ctx context.Context, o benchOptions, used *bench.Usage) (store.Store, *benchTable, error) {
	switch o.store {
	case "memory":
		return counted{memory.New(), used}, nil, nil
	case "dynamodb":
	default:
		return nil, nil, usageError{fmt.Errorf("--store is memory or dynamodb, not %q", o.store)}
	}
	client, err := aws(ctx)
	if err != nil {
		return nil, nil, err
	}
	names := tables()
	if o.createTables {
		if err := createTables(ctx, client, names); err != nil {
			return nil, nil, err
		}
	}
	observe := func(seen dynamo.Observation) {
		used.Calls.Add(int64(seen.Attempts))
		units := int64(seen.Units * 1000)
		if units == 0 {
			units = int64(seen.Attempts) * 1000
		}
		used.MilliUnits.Add(units)
	}
	return dynamo.New(client, names.State, dynamo.WithObserver(observe)), &benchTable{client, names.State}, nil
}

// counted counts the writes of a store that cannot be observed.
type counted struct {
	store.Store
	used *bench.Usage
}

func (c counted) Apply(ctx context.Context, w store.Write) (store.Result, error) {
	c.used.Calls.Add(1)
	return c.Store.Apply(ctx, w)
}

// add returns a write that adds one to a key, under a condition unless it is empty.
func (t *benchTable) add(condition string) func(context.Context, string) error {
	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	return func(ctx context.Context, key string) error {
		in := &dynamodb.UpdateItemInput{
			TableName:                 &t.name,
			Key:                       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}},
			UpdateExpression:          awssdk.String("ADD #n :one SET expires_at = :soon"),
			ExpressionAttributeNames:  map[string]string{"#n": "n"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":one": number(1), ":soon": number(time.Now().Add(time.Hour).Unix())},
			ReturnValues:              types.ReturnValueAllNew,
		}
		if condition != "" {
			in.ConditionExpression = &condition
			in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
			in.ExpressionAttributeValues[":zero"], in.ExpressionAttributeValues[":most"] = number(0), number(1<<40)
		}
		_, err := t.client.UpdateItem(ctx, in)
		return err
	}
}

// repeatedRefusals uses up a key and counts the calls of the refusals that follow.
func repeatedRefusals(ctx context.Context, st store.Store, used *bench.Usage) (r benchRefusals, err error) {
	l, err := limit.New(limit.Policy{Algorithm: "token_bucket", Quota: 1, Period: time.Hour})
	if err != nil {
		return r, err
	}
	e := engine.New(st, engine.Options{})
	item := quota.Item{Key: fmt.Sprintf("refusals|%d", time.Now().UnixNano()), Rules: []*quota.Rule{{Name: "bench", ID: "bench.tb", Limit: l}}}
	call := engine.Call{Cost: 1, Items: []quota.Item{item}}
	if _, err := e.Decide(ctx, call); err != nil {
		return r, err
	}
	before := used.Calls.Load()
	for start := time.Now(); r.Decisions < 1000 && time.Since(start) < time.Second; r.Decisions++ {
		if _, err := e.Decide(ctx, call); err != nil {
			return r, err
		}
	}
	r.Calls = used.Calls.Load() - before
	return r, nil
}

func (r benchReport) print(w io.Writer) error {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
	p("%-20s %5s %8s %10s %5s %10s %9s %7s %15s %16s %15s %15s %6s %8s %8s\n", "algorithm", "keys", "callers", "instances", "load",
		"decisions", "admitted", "failed", "calls/decision", "calls/admission", "calls/admitted", "units/decision", "most", "p50 ms", "p99 ms")
	for _, s := range r.Scenarios {
		p("%-20s %5d %8d %10d %5.1f %10d %9d %7d %15.2f %16.2f %15.2f %15.2f %6d %8.2f %8.2f\n", s.Algorithm, s.Keys, s.Callers, s.Instances, s.Load,
			s.Decisions, s.Admitted, s.Failed, s.CallsPerDecision, s.CallsPerAdmission, s.CallsPerAdmittedDecision, s.UnitsPerDecision, s.MostWrites, s.P50, s.P99)
	}
	p("\n%d repeated refusals: %d calls\n", r.Refusals.Decisions, r.Refusals.Calls)
	for i, s := range r.Speed {
		if i == 0 {
			p("\n%8s %5s %13s %13s %20s %9s %15s\n", "callers", "keys", "decisions/s", "bare writes/s", "conditional writes/s", "to bare", "to conditional")
		}
		p("%8d %5d %13.0f %13.0f %20.0f %9.2f %15.2f\n", s.Callers, s.Keys, s.DecisionsPerSec, s.BarePerSec, s.ConditionalPerSec, s.RatioToBare, s.RatioToConditional)
	}
	return nil
}
