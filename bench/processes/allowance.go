package main

import (
	"fmt"

	"github.com/seed43908478/penstock/engine"
)

// An allowance is what one limit let pass of some keys while the table was away. Every
// process has its share of the limit, so together they should let pass no more than the
// limit of each key.
type allowance struct {
	Resource string `json:"limit"`
	Quota    int    `json:"quota"`
	// UsedUp is whether the keys were used up at the table before; else nobody had called for them.
	UsedUp bool `json:"used_up_before"`
	Keys   int  `json:"keys"`
	// LeastBefore is what the table admitted before, of the key with the least of it.
	LeastBefore int `json:"least_admitted_before"`
	// Most and Least are what one key was let pass during the outage.
	Most  int `json:"most_admitted_of_a_key"`
	Least int `json:"least_admitted_of_a_key"`

	keys []*allowed
}

// allowed is what one key was let pass.
type allowed struct {
	of             *allowance
	subject        string
	before, during int
}

type allowances []*allowance

// awayLimits are limits of which nothing comes back during a run, and their quotas. One
// has less than a permit for each of eight processes.
var awayLimits = []struct {
	resource string
	quota    int
}{{"away-bucket", 80}, {"away-log", 80}, {"away-window", 80}, {"away-refill", 80}, {"away-few", 5}}

func newAllowances() (all allowances) {
	const keysEach = 2
	for _, l := range awayLimits {
		for _, used := range []bool{true, false} {
			of := &allowance{Resource: l.resource, Quota: l.quota, UsedUp: used, Keys: keysEach}
			for i := range keysEach {
				of.keys = append(of.keys, &allowed{of: of, subject: fmt.Sprintf("%v-%d", used, i)})
			}
			all = append(all, of)
		}
	}
	return all
}

// next returns the key of the n-th call. Those that are to be new to the table's absence
// are not called for before.
func (all allowances) next(n int, p phase) *allowed {
	of := all[n%len(all)]
	if p == there && !of.UsedUp {
		of = all[n%len(all)-1]
	}
	return of.keys[n/len(all)%len(of.keys)]
}

// count takes an answer into the account. What the table admits after it was asked to
// come back shows that it is there; what is admitted without it counts, whenever it is.
func (k *allowed) count(a answer, p phase) {
	switch {
	case k == nil || !a.Allowed:
	case p == away, a.Degraded != string(engine.NotDegraded):
		k.during++
	case p == there:
		k.before++
	}
}

// used reports whether the keys are used up that are to be before the table goes away.
func (all allowances) used() bool {
	for _, of := range all {
		for _, k := range of.keys {
			if of.UsedUp && k.before < of.Quota {
				return false
			}
		}
	}
	return true
}

func (all allowances) conclude() allowances {
	for _, of := range all {
		of.LeastBefore, of.Least = of.keys[0].before, of.keys[0].during
		for _, k := range of.keys {
			of.LeastBefore = min(of.LeastBefore, k.before)
			of.Least, of.Most = min(of.Least, k.during), max(of.Most, k.during)
		}
	}
	return all
}
