package quota

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/seed43908478/penstock/limit"
)

// A Config is what an operator writes: the plans that are sold and the tenants that
// have them. Its YAML and its JSON form have the same members. A Config decides
// nothing by itself: [Config.Compile] makes a [Snapshot] of it.
type Config struct {
	// Plans are by name, [a-z0-9-]{1,63}.
	Plans map[string]Plan `json:"plans,omitempty" yaml:"plans,omitempty"`
	// Tenants are by name, [A-Za-z0-9._:@-]{1,128}.
	Tenants map[string]Tenant `json:"tenants,omitempty" yaml:"tenants,omitempty"`
	// DefaultPlan is what a tenant has who is not among Tenants; without one such a
	// tenant is unknown.
	DefaultPlan string `json:"default_plan,omitempty" yaml:"default_plan,omitempty"`
}

// A Plan is a list of limits, and all of them that match a request apply.
type Plan struct {
	Limits []Limit `json:"limits,omitempty" yaml:"limits,omitempty"`
}

// A Tenant has a plan, with limits of its own in place of, or beside, the plan's.
type Tenant struct {
	Plan string `json:"plan" yaml:"plan"`
	// Limits are the overrides. One that has the name of a limit of the plan replaces
	// it as a whole, and with mode off it removes it; another is added after the plan's.
	Limits []Limit `json:"limits,omitempty" yaml:"limits,omitempty"`
}

// A Limit is one limit as it is written down. Name and algorithm are its identity:
// renamed, it starts afresh.
type Limit struct {
	// Name is [a-z0-9-]{1,63}, once in a plan.
	Name string `json:"name" yaml:"name"`
	// Match says to which requests the limit applies; to all when empty.
	Match Match `json:"match,omitzero" yaml:"match,omitempty"`
	// By says whose the count is: every value of these parts has its own. The parts are
	// "subject", "resource" and "attributes.NAME", in any order; none is the tenant's
	// own count. Requests that lack a part share one count.
	By        []string `json:"by,omitempty" yaml:"by,omitempty,flow"`
	Algorithm string   `json:"algorithm,omitempty" yaml:"algorithm,omitempty"`
	// Quota is how many permits there are in a period; of concurrency, how many at once.
	// More than 500 a second on one key are among the [Config.Warnings].
	Quota  int64  `json:"quota,omitzero" yaml:"quota,omitempty"`
	Period Period `json:"period,omitempty" yaml:"period,omitempty"`
	// AnchorDay is the day on which a month begins, 1 to 28; 0 is 1.
	AnchorDay int64 `json:"anchor_day,omitzero" yaml:"anchor_day,omitempty"`
	// Burst is the size of a token bucket or the queue of a leaky one, in permits; 0 is the quota.
	Burst int64 `json:"burst,omitzero" yaml:"burst,omitempty"`
	// Mode is enforce when empty, of a candidate shadow.
	Mode Mode `json:"mode,omitempty" yaml:"mode,omitempty"`
	// OnStoreError is local when empty.
	OnStoreError OnStoreError `json:"on_store_error,omitempty" yaml:"on_store_error,omitempty"`

	// SoftPercent is how much more passes, marked as over: percent of the burst, or where
	// there is none of the quota; up to 1000. The rate at which permits come back stays.
	SoftPercent int64 `json:"soft_percent,omitzero" yaml:"soft_percent,omitempty"`
	// Slack is a duration that is added to the period, "50ms"; for limits that somebody
	// else counts too. "" is none.
	Slack string `json:"slack,omitempty" yaml:"slack,omitempty"`
	// TTL is a duration, of algorithm concurrency only and there in the place of the period:
	// for so long a slot is held at most.
	TTL string `json:"ttl,omitempty" yaml:"ttl,omitempty"`
	// Spread is over how many items a count is spread, 2 to 64, because one takes some 500
	// calls a second; 0 and 1 are not spread. Each has its part of quota and burst, which
	// must be multiples, and a call gets no more than one has left. Another number of them
	// starts afresh.
	Spread int64 `json:"spread,omitzero" yaml:"spread,omitempty"`
	// RequestIDs is how many request ids are remembered, 1 to 256; 0 is 16. Limits that
	// are by the same remember as many as the one of them that asks for most.
	RequestIDs int64 `json:"request_ids,omitzero" yaml:"request_ids,omitempty"`
	// Shadows is the name of the limit this one is a candidate for. Its mode is shadow
	// then, and need not be written.
	Shadows string `json:"shadows,omitempty" yaml:"shadows,omitempty"`
	// Resolution is in how many sub-windows a sliding_window_log counts, 2 to 100, each of
	// 10 ms or more; 0 is an exact list of times, for quotas up to 1,000. With 60, 60/61 of
	// any quota can be used at least.
	Resolution int64 `json:"resolution,omitzero" yaml:"resolution,omitempty"`
}

// mode is the mode that counts: a candidate is a shadow.
func (l *Limit) mode() Mode {
	switch {
	case l.Mode != "":
		return l.Mode
	case l.Shadows != "":
		return Shadow
	}
	return Enforce
}

// shards is over how many items the count is spread, at least 1.
func (l *Limit) shards() int { return int(max(l.Spread, 1)) }

// rememberedIDs is how many request ids the limit asks for.
func (l *Limit) rememberedIDs() int { return int(cmp.Or(l.RequestIDs, defaultRequestIDs)) }

const defaultRequestIDs = 16

// A Match is a condition on a request. In its patterns * stands for any run of
// characters, / too; everything else stands for itself.
type Match struct {
	// Resource is a pattern for the whole resource; any when empty.
	Resource string `json:"resource,omitempty" yaml:"resource,omitempty"`
	// Attributes are patterns by name; "*" asks only that the attribute is there.
	Attributes map[string]string `json:"attributes,omitempty" yaml:"attributes,omitempty"`
}

// Mode is what becomes of a limit's refusals.
type Mode string

const (
	// Enforce refuses what is over the limit.
	Enforce Mode = "enforce"
	// Shadow refuses nobody: it counts what passes, and says what it would have refused.
	Shadow Mode = "shadow"
	// Off leaves the limit out.
	Off Mode = "off"
)

// A Period is a length of time as it is written down: a Go duration as "90s", or one
// of the words minute, hour, day, week and month. It is kept as written, because to a
// limit that counts in windows a week is not seven days but one from Monday to Sunday.
// All windows are in UTC; those of a duration begin at its multiples since 1970, so
// that 24h and day are the same.
type Period string

// Duration returns the length of the period, of a month the longest. The error says
// what to write instead.
func (p Period) Duration() (time.Duration, error) {
	switch p {
	case "minute":
		return time.Minute, nil
	case "hour":
		return time.Hour, nil
	case "day":
		return 24 * time.Hour, nil
	case "week":
		return 7 * 24 * time.Hour, nil
	case "month":
		return limit.Month.Longest(), nil
	case "":
		return 0, fmt.Errorf("is missing: write %s", periodForms)
	}
	d, err := time.ParseDuration(string(p))
	if err != nil || strings.TrimSpace(string(p)) != string(p) {
		return 0, fmt.Errorf("%q is no period: write %s", string(p), periodForms)
	}
	return d, nil
}

const periodForms = "a duration such as 10s or 1h30m, or minute, hour, day, week or month"

// calendar returns the calendar by which an algorithm counts in the period. A week is
// seven days to those that have no windows; a month, they do not know.
func (p Period) calendar(algorithm string) limit.Calendar {
	switch {
	case p == "month":
		return limit.Month
	case p == "week" && limit.FollowsCalendar(algorithm):
		return limit.Week
	}
	return ""
}
