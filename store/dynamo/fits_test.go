package dynamo

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
)

// What validation lets through fits into one write, whichever forms the limits' writes have.
func TestValidLimitsFitIntoOneWrite(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		var limits []quota.Limit
		// Few kinds, so that as many as fit of each come together.
		kinds := rapid.Permutation(limit.Algorithms()).Draw(t, "algorithms")[:rapid.IntRange(1, 3).Draw(t, "kinds")]
		for range rapid.IntRange(1, 20).Draw(t, "limits") {
			limits = append(limits, anyLimit(t, fmt.Sprintf("limit-%d", len(limits)), kinds))
		}
		items := matched(t, limits)
		for range 5 {
			used := writeOf(t, items[0])
			if err := used.check(); err != nil {
				t.Fatalf("%d limits: %v", len(limits), err)
			}
			most = max(most, used.condition.Len(), len(used.update()), max(used.conditions, used.updates)*maxExpression/maxOperators)
		}
	})
	if most < maxExpression*3/4 {
		t.Errorf("the largest takes %d of %d: too little to show anything", most, maxExpression)
	}
}

// matched is the item of as many limits as are valid together.
func matched(t *rapid.T, limits []quota.Limit) []quota.Item {
	for ; ; limits = limits[:len(limits)-1] {
		s, err := quota.Config{Plans: map[string]quota.Plan{"p": {Limits: limits}}, DefaultPlan: "p"}.Compile()
		if err != nil && len(limits) > 1 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		items, err := s.Match(quota.Request{Tenant: "acme", Subject: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		return items
	}
}

func anyLimit(t *rapid.T, name string, algorithms []string) quota.Limit {
	l := quota.Limit{
		Name: name, By: []string{"subject"}, Quota: rapid.SampledFrom([]int64{1, 5, 20, 200}).Draw(t, "quota"),
		Algorithm:  rapid.SampledFrom(algorithms).Draw(t, "algorithm"),
		RequestIDs: rapid.Int64Range(0, 256).Draw(t, "request ids"),
	}
	if l.Algorithm == "sliding_window_log" {
		l.Resolution = rapid.SampledFrom([]int64{0, 2, 100}).Draw(t, "resolution")
	}
	if limit.HasSlots(l.Algorithm) {
		l.TTL = "30s"
	} else {
		l.Period = "hour"
	}
	return l
}

// writeOf is a write in which each limit has one of its forms, with all that is the item's own.
func writeOf(t *rapid.T, item quota.Item) *expression {
	ids := limit.RequestIDs{Remembered: item.RequestIDs}
	full := limit.State{Log: make([]int64, rapid.SampledFrom([]int{0, 256}).Draw(t, "ids"))}
	parts := []store.Part{
		{Limit: "_ids", Write: ids.Propose(full, 1).Write},
		{Limit: "_item", Write: limit.Write{
			Guards:  []limit.Guard{{Kind: limit.RegisterInOrAbsent, Register: "revision", Max: 7}},
			Changes: []limit.Change{{Kind: limit.Set, Register: "revision", Value: 7}},
		}},
	}
	for _, r := range item.Rules {
		forms := r.Limit.Forms()
		parts = append(parts, store.Part{Limit: r.ID, Write: forms[rapid.IntRange(0, len(forms)-1).Draw(t, "form")]})
	}
	return express(parts, tomorrow.Add(time.Hour))
}
