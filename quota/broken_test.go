package quota_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed43908478/penstock/quota"
)

// broken has, for each file in testdata/bad, named for its fault, what is said of it.
var broken = map[string]string{
	"anchor-day.yaml": `
penstock.yaml:4: plans.free.limits[0].anchor_day: must be 1 to 28, days that every month has, not 31
penstock.yaml:5: plans.free.limits[1].anchor_day: must be 1 to 28, days that every month has, not -1
penstock.yaml:6: plans.free.limits[2].anchor_day: only the period month begins on a day of its own: remove it
penstock.yaml:7: plans.free.limits[3].anchor_day: only the period month begins on a day of its own: remove it
penstock.yaml:8: plans.free.limits[4].period: a month of the calendar is for fixed_window and sliding_window_counter; write a duration such as 744h
`,
	"window-with-burst.yaml": `
penstock.yaml:4: plans.free.limits[0].burst: fixed_window has none: remove it, or use token_bucket
penstock.yaml:5: plans.free.limits[1].burst: sliding_window_counter has none: remove it, or use token_bucket
penstock.yaml:6: plans.free.limits[2].burst: interval_refill has none: remove it, or use token_bucket
`,
	"windows-too-many-for-one-write.yaml": `
penstock.yaml:21: plans.free.limits[17]: "n17" does not fit into one write with the limits before it that are by subject: use token_bucket in the place of windows, or logs of smaller quotas
`,
	"algorithm-unknown.yaml": `
penstock.yaml:4: plans.free.limits[0].algorithm: "token-bucket" is unknown: use one of concurrency, fixed_window, interval_refill, leaky_bucket, sliding_window_counter, sliding_window_log, token_bucket
`,
	"alias-bomb.yaml": `
penstock.yaml:1: a: is unknown: remove it; there are default_plan, plans, tenants
penstock.yaml:2: b: is unknown: remove it; there are default_plan, plans, tenants
penstock.yaml:3: plans: has the anchor "p", which is not supported: remove it
penstock.yaml:4: tenants: is an alias, which is not supported: write the value out; a * that stands for itself is written in quotes, as in "*"
penstock.yaml:5: default_plan: has the anchor "d", which is not supported: remove it
`,
	"burst.yaml": `
penstock.yaml:4: plans.free.limits[0].burst: must not be negative, but is -1
penstock.yaml:5: plans.free.limits[1].burst: 1000 takes more than 87840h0m0s to come back at 1 per 168h0m0s; use a smaller burst
`,
	"by-too-many.yaml": `
penstock.yaml:8: plans.free.limits[0].by: has 17 parts: use at most 16
`,
	"by.yaml": `
penstock.yaml:8: plans.free.limits[0].by[0]: "user" is unknown: use subject, resource or attributes.NAME
penstock.yaml:8: plans.free.limits[0].by[1]: "attributes" is unknown: use subject, resource or attributes.NAME
penstock.yaml:8: plans.free.limits[0].by[2]: an attribute's name is 1 to 64 of A-Z, a-z, 0-9 and . _ -
penstock.yaml:8: plans.free.limits[0].by[3]: an attribute's name is 1 to 64 of A-Z, a-z, 0-9 and . _ -
penstock.yaml:8: plans.free.limits[0].by[6]: "subject" is there twice: remove one
penstock.yaml:8: plans.free.limits[0].by[7]: "Subject" is unknown: use subject, resource or attributes.NAME
`,
	"control-character.yaml": `
penstock.yaml:2: has the control character U+0007: remove it
`,
	"duplicate-members.yaml": `
penstock.yaml:3: plans.free: is there twice, first in line 2: remove one
penstock.yaml:5: tenants.acme.plan: is there twice, first in line 5: remove one
penstock.yaml:6: plans: is there twice, first in line 1: remove one
`,
	"empty.yaml": `
penstock.yaml:1: the file is empty: write plans and tenants, or {} for none
`,
	"everything-at-once.yaml": `
penstock.yaml:8: plans.free.limits[0].burst: sliding_window_log has none: remove it, or use token_bucket
penstock.yaml:9: plans.free.limits[1].name: "per-user" is there twice, first as limits[0]: rename one
penstock.yaml:10: plans.free.limits[1].by[0]: "user" is unknown: use subject, resource or attributes.NAME
penstock.yaml:12: plans.free.limits[1].quota: must be at least 1, not -1
penstock.yaml:14: plans.Pro: a plan's name is 1 to 63 of a-z, 0-9 and -
penstock.yaml:16: tenants.acme.plan: there is no plan "gold": add it, or use one of Pro, free
penstock.yaml:17: tenants.globex.limts: is unknown: remove it; there are limits, plan
penstock.yaml:18: default_plan: there is no plan "basic": add it, or use one of Pro, free
`,
	"limit-names.yaml": `
penstock.yaml:4: plans.free.limits[0].name: is missing: write 1 to 63 of a-z, 0-9 and -
penstock.yaml:5: plans.free.limits[1].name: a limit's name is 1 to 63 of a-z, 0-9 and -
`,
	"limit-twice.yaml": `
penstock.yaml:6: plans.free.limits[2].name: "a" is there twice, first as limits[0]: rename one
`,
	"limits-too-many-for-one-item.yaml": `
penstock.yaml:24: plans.free.limits[20]: "n20" is limit number 21 of one item by resource, subject, which holds at most 20: remove one, or add what they match to by
`,
	"log-of-microseconds.yaml": `
penstock.yaml:4: plans.free.limits[0].period: of a sliding_window_log is in whole milliseconds, not 1.5ms
`,
	"log-too-long.yaml": `
penstock.yaml:4: plans.free.limits[0].quota: an exact log holds at most 1000 times, not 1001; use resolution: 60
penstock.yaml:5: plans.free.limits[1].quota: 900 per 1s as an exact log writes 7200 units a second, above 500; use resolution: 60
`,
	"log-with-burst.yaml": `
penstock.yaml:8: plans.free.limits[0].burst: sliding_window_log has none: remove it, or use token_bucket
`,
	"logs-too-many-for-one-write.yaml": `
penstock.yaml:6: plans.free.limits[2]: "c" does not fit into one write with the limits before it that are by the tenant alone: use token_bucket in the place of windows, or logs of smaller quotas
`,
	"match-attributes.yaml": `
penstock.yaml:11: plans.free.limits[0].match.attributes.ip: is empty: write a value, or "*" for any
penstock.yaml:12: plans.free.limits[0].match.attributes["user agent"]: an attribute's name is 1 to 64 of A-Z, a-z, 0-9 and . _ -
penstock.yaml:13: plans.free.limits[0].match.attributes.device: has a control character: remove it, or match it with *
penstock.yaml:14: plans.free.limits[0].match.attributes.size: must be a text, not 3: put it in quotes
`,
	"match-resource.yaml": `
penstock.yaml:9: plans.free.limits[0].match.resource: has a control character: remove it, or match it with *
penstock.yaml:10: plans.free.limits[1].match.resource: has 513 bytes: at most 512 are compared
`,
	"match-too-many.yaml": `
penstock.yaml:9: plans.free.limits[0].match.attributes: are 17, but no request has more than 16: remove some
`,
	"merge-key.yaml": `
penstock.yaml:2: plans["<<"]: a plan's name is 1 to 63 of a-z, 0-9 and -
penstock.yaml:2: plans["<<"].free: is unknown: remove it; there are limits
`,
	"mode-unknown.yaml": `
penstock.yaml:9: plans.free.limits[0].mode: "disabled" is unknown: use enforce, shadow or off
`,
	"no-plans.yaml": `
penstock.yaml:2: tenants.acme.plan: there is no plan "free": add it to plans
`,
	"no-such-plan.yaml": `
penstock.yaml:3: tenants.acme.plan: there is no plan "fre": add it, or use one of free, pro
penstock.yaml:4: default_plan: there is no plan "premium": add it, or use one of free, pro
`,
	"no-value.yaml": `
penstock.yaml:1: plans: has no value: write members, as in name: value, or remove it
penstock.yaml:3: tenants.acme: has no value: write members, as in name: value, or remove it
`,
	"soft-percent-and-slack.yaml": `
penstock.yaml:4: plans.free.limits[0].soft_percent: must be from 0 to 1000, not 1001
penstock.yaml:5: plans.free.limits[1].soft_percent: must be from 0 to 1000, not -1
penstock.yaml:6: plans.free.limits[2].slack: "50" is no duration: write one such as 30s or 50ms
penstock.yaml:7: plans.free.limits[3].slack: must be from 0s to the period of 1s, not 2s
penstock.yaml:8: plans.free.limits[4].slack: fixed_window cannot be widened: remove it, or use sliding_window_log or interval_refill
penstock.yaml:9: plans.free.limits[5].quota: an exact log holds at most 1000 times, not 1010; use resolution: 60
penstock.yaml:10: plans.free.limits[6].slack: of a sliding_window_log is in whole milliseconds, not 1.5ms
penstock.yaml:11: plans.free.limits[7].slack: must be from 0s to the period of 1s, not -1s
`,
	"ttl.yaml": `
penstock.yaml:4: plans.free.limits[0].ttl: is missing: write how long a permit is held at most, as in 30s
penstock.yaml:5: plans.free.limits[1].period: concurrency has none, as permits come back when they are released: remove it; ttl is how long one is held at most
penstock.yaml:6: plans.free.limits[2].period: concurrency has none, as permits come back when they are released: remove it; ttl is how long one is held at most
penstock.yaml:7: plans.free.limits[3].ttl: is for algorithm concurrency alone, whose permits are held: remove it
penstock.yaml:8: plans.free.limits[4].ttl: "minute" is no duration: write one such as 30s or 50ms
penstock.yaml:9: plans.free.limits[5].ttl: must be at least 1ms, not 0s
penstock.yaml:10: plans.free.limits[6].ttl: is in whole milliseconds, not 1.5ms
penstock.yaml:11: plans.free.limits[7].quota: at most 1000 slots are held at once, not 1001
penstock.yaml:12: plans.free.limits[8].ttl: must be at most 8784h0m0s, not 9000h0m0s
penstock.yaml:13: plans.free.limits[9].burst: concurrency has none: remove it, or use token_bucket
penstock.yaml:14: plans.free.limits[10].slack: concurrency cannot be widened: remove it, or use sliding_window_log or interval_refill
penstock.yaml:15: plans.free.limits[11].anchor_day: only the period month begins on a day of its own: remove it
`,
	"spread.yaml": `
penstock.yaml:4: plans.free.limits[0].spread: must be from 2 to 64, not 65
penstock.yaml:5: plans.free.limits[1].spread: must be from 2 to 64, not -2
penstock.yaml:6: plans.free.limits[2].quota: 1000 cannot be spread evenly over 3 shards: use 999 or 1002
penstock.yaml:7: plans.free.limits[3].burst: 1501 cannot be spread evenly over 4 shards: use 1500 or 1504
penstock.yaml:8: plans.free.limits[4].quota: 3 cannot be spread over 4 shards: use 4, or a smaller spread
penstock.yaml:9: plans.free.limits[5].quota: an exact log holds at most 1000 times, not 2000; use resolution: 60
`,
	"request-ids.yaml": `
penstock.yaml:4: plans.free.limits[0].request_ids: must be from 1 to 256, not 257
penstock.yaml:5: plans.free.limits[1].request_ids: must be from 1 to 256, not -1
`,
	"shadows.yaml": `
penstock.yaml:7: plans.free.limits[3].mode: a limit that shadows another refuses nobody: write shadow, or remove shadows to enforce it
penstock.yaml:8: plans.free.limits[4].shadows: a limit cannot shadow itself: name another
penstock.yaml:9: plans.free.limits[5].shadows: there is no limit "gone" that is not off: name one to be a candidate for, or write mode: shadow without shadows
penstock.yaml:10: plans.free.limits[6].shadows: there is no limit "off" that is not off: name one to be a candidate for, or write mode: shadow without shadows
penstock.yaml:11: plans.free.limits[7].shadows: "good" is a candidate itself: name the limit that is enforced
`,
	"shadows-overridden.yaml": `
penstock.yaml:10: tenants.off.limits: the plan's "candidate" has nothing to shadow here, as "live" is switched off or a candidate: switch "candidate" off too
penstock.yaml:15: tenants.wrong.limits[0].shadows: there is no limit "lives" that is not off: name one to be a candidate for, or write mode: shadow without shadows
`,
	"not-utf8.yaml": `
penstock.yaml:3: is not UTF-8: save the file in that encoding
`,
	"numbers-in-other-notations.yaml": `
penstock.yaml:4: plans.free.limits[0].quota: must be a whole number such as 100, not "010"
penstock.yaml:5: plans.free.limits[1].quota: must be a whole number such as 100, not "0x10"
penstock.yaml:6: plans.free.limits[2].quota: must be a whole number such as 100, not "1_000"
penstock.yaml:7: plans.free.limits[3].quota: must be a number, not a text: write 10 without quotes
penstock.yaml:8: plans.free.limits[4].quota: must be a whole number such as 100, not "+5"
penstock.yaml:9: plans.free.limits[5].quota: must be a whole number such as 100, not "1e3"
penstock.yaml:10: plans.free.limits[6].quota: 99999999999999999999 is out of range
`,
	"on-store-error.yaml": `
penstock.yaml:9: plans.free.limits[0].on_store_error: "open" is unknown: use local, allow or deny
`,
	"only-comments.yaml": `
penstock.yaml:1: the file is empty: write plans and tenants, or {} for none
`,
	"override-too-many-for-one-item.yaml": `
penstock.yaml:30: tenants.acme.limits[2]: "two" is limit number 21 of one item by the tenant alone, which holds at most 20: remove one, or add what they match to by
`,
	"override-twice.yaml": `
penstock.yaml:7: tenants.acme.limits[1].name: "a" is there twice, first as limits[0]: rename one
`,
	"periods.yaml": `
penstock.yaml:4: plans.free.limits[0].period: is missing: write a duration such as 10s or 1h30m, or minute, hour, day, week or month
penstock.yaml:5: plans.free.limits[1].period: "10" is no period: write a duration such as 10s or 1h30m, or minute, hour, day, week or month
penstock.yaml:6: plans.free.limits[2].period: "10 s" is no period: write a duration such as 10s or 1h30m, or minute, hour, day, week or month
penstock.yaml:7: plans.free.limits[3].period: "daily" is no period: write a duration such as 10s or 1h30m, or minute, hour, day, week or month
penstock.yaml:8: plans.free.limits[4].period: a month of the calendar is for fixed_window and sliding_window_counter; write a duration such as 744h
penstock.yaml:9: plans.free.limits[5].period: must be at least 1ms, not 0s
penstock.yaml:10: plans.free.limits[6].period: must be at least 1ms, not -1s
penstock.yaml:11: plans.free.limits[7].period: must be at least 1ms, not 1µs
penstock.yaml:12: plans.free.limits[8].period: must be at most 8784h0m0s, not 9000h0m0s
`,
	"plan-name.yaml": `
penstock.yaml:2: plans["Free Plan"]: a plan's name is 1 to 63 of a-z, 0-9 and -
penstock.yaml:3: plans[""]: a plan's name is 1 to 63 of a-z, 0-9 and -
penstock.yaml:4: plans.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: a plan's name is 1 to 63 of a-z, 0-9 and -
`,
	"policy-missing.yaml": `
penstock.yaml:4: plans.free.limits[0].algorithm: is missing: use one of concurrency, fixed_window, interval_refill, leaky_bucket, sliding_window_counter, sliding_window_log, token_bucket
penstock.yaml:4: plans.free.limits[0].quota: must be at least 1, not 0
penstock.yaml:4: plans.free.limits[0].period: is missing: write a duration such as 10s or 1h30m, or minute, hour, day, week or month
`,
	"quota-finer-than-a-bucket-counts.yaml": `
penstock.yaml:4: plans.free.limits[0].quota: 2100000 per 1s would be one permit in 476.2 ns, and intervals are whole nanoseconds: use 2096436
`,
	"quota-too-large.yaml": `
penstock.yaml:4: plans.free.limits[0].quota: must be at most 2147483647, not 2147483648
`,
	"quota-zero.yaml": `
penstock.yaml:6: plans.free.limits[0].quota: must be at least 1, not 0
`,
	"resolution.yaml": `
penstock.yaml:4: plans.free.limits[0].resolution: must be from 2 to 100, or 0 for an exact list, not 1
penstock.yaml:5: plans.free.limits[1].resolution: must be from 2 to 100, or 0 for an exact list, not 101
penstock.yaml:6: plans.free.limits[2].resolution: must be from 2 to 100, or 0 for an exact list, not -60
penstock.yaml:7: plans.free.limits[3].resolution: 60 parts of 500ms are shorter than 10ms, about what a write takes: use at most 50
penstock.yaml:8: plans.free.limits[4].resolution: fixed_window has none: remove it, or use sliding_window_log
penstock.yaml:9: plans.free.limits[5].resolution: concurrency has none: remove it, or use sliding_window_log
`,
	"root-is-a-list.yaml": `
penstock.yaml:1: must be members, as in name: value, not a list
`,
	"root-is-a-word.yaml": `
penstock.yaml:1: must be members, as in name: value, not a single value
`,
	"tab-indented.yaml": `
penstock.yaml:2: not YAML: while scanning for the next token: found character that cannot start any token; indent with spaces, not tabs
`,
	"tag.yaml": `
penstock.yaml:2: default_plan: has the tag "!!str", which is not supported: remove it
`,
	"tenant-name.yaml": `
penstock.yaml:3: tenants["acme/west"]: a tenant's name is 1 to 128 of A-Z, a-z, 0-9 and . _ : @ -
penstock.yaml:5: tenants["acme corp"]: a tenant's name is 1 to 128 of A-Z, a-z, 0-9 and . _ : @ -
`,
	"tenant-without-plan.yaml": `
penstock.yaml:3: tenants.acme.plan: is missing: name one of plans
`,
	"two-documents.yaml": `
penstock.yaml:2: a second document begins here: put everything into one
`,
	"unclosed-list.yaml": `
penstock.yaml:6: not YAML: while parsing a flow sequence: did not find expected ',' or ']'; it begins in line 5
`,
	"unclosed-quote.yaml": `
penstock.yaml:3: not YAML: while scanning a quoted scalar: found unexpected end of stream; it begins in line 2
`,
	"unknown-member-of-a-limit.yaml": `
penstock.yaml:9: plans.free.limits[0].rate: is unknown: remove it; there are algorithm, anchor_day, burst, by, match, mode, name, on_store_error, period, quota, request_ids, resolution, shadows, slack, soft_percent, spread, ttl
penstock.yaml:10: plans.free.limits[0].qouta: is unknown: remove it; there are algorithm, anchor_day, burst, by, match, mode, name, on_store_error, period, quota, request_ids, resolution, shadows, slack, soft_percent, spread, ttl
`,
	"unknown-members.yaml": `
penstock.yaml:3: plans.free.limit: is unknown: remove it; there are limits
penstock.yaml:4: tenant: is unknown: remove it; there are default_plan, plans, tenants
`,
	"unquoted-star.yaml": `
penstock.yaml:9: not YAML: while scanning an alias: did not find expected alphabetic or numeric character; a * that stands for itself is written in quotes, as in "*"
`,
	"utf16.yaml": `
penstock.yaml:1: is not UTF-8: save the file in that encoding
`,
	"wrong-types.yaml": `
penstock.yaml:4: plans.free.limits[0].name: must be a text, not 1: put it in quotes
penstock.yaml:5: plans.free.limits[0].match: must be members, as in name: value, not a single value
penstock.yaml:6: plans.free.limits[0].by: must be a list, as in [a, b], not a single value
penstock.yaml:7: plans.free.limits[0].algorithm: must be a text, not a list
penstock.yaml:8: plans.free.limits[0].quota: must be a whole number such as 100, not "ten"
penstock.yaml:9: plans.free.limits[0].period: "60" is no period: write a duration such as 10s or 1h30m, or minute, hour, day, week or month
penstock.yaml:10: plans.free.limits[0].burst: must be a whole number such as 100, not "1.5"
penstock.yaml:11: plans.free.limits[0].mode: must be a text, not true: put it in quotes
penstock.yaml:12: plans.free.limits[1]: must be members, as in name: value, not a single value
`,
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(broken) {
		t.Errorf("%d files, but %d are expected", len(files), len(broken))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		config, err := quota.ParseYAML(data)
		problems, ok := errors.AsType[quota.Problems](err)
		if !ok {
			t.Errorf("%s: %v, want Problems", file, err)
			continue
		}
		got, want := "\n"+problems.In("penstock.yaml")+"\n", broken[filepath.Base(file)]
		if got != want {
			t.Errorf("%s says%swant%s", file, got, want)
		}
		if config.Plans != nil || config.Tenants != nil {
			t.Errorf("%s: a configuration came with the error", file)
		}
	}
}
