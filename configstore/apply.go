package configstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/seed43908478/penstock/quota"
)

// Applied is what became of a configuration that was applied.
type Applied struct {
	// Version is the version that has it, and Changed whether that is a new one.
	Version int64
	Changed bool
	Difference
}

// Apply replaces the whole configuration in one version; keys stay. Precondition is
// about the version of the configuration. progress, when not nil, is called for each
// part that was written, from several goroutines. The error is a [quota.Problems]
// with all that is wrong, or a [*PreconditionError].
func (s *Store) Apply(ctx context.Context, c quota.Config, p Precondition, by By, progress func(done, total int)) (applied Applied, err error) {
	if err := c.Validate(); err != nil {
		return Applied{}, err
	}
	for name, t := range c.Tenants {
		if err := checkSize(name, t); err != nil {
			return Applied{}, err
		}
	}
	applied.Version, err = s.change(ctx, by, func(ctx context.Context, d *draft) error {
		if err := p.check("configuration", d.manifest.Version); err != nil {
			return err
		}
		before, err := d.config(ctx)
		if err != nil {
			return err
		}
		applied.Difference = Diff(before, c)
		applied.Changed = !applied.Empty() || d.manifest.Version == 0
		if !applied.Changed {
			return nil
		}
		d.progress = progress
		d.entry = Entry{Action: Apply, Object: "configuration", After: applied.String()}
		return d.apply(ctx, c, applied.Difference)
	})
	return applied, err
}

// apply makes the configuration that of the draft. What does not differ keeps its revision.
func (d *draft) apply(ctx context.Context, c quota.Config, diff Difference) error {
	if !diff.Plans.empty() {
		plans, err := d.ownedPlans(ctx)
		if err != nil {
			return err
		}
		for _, name := range diff.Plans.Removed {
			delete(plans, name)
		}
		for _, name := range slices.Concat(diff.Plans.Added, diff.Plans.Changed) {
			plans[name] = quota.SavedPlan{Plan: c.Plans[name], Revision: d.version}
		}
	}
	for _, name := range diff.Tenants.Removed {
		if err := d.set(ctx, name, nil); err != nil {
			return err
		}
	}
	for _, name := range slices.Concat(diff.Tenants.Added, diff.Tenants.Changed) {
		before, _, err := d.tenant(ctx, name)
		if err != nil {
			return err
		}
		t := quota.SavedTenant{Tenant: c.Tenants[name], Revision: d.version, Generation: before.Generation, Generations: before.Generations}
		if err := d.set(ctx, name, &t); err != nil {
			return err
		}
	}
	d.defaultPlan = c.DefaultPlan
	return nil
}

// A Difference is what makes one configuration of another.
type Difference struct {
	Plans   Names `json:"plans"`
	Tenants Names `json:"tenants"`
	// DefaultPlan is whether the default plan is another.
	DefaultPlan bool `json:"default_plan"`
}

// Names are in order.
type Names struct {
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
}

func (n Names) empty() bool { return len(n.Added)+len(n.Changed)+len(n.Removed) == 0 }

// Empty reports whether both are the same.
func (d Difference) Empty() bool { return d.Plans.empty() && d.Tenants.empty() && !d.DefaultPlan }

// String returns "plans 1 added, 0 changed, 0 removed; tenants 0 added, 2 changed, 1 removed".
func (d Difference) String() string {
	s := fmt.Sprintf("plans %s; tenants %s", d.Plans, d.Tenants)
	if d.DefaultPlan {
		s += "; another default plan"
	}
	return s
}

// String returns "1 added, 0 changed, 2 removed".
func (n Names) String() string {
	return fmt.Sprintf("%d added, %d changed, %d removed", len(n.Added), len(n.Changed), len(n.Removed))
}

// Diff returns what makes after of before.
func Diff(before, after quota.Config) Difference {
	return Difference{
		Plans:       diff(before.Plans, after.Plans),
		Tenants:     diff(before.Tenants, after.Tenants),
		DefaultPlan: before.DefaultPlan != after.DefaultPlan,
	}
}

func diff[T any](before, after map[string]T) (n Names) {
	for name, now := range after {
		switch was, ok := before[name]; {
		case !ok:
			n.Added = append(n.Added, name)
		case !same(was, now):
			n.Changed = append(n.Changed, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			n.Removed = append(n.Removed, name)
		}
	}
	slices.Sort(n.Added)
	slices.Sort(n.Changed)
	slices.Sort(n.Removed)
	return n
}

// same reports whether two are saved alike: none and an empty list are.
func same[T any](a, b T) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	one, err1 := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(one, other)
}
