package dynamo

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

var tomorrow = time.Unix(1_795_348_799, 1)

// busy is a token bucket of 10 a second, charged 1.
var busy = store.Part{Limit: "per-user.tb", Write: limit.Write{
	Guards: []limit.Guard{
		{Kind: limit.RegisterIn, Register: "tat", Min: 1000, Max: 1900},
		{Kind: limit.RegisterIn, Register: "t", Min: 100, Max: 100},
	},
	Changes: []limit.Change{{Kind: limit.Add, Register: "tat", Value: 100}},
}}

// replacing is a log of 1,000 times charged n, all of them in place of old ones.
func replacing(name string, n int) store.Part {
	return store.Part{Limit: name, Write: limit.Write{
		Guards: []limit.Guard{
			{Kind: limit.SizeIn, Min: int64(n), Max: 1000},
			{Kind: limit.ElementsIn, N: n, Min: math.MinInt64, Max: 59_000_000_000},
		},
		Changes: []limit.Change{{Kind: limit.Remove, N: n}, {Kind: limit.Append, N: n, Value: 60_000_000_000}},
	}}
}

func TestExpressions(t *testing.T) {
	rested := limit.Write{
		Guards:  []limit.Guard{{Kind: limit.RegisterInOrAbsent, Register: "tat", Min: math.MinInt64, Max: 999}},
		Changes: []limit.Change{{Kind: limit.Set, Register: "tat", Value: 1100}, {Kind: limit.Set, Register: "t", Value: 100}},
	}
	growing := limit.Write{
		Guards:  []limit.Guard{{Kind: limit.SizeInOrAbsent, Max: 9}},
		Changes: []limit.Change{{Kind: limit.Append, N: 2, Value: 7}},
	}
	open := limit.Write{
		Guards: []limit.Guard{
			{Kind: limit.RegisterIn, Register: "tat", Min: 5, Max: math.MaxInt64},
			{Kind: limit.RegisterIn, Register: "t", Min: math.MinInt64, Max: math.MaxInt64},
		},
		Changes: []limit.Change{{Kind: limit.Add, Register: "tat", Value: -5}},
	}
	window := limit.Write{
		Guards: []limit.Guard{
			{Kind: limit.RegisterInOrAbsent, Register: "r0", Min: 70, Max: 79},
			{Kind: limit.RegisterInOrAbsent, Register: "r1", Min: math.MinInt64, Max: 69},
		},
		Changes: []limit.Change{
			{Kind: limit.AddFrom, Register: "r0", Value: 1, Base: 70},
			{Kind: limit.Drop, Register: "r1"},
		},
	}
	counting := limit.Write{
		Guards:  []limit.Guard{{Kind: limit.RegisterIn, Register: "sum", Min: math.MinInt64, Max: 99}},
		Changes: []limit.Change{{Kind: limit.AddAt, From: 60, Value: 3}, {Kind: limit.Add, Register: "sum", Value: 3}},
	}
	replaced := limit.Write{
		Guards: []limit.Guard{
			{Kind: limit.LogIs, Elements: []int64{1, 2}},
			{Kind: limit.RegisterInOrAbsent, Register: "p", Min: 1, Max: 0},
		},
		Changes: []limit.Change{{Kind: limit.Clear}, {Kind: limit.Append, N: 2, Value: 5}, {Kind: limit.Set, Register: "p", Value: 7}},
	}
	tests := []struct {
		name              string
		parts             []store.Part
		condition, update string
		names             string
		values            int
	}{
		{
			"a busy bucket",
			[]store.Part{busy},
			"#1 BETWEEN :1 AND :2 AND #2 = :3",
			"SET #0 = :0, #1 = #1 + :3",
			"expires_at per-user.tb.tat per-user.tb.t", 4,
		},
		{
			"a rested bucket",
			[]store.Part{{Limit: "per-user.tb", Write: rested}},
			"(attribute_not_exists(#1) OR #1 <= :1)",
			"SET #0 = :0, #1 = :2, #2 = :3",
			"expires_at per-user.tb.tat per-user.tb.t", 4,
		},
		{
			"a gift back",
			[]store.Part{{Limit: "per-user.tb", Write: open}},
			"#1 >= :1 AND attribute_exists(#2)",
			"SET #0 = :0, #1 = #1 + :2",
			"expires_at per-user.tb.tat per-user.tb.t", 3,
		},
		{
			"a window, new or begun or the next",
			[]store.Part{{Limit: "daily.fw", Write: window}},
			"(attribute_not_exists(#1) OR #1 BETWEEN :1 AND :2) AND (attribute_not_exists(#2) OR #2 <= :3)",
			"SET #0 = :0, #1 = if_not_exists(#1, :1) + :4 REMOVE #2",
			"expires_at daily.fw.r0 daily.fw.r1", 5,
		},
		{
			"a log that grows",
			[]store.Part{{Limit: "exact.swl", Write: growing}},
			"(attribute_not_exists(#1) OR size(#1) BETWEEN :1 AND :2)",
			"SET #0 = :0, #1 = list_append(if_not_exists(#1, :3), :4)",
			"expires_at exact.swl.log", 5,
		},
		{
			"a log that is full, and a bucket",
			[]store.Part{replacing("exact.swl", 2), busy},
			"size(#1) BETWEEN :1 AND :2 AND #1[0] <= :3 AND #1[1] <= :3 AND #2 BETWEEN :2 AND :5 AND #3 = :6",
			"SET #0 = :0, #1[99999] = :4, #1[100000] = :4, #2 = #2 + :6 REMOVE #1[0], #1[1]",
			"expires_at exact.swl.log per-user.tb.tat per-user.tb.t", 7,
		},
		{
			"a count of a list",
			[]store.Part{{Limit: "log.swl", Write: counting}},
			"#1 <= :1 AND attribute_exists(#2[60])",
			"SET #0 = :0, #1 = #1 + :2, #2[60] = #2[60] + :2",
			"expires_at log.swl.sum log.swl.log", 3,
		},
		{
			"a list that is replaced",
			[]store.Part{{Limit: "log.swl", Write: replaced}},
			"#1 = :1 AND attribute_not_exists(#2)",
			"SET #0 = :0, #2 = :2, #1 = :3",
			"expires_at log.swl.log log.swl.p", 4,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := express(tt.parts, tomorrow)
			if got := e.condition.String(); got != tt.condition {
				t.Errorf("condition\n got %s\nwant %s", got, tt.condition)
			}
			if got := e.update(); got != tt.update {
				t.Errorf("update\n got %s\nwant %s", got, tt.update)
			}
			if got := strings.Join(e.names, " "); got != tt.names {
				t.Errorf("names %s, want %s", got, tt.names)
			}
			if len(e.values) != tt.values {
				t.Errorf("%d values, want %d", len(e.values), tt.values)
			}
		})
	}
}

