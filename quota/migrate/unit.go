package migrate

import "github.com/seed43908478/penstock/quota"

// units are Envoy's: what they are here, how long at least and at most, and what is to
// be said of them.
var units = map[string]struct {
	period quota.Period
	length int // the longer, the more
	kind   Kind
	note   string
}{
	"second": {period: "1s", length: 1},
	"minute": {period: "minute", length: 2},
	"hour":   {period: "hour", length: 3},
	"day":    {period: "day", length: 4},
	"week":   {"168h", 5, Advice, "168h is counted from 1970-01-01 as Envoy does it, from Thursday to Wednesday; write week to begin on Monday"},
	"month":  {"month", 6, Approximated, "month is the calendar's, in UTC; Envoy's is one of 30 days, 720h, unless use_calendar_month is set"},
	"year":   {period: "year", length: 7},
}

const unitNames = "second, minute, hour, day, week, month"

// nests reports whether each period of the unit a lies within one of b: a week does not
// lie within a month.
func nests(a, b string) bool {
	return a == b || a != "week" && units[a].length <= units[b].length
}
