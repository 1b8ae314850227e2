package quota_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/quota"
)

func TestWhatFitsIntoOneWrite(t *testing.T) {
	t.Parallel()
	buckets := func(n int) (limits []quota.Limit) {
		for i := range n {
			limits = append(limits, quota.Limit{Name: fmt.Sprintf("bucket-%d", i), By: []string{"subject"}, Algorithm: "token_bucket", Quota: 1, Period: "1s"})
		}
		return limits
	}
	log := func(quotas ...int64) (limits []quota.Limit) {
		for i, q := range quotas {
			limits = append(limits, quota.Limit{Name: fmt.Sprintf("log-%d", i), By: []string{"subject"}, Algorithm: "sliding_window_log", Quota: q, Period: "hour"})
		}
		return limits
	}
	windows := func(n int, algorithm string) (limits []quota.Limit) {
		for i := range n {
			limits = append(limits, quota.Limit{Name: fmt.Sprintf("window-%d", i), By: []string{"subject"}, Algorithm: algorithm, Quota: 1, Period: "month"})
		}
		return limits
	}
	elsewhere := func(limits []quota.Limit) []quota.Limit {
		for i := range limits {
			limits[i].By, limits[i].Name = []string{"resource"}, "by-resource-"+limits[i].Name
		}
		return limits
	}
	off := func(limits []quota.Limit) []quota.Limit {
		for i := range limits {
			limits[i].Mode, limits[i].Name = quota.Off, "off-"+limits[i].Name
		}
		return limits
	}
	for _, c := range []struct {
		name   string
		limits []quota.Limit
		fits   bool
	}{
		{"20 buckets", buckets(20), true},
		{"21 buckets", buckets(21), false},
		{"20 buckets, and 20 of another item", append(buckets(20), elsewhere(buckets(20))...), true},
		{"20 buckets, and one that is off", append(buckets(20), off(buckets(1))...), true},
		{"a log of 1,000, of which one call takes 100", log(1000), true},
		{"such a log and ten buckets", append(log(1000), buckets(10)...), true},
		{"such a log and 19 buckets", append(log(1000), buckets(19)...), false},
		{"such a log and one of 20", log(1000, 20), false},
		{"two logs of 55", log(55, 55), true},
		{"two logs of 100", log(100, 100), false},
		{"two logs of 100 in two items", append(log(100), elsewhere(log(100))...), true},
		{"20 fixed windows", windows(20, "fixed_window"), true},
		{"15 sliding window counters", windows(15, "sliding_window_counter"), true},
		{"16 sliding window counters", windows(16, "sliding_window_counter"), false},
		{"15 logs of 5", log(slices.Repeat([]int64{5}, 15)...), true},
		{"16 logs of 5", log(slices.Repeat([]int64{5}, 16)...), false},
	} {
		err := quota.Config{Plans: map[string]quota.Plan{"p": {Limits: c.limits}}}.Validate()
		if fits := err == nil; fits != c.fits {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// What is wrong with the plan is not said again of its tenants.
	config := quota.Config{
		Plans:   map[string]quota.Plan{"p": {Limits: buckets(21)}},
		Tenants: map[string]quota.Tenant{"acme": {Plan: "p", Limits: log(1)}},
	}
	if err := config.Validate(); err == nil || strings.Contains(err.Error(), "acme") {
		t.Errorf("%v", err)
	}
}