func TestExpiryIsInWholeSecondsRoundedUp(t *testing.T) {
	e := express(nil, tomorrow)
	if v := e.attributeValues()[":0"].(*types.AttributeValueMemberN).Value; v != "1795348800" {
		t.Errorf("expires_at = %s", v)
	}
}

func TestNothingToSayIsNil(t *testing.T) {
	e := express(nil, time.Time{})
	if nonEmpty(e.update()) != nil || nonEmpty(e.condition.String()) != nil || e.attributeNames() != nil || e.attributeValues() != nil {
		t.Errorf("%+v", e)
	}
}

// A name is chosen by an operator, a key by anybody.
func TestNoTextOfOthersIsPartOfAnExpression(t *testing.T) {
	evil := replacing("x = :0 REMOVE pk", 1)
	evil.Guards = append(evil.Guards, limit.Guard{Kind: limit.RegisterIn, Register: "or 1=1", Min: 5, Max: 6})
	e := express([]store.Part{evil}, tomorrow)
	for _, text := range []string{e.condition.String(), e.update()} {
		if strings.Contains(text, "pk") || strings.Contains(text, "or 1=1") || strings.Contains(text, "x =") {
			t.Errorf("expression %q", text)
		}
	}
}

// fits returns an error when the write of these parts is more than DynamoDB takes in one expression.
func fits(parts []store.Part) error { return express(parts, time.Unix(1, 0)).check() }

func TestTheLargestCallOfALogFits(t *testing.T) {
	parts := []store.Part{replacing("exact.swl", 100), busy, busy, busy}
	if err := fits(parts); err != nil {
		t.Error(err)
	}
	e := express(parts[:1], tomorrow)
	t.Logf("100 of 1,000: condition of %d bytes and %d operators, update of %d bytes", e.condition.Len(), e.conditions, len(e.update()))

	twenty := slices.Repeat([]store.Part{busy}, 20)
	if err := fits(twenty); err != nil {
		t.Error(err)
	}
}

func TestWhatDoesNotFitIsToldBefore(t *testing.T) {
	if err := fits([]store.Part{replacing("one.swl", 100), replacing("two.swl", 100)}); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("two calls of 100 in one write: %v", err)
	}
	many := store.Part{Limit: "x", Write: limit.Write{Guards: slices.Repeat(busy.Guards[:1], 160)}}
	if err := fits([]store.Part{many}); err == nil || !strings.Contains(err.Error(), "operators") {
		t.Errorf("160 guards: %v", err)
	}
}

func BenchmarkExpress(b *testing.B) {
	for _, bench := range []struct {
		name  string
		parts []store.Part
	}{{"bucket", []store.Part{busy}}, {"100 of a log", []store.Part{replacing("exact.swl", 100)}}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e := express(bench.parts, tomorrow)
				_, _, _ = e.update(), e.attributeNames(), e.attributeValues()
			}
		})
	}
}
