package migrate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed43908478/penstock/quota"
)

// A plan is one that is being made. Whatever is added, it stays one that [quota.ParseYAML] takes.
type plan struct {
	name   string
	limits []quota.Limit
	names  names
	// groups are the limits that share an item of the store, by what they are by: only
	// those have to fit into one write.
	groups map[string][]quota.Limit
}

func newPlan(name string) *plan {
	return &plan{name: name, limits: []quota.Limit{}, names: names{}, groups: map[string][]quota.Limit{}}
}

// add adds a limit. One that this version refuses is added as off, with as much of it
// as can be written down; why is what is said against it.
func (p *plan) add(l quota.Limit) (why string) {
	shared := p.groups[group(l)]
	if why = refusal(append(slices.Clone(shared), l)); why == "" {
		p.groups[group(l)] = append(shared, l)
		p.limits = append(p.limits, l)
		return ""
	}
	for _, off := range []quota.Limit{
		withMode(l, quota.Off),
		{Name: l.Name, Match: l.Match, By: l.By, Mode: quota.Off},
		{Name: l.Name, Mode: quota.Off},
	} {
		if refusal([]quota.Limit{off}) == "" {
			p.limits = append(p.limits, off)
			break
		}
	}
	return why
}

// addBy adds a limit by the first of these that has room; all of them come to the same
// for whoever is counted. When none has, why is said of the first.
func (p *plan) addBy(l quota.Limit, by [][]string) (why string) {
	for _, l.By = range by {
		if refusal(append(slices.Clone(p.groups[group(l)]), l)) == "" {
			return p.add(l)
		}
	}
	l.By = by[0]
	return p.add(l)
}

// group names what a limit is by, and over how many shards.
func group(l quota.Limit) string {
	return fmt.Sprintf("%s*%d", strings.Join(slices.Sorted(slices.Values(l.By)), "+"), l.Spread)
}

// spread spreads a limit of more a second than one item takes, and says so.
func spread(l *quota.Limit, at place) (notes []Note) {
	switch n := l.EvenSpread(); n {
	case 1:
	case 0:
		notes = append(notes, at.note(Approximated, "%d in %s is more than the 500 calls a second that one item takes, and cannot be spread evenly: "+
			"calls of one permit cannot have all of it; write a quota and a burst that are multiples of a spread, or lease permits", l.Quota, l.Period))
	default:
		l.Spread = n
		notes = append(notes, at.note(Approximated, "%d in %s is more than the 500 calls a second that one item takes, so it is spread over %d: "+
			"a call gets no more than one of them has left, and may be refused while others have some", l.Quota, l.Period, n))
	}
	return notes
}

func withMode(l quota.Limit, m quota.Mode) quota.Limit {
	l.Mode = m
	return l
}

// refusal is what this version of [quota] says first against a plan of these limits; "" when nothing.
func refusal(limits []quota.Limit) string {
	err := quota.Config{Plans: map[string]quota.Plan{"plan": {Limits: limits}}}.Validate()
	problems, ok := errors.AsType[quota.Problems](err)
	switch {
	case err == nil:
		return ""
	case !ok || len(problems) == 0:
		return err.Error()
	}
	path := strings.TrimPrefix(problems[0].Path, "plans.plan.limits")
	if _, member, ok := strings.Cut(path, "]."); ok && strings.HasPrefix(path, "[") {
		return member + ": " + problems[0].Text
	}
	return problems[0].Text
}

// least stands for a limit that refuses everything: a quota is at least 1. It is by the
// day and no longer, because an item is kept for as long as its longest limit needs it.
func least(l quota.Limit) quota.Limit {
	l.Algorithm, l.Quota, l.Period, l.Burst = "sliding_window_log", 1, "day", 0
	return l
}

const leastIs = "refuses every request, and a quota is at least 1: here one passes in any 24 hours; refuse them before they are checked"
