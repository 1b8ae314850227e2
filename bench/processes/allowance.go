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
	Keys     int    `json:"keys"`
	// Called is whether the keys were called for before the outage, and UsedUp how many of
	// them the table then said were used up.
	Called bool `json:"called_before"`
	UsedUp int  `json:"used_up_before"`
	// Most and Least are what one key was let pass without the table.
	Most  int `json:"most_admitted_of_a_key"`
	Least int `json:"least_admitted_of_a_key"`

	keys []*allowed
}

// allowed is what one key was let pass.
type allowed struct {
	of      *allowance
	subject string
	usedUp  bool
	passed  int
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
		for _, called := range []bool{true, false} {
			of := &allowance{Resource: l.resource, Quota: l.quota, Called: called, Keys: keysEach}
			for i := range keysEach {
				of.keys = append(of.keys, &allowed{of: of, subject: fmt.Sprintf("called-%v-%d", called, i)})
			}
			all = append(all, of)
		}
	}
	return all
}

// next returns the key of the n-th call. Those that are to be new when the table goes
// away are not called for before.
func (all allowances) next(n int, p phase) *allowed {
	of := all[n%len(all)]
	if p == there && !of.Called {
		of = all[n%len(all)-1]
	}
	return of.keys[n/len(all)%len(of.keys)]
}

// count takes an answer into the account. What is let pass without the table counts
// whenever it is, also when the table was there but slow. What the table itself admits
// after it was asked to come back shows that it is there.
func (k *allowed) count(a answer, p phase) {
	degraded := a.Degraded != string(engine.NotDegraded)
	switch {
	case k == nil:
	case a.Allowed && (p == away || degraded):
		k.passed++
	case p == there && !degraded && a.Reason == string(engine.QuotaUsed):
		k.usedUp = true
	}
}

// used reports whether the keys are used up that are to be before the table goes away.
func (all allowances) used() bool {
	for _, of := range all {
		for _, k := range of.keys {
			if of.Called && !k.usedUp {
				return false
			}
		}
	}
	return true
}

func (all allowances) conclude() allowances {
	for _, of := range all {
		of.Least = of.keys[0].passed
		for _, k := range of.keys {
			of.Least, of.Most = min(of.Least, k.passed), max(of.Most, k.passed)
			if k.usedUp {
				of.UsedUp++
			}
		}
	}
	return all
}
