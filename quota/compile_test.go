package quota_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

func TestCompileRefusesWhatIsNotValid(t *testing.T) {
	t.Parallel()
	_, err := quota.Config{DefaultPlan: "gold"}.Compile()
	problems, ok := errors.AsType[quota.Problems](err)
	want := quota.Problem{Path: "default_plan", Text: `there is no plan "gold": add it to plans`}
	if !ok || len(problems) != 1 || problems[0] != want {
		t.Errorf("%v, want %v", err, want)
	}
}

// A snapshot is made while a request waits for it.
func BenchmarkDecodeAndCompile(b *testing.B) {
	for _, n := range []int{2, 1000, 50_000} {
		tenants := make(map[string]quota.SavedTenant, n)
		for i := range n {
			tenants[fmt.Sprintf("tenant-%d", i)] = quota.SavedTenant{Tenant: quota.Tenant{Plan: "free"}, Revision: 1_795_000_000_000}
		}
		data, err := quota.EncodeTenants(tenants)
		if err != nil {
			b.Fatal(err)
		}
		config := quota.Example()
		b.Run(fmt.Sprintf("tenants=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tenants, err := quota.DecodeTenants(data)
				if err != nil {
					b.Fatal(err)
				}
				clear(config.Tenants)
				for name, t := range tenants {
					config.Tenants[name] = t.Tenant
				}
				if _, err := config.Compile(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a member says depends on who counts by it.
func TestPolicies(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range []struct {
		limit quota.Limit
		want  limit.Policy
	}{
		{quota.Limit{Algorithm: "fixed_window", Period: "90s"}, limit.Policy{Period: 90 * time.Second}},
		{quota.Limit{Algorithm: "fixed_window", Period: "minute"}, limit.Policy{Period: time.Minute}},
		{quota.Limit{Algorithm: "fixed_window", Period: "hour"}, limit.Policy{Period: time.Hour}},
		{quota.Limit{Algorithm: "fixed_window", Period: "day"}, limit.Policy{Period: day}},
		{quota.Limit{Algorithm: "fixed_window", Period: "168h"}, limit.Policy{Period: 7 * day}},
		{quota.Limit{Algorithm: "fixed_window", Period: "week"}, limit.Policy{Period: 7 * day, Calendar: limit.Week}},
		{quota.Limit{Algorithm: "token_bucket", Period: "week"}, limit.Policy{Period: 7 * day}},
		{quota.Limit{Algorithm: "sliding_window_counter", Period: "month"}, limit.Policy{Period: 31 * day, Calendar: limit.Month}},
		{quota.Limit{Algorithm: "fixed_window", Period: "month", AnchorDay: 15}, limit.Policy{Period: 31 * day, Calendar: limit.Month, AnchorDay: 15}},
		{quota.Limit{Algorithm: "sliding_window_log", Period: "hour", Resolution: 60}, limit.Policy{Period: time.Hour, Resolution: 60}},
	} {
		c.limit.Name, c.limit.Quota = "l", 5
		c.want.Algorithm, c.want.Quota = c.limit.Algorithm, 5
		s, err := quota.Config{Plans: map[string]quota.Plan{"p": {Limits: []quota.Limit{c.limit}}}, DefaultPlan: "p"}.Compile()
		if err != nil {
			t.Errorf("%+v: %v", c.limit, err)
			continue
		}
		items, err := s.Match(quota.Request{Tenant: "acme"})
		if err != nil || items[0].Rules[0].Limit.Policy() != c.want {
			t.Errorf("%s of a %s is %+v (%v), want %+v", c.limit.Period, c.limit.Algorithm, items[0].Rules[0].Limit.Policy(), err, c.want)
		}
	}
}
