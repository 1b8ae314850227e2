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
	parts := func(n int) []quota.Limit {
		limits := log(slices.Repeat([]int64{1_000_000}, n)...)
		for i := range limits {
			limits[i].Resolution = 60
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
	spread := func(limits []quota.Limit, shards int64) []quota.Limit {
		for i := range limits {
			limits[i].Spread, limits[i].Name = shards, fmt.Sprintf("%s-over-%d", limits[i].Name, shards)
		}
		return limits
	}
	off := func(limits []quota.Limit) []quota.Limit {
		for i := range limits {
			limits[i].Mode, limits[i].Name = quota.Off, "off-"+limits[i].Name
		}
		return limits
	}
	// each has its own of these patterns.
	each := func(limits []quota.Limit, resources ...string) []quota.Limit {
		for i := range limits {
			limits[i].Match.Resource = resources[i%len(resources)]
		}
		return limits
	}
	devices := func(limits []quota.Limit, devices ...string) []quota.Limit {
		for i := range limits {
			limits[i].Match.Attributes = map[string]string{"device": devices[i%len(devices)]}
		}
		return limits
	}
	by := func(limits []quota.Limit, parts ...string) []quota.Limit {
		for i := range limits {
			limits[i].By = parts
		}
		return limits
	}
	forty := make([]string, 40)
	for i := range forty {
		forty[i] = fmt.Sprintf("GET /%d", i)
	}
	for _, c := range []struct {
		name   string
		limits []quota.Limit
		fits   bool
	}{
		{"twelve logs in parts", parts(12), true},
		{"thirteen logs in parts", parts(13), false},
		{"two logs of 100 for two resources", each(log(100, 100), "GET /a", "GET /b"), true},
		{"two logs of 100 for resources that begin apart", each(log(100, 100), "GET /a*", "GET /b*"), true},
		{"two logs of 100 for resources that end apart", each(log(100, 100), "*.png", "*.html"), true},
		{"two logs of 100 for a resource and others", each(log(100, 100), "GET /b", "GET /a*"), true},
		{"two logs of 100 for a resource that is among others", each(log(100, 100), "GET /ab", "GET /a*"), false},
		{"two logs of 100 for resources that can be the same", each(log(100, 100), "GET /a*", "*b"), false},
		{"two logs of 100 for a resource and any", each(log(100, 100), "GET /a", ""), false},
		{"two logs of 100 for two devices", devices(log(100, 100), "phone", "tablet"), true},
		{"two logs of 100 for a device and any", devices(log(100, 100), "phone", "*"), false},
		{"a bucket for all, and logs of 100 for six resources", append(buckets(1), each(log(100, 100, 100, 100, 100, 100), forty...)...), true},
		{"two logs of 90, of which one is spread", append(log(90), spread(log(90), 2)...), true},
		{"two logs of 90 a shard", spread(log(180, 180), 2), false},
		{"two logs of 45 a shard", spread(log(90, 90), 2), true},
		{"two logs of 90, spread over 2 and 3", append(spread(log(90), 2), spread(log(90), 3)...), true},
		{"21 buckets for 21 resources in one item", each(buckets(21), forty...), false},
		{"40 buckets for 40 resources by resource", by(each(buckets(40), forty...), "resource"), true},
		{"40 buckets for 40 devices by device", by(devices(buckets(40), forty...), "attributes.device"), true},
		{"40 buckets for 40 devices by another attribute", by(devices(buckets(40), forty...), "attributes.ip"), false},
		{"20 buckets", buckets(20), true},
		{"21 buckets", buckets(21), false},
		{"20 buckets, and 20 of another item", append(buckets(20), elsewhere(buckets(20))...), true},
		{"20 buckets, and one that is off", append(buckets(20), off(buckets(1))...), true},
		{"a log of 1,000, of which one call takes 100", log(1000), true},
		{"such a log and six buckets", append(log(1000), buckets(6)...), true},
		{"such a log and eight buckets", append(log(1000), buckets(8)...), false},
		{"such a log and one of 20", log(1000, 20), false},
		{"two logs of 55", log(55, 55), true},
		{"two logs of 100", log(100, 100), false},
		{"two logs of 100 in two items", append(log(100), elsewhere(log(100))...), true},
		{"20 fixed windows", windows(20, "fixed_window"), true},
		{"16 sliding window counters", windows(16, "sliding_window_counter"), true},
		{"19 sliding window counters", windows(19, "sliding_window_counter"), false},
		{"12 logs of 5", log(slices.Repeat([]int64{5}, 12)...), true},
		{"20 logs of 5", log(slices.Repeat([]int64{5}, 20)...), false},
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
