package quota

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed43908478/penstock/limit"
)

// shardRate is how many calls a second one item takes. DynamoDB makes 1,000 writes a
// second to one and throttles the rest; half of it leaves room for second writes and refusals.
const shardRate = 500

// Warnings returns what is valid but may not be had: limits of more permits a second than
// one item takes calls. It is no error, as a call can take many permits: whoever leases
// them, or has a cost, gets 2,000,000 a second out of a hundred writes. Limits that
// are off are left out.
func (c Config) Warnings() (ps Problems) {
	for _, name := range slices.Sorted(maps.Keys(c.Plans)) {
		ps.warn(member("plans", name), c.Plans[name].Limits)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tenants)) {
		ps.warn(member("tenants", name), c.Tenants[name].Limits)
	}
	return ps
}

func (ps *Problems) warn(path string, limits []Limit) {
	for i, l := range limits {
		if l.mode() == Off || l.rate() <= shardRate {
			continue
		}
		if made, err := limit.New(l.policy()); err == nil {
			ps.add(member(element(member(path, "limits"), i), "quota"), "%s", l.tooHot(made))
		}
	}
}

// rate is how many permits a second each item gives; slots have none.
func (l *Limit) rate() float64 {
	p := l.policy()
	if p.Period <= 0 || limit.HasSlots(l.Algorithm) {
		return 0
	}
	return float64(p.Quota) / p.Period.Seconds() / float64(l.shards())
}

func (l *Limit) tooHot(made *limit.Limit) string {
	what := made.Policy().String()
	if l.shards() > 1 {
		what += fmt.Sprintf(" over %d shards", l.shards())
	}
	remedy := "give each subject its own (by: [subject])"
	if n := l.EvenSpread(); n > 1 {
		remedy += fmt.Sprintf(", spread it (spread: %d)", n)
	}
	if leases := made.Span(limit.State{}, limit.Ask{Now: time.Unix(0, 0), Cost: 1}) > 0; leases {
		remedy += ", or lease many permits by one call (POST /v1/leases)"
	}
	return fmt.Sprintf("%s is more than the %d calls a second that one item takes, so calls of one permit cannot have all of it: %s", what, shardRate, remedy)
}

// EvenSpread returns the smallest spread by which no shard has more than the 500 permits
// a second that one item takes calls for: 1 when the limit needs none, and 0 when there is none
// that quota and burst are multiples of.
func (l Limit) EvenSpread() int64 {
	for n := int64(1); n <= maxSpread; n++ {
		one := l
		if one.Spread = n; l.Quota%n == 0 && l.Burst%n == 0 && one.rate() <= shardRate {
			return n
		}
	}
	return 0
}
