package quota_test

import (
	"github.com/seed43908478/penstock/quota"
	"pgregory.net/rapid"
)

// A configuration of any form that is valid, whatever its sense.
var anyConfig = rapid.Custom(func(t *rapid.T) quota.Config {
	plan := rapid.Custom(func(t *rapid.T) quota.Plan { return quota.Plan{Limits: anyLimits.Draw(t, "limits")} })
	plans := rapid.MapOfN(rapid.StringMatching(`[a-z0-9-]{1,63}`), plan, 1, 3).Draw(t, "plans")
	names := make([]string, 0, len(plans))
	for name := range plans {
		names = append(names, name)
	}
	anyPlan := rapid.Custom(func(t *rapid.T) string { return names[rapid.IntRange(0, len(names)-1).Draw(t, "plan")] })
	tenant := rapid.Custom(func(t *rapid.T) quota.Tenant {
		return quota.Tenant{Plan: anyPlan.Draw(t, "plan"), Limits: anyLimits.Draw(t, "overrides")}
	})
	return quota.Config{
		Plans:       plans,
		Tenants:     rapid.MapOfN(rapid.StringMatching(`[A-Za-z0-9._:@-]{1,128}`), tenant, 0, 3).Draw(t, "tenants"),
		DefaultPlan: rapid.OneOf(rapid.Just(""), anyPlan).Draw(t, "default plan"),
	}
})

// A slice of none is nil, as it is when read.
var anyLimits = rapid.Custom(func(t *rapid.T) (limits []quota.Limit) {
	name := func(l quota.Limit) string { return l.Name }
	return append(limits, rapid.SliceOfNDistinct(anyLimit, 0, 5, name).Draw(t, "limits")...)
})

var anyLimit = rapid.Custom(func(t *rapid.T) quota.Limit {
	l := quota.Limit{
		Name: rapid.StringMatching(`[a-z0-9-]{1,63}`).Draw(t, "name"),
		Match: quota.Match{
			Resource:   rapid.OneOf(rapid.Just(""), anyPattern).Draw(t, "resource"),
			Attributes: noneIsNil(rapid.MapOfN(rapid.StringMatching(`[A-Za-z0-9._-]{1,64}`), anyPattern, 0, 2).Draw(t, "attributes")),
		},
		By:           append([]string(nil), rapid.Permutation([]string{"subject", "resource", "attributes.ip", "attributes.a.b"}).Draw(t, "by")[:rapid.IntRange(0, 4).Draw(t, "parts")]...),
		Quota:        rapid.Int64Range(1, 1000).Draw(t, "quota"),
		Period:       rapid.SampledFrom([]quota.Period{"1s", "90s", "1h30m", "minute", "hour", "day", "week"}).Draw(t, "period"),
		Mode:         rapid.SampledFrom([]quota.Mode{"", quota.Enforce, quota.Shadow, quota.Off}).Draw(t, "mode"),
		OnStoreError: rapid.SampledFrom([]quota.OnStoreError{"", quota.Local, quota.Allow, quota.Deny}).Draw(t, "on store error"),
		Slack:        rapid.SampledFrom([]string{"", "0s"}).Draw(t, "slack"),
		SoftPercent:  rapid.Int64Range(0, 100).Draw(t, "soft percent"),
		Spread:       rapid.Int64Range(0, 64).Draw(t, "spread"),
		RequestIDs:   rapid.Int64Range(0, 256).Draw(t, "request ids"),
		AnchorDay:    rapid.Int64Range(0, 1).Draw(t, "anchor day"),
	}
	shards := max(l.Spread, 1)
	l.Quota *= shards
	switch l.Algorithm = rapid.SampledFrom([]string{"token_bucket", "leaky_bucket", "fixed_window", "sliding_window_counter", "interval_refill", "concurrency"}).Draw(t, "algorithm"); l.Algorithm {
	case "token_bucket", "leaky_bucket":
		l.Burst = rapid.Int64Range(0, 100).Draw(t, "burst") * shards
		l.Slack = rapid.SampledFrom([]string{"", "1s", "0.5ms"}).Draw(t, "slack of a bucket")
	case "concurrency":
		l.Quota = rapid.Int64Range(1, 5).Draw(t, "slots") * shards
		l.Period, l.TTL = "", rapid.SampledFrom([]string{"30s", "1h30m"}).Draw(t, "ttl")
	case "fixed_window", "sliding_window_counter":
		if rapid.Bool().Draw(t, "by the month") {
			l.Period, l.AnchorDay = "month", rapid.Int64Range(0, 28).Draw(t, "day of the month")
		}
	}
	return l
})

// What YAML could take for something else is in it.
var anyPattern = rapid.OneOf(
	rapid.SampledFrom([]string{"*", "null", "~", "true", "off", "10", "0x1F", "1e3", "- a", "a: b", "#", " x ", "'", `"`, "&a", "!!str", "[", "{", "2026-01-01", "é*"}),
	rapid.StringMatching(`[ -~]{1,20}`),
)

func noneIsNil(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
