package configstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed43908478/penstock/quota"
)

// A Plan is a plan with its name. Its limits are shared and not to be changed.
type Plan struct {
	Name string `json:"name"`
	quota.SavedPlan
}

// Plan returns a plan, if there is one of this name.
func (s *Store) Plan(ctx context.Context, name string) (p Plan, ok bool, err error) {
	p.Name = name
	err = s.read(ctx, func(ctx context.Context, d *draft) error {
		plans, err := d.allPlans(ctx)
		p.SavedPlan, ok = plans[name]
		return err
	})
	return p, ok, err
}

// Plans returns all plans by name, and the name of the default plan, which may be empty.
func (s *Store) Plans(ctx context.Context) (all []Plan, defaultPlan string, err error) {
	var plans map[string]quota.SavedPlan
	err = s.read(ctx, func(ctx context.Context, d *draft) (err error) {
		defaultPlan = d.defaultPlan
		plans, err = d.allPlans(ctx)
		return err
	})
	for name, p := range plans {
		all = append(all, Plan{name, p})
	}
	slices.SortFunc(all, func(a, b Plan) int { return cmp.Compare(a.Name, b.Name) })
	return all, defaultPlan, err
}

// PutPlan creates or replaces a plan. The error is a [quota.Problems] with what is
// wrong with it, or with the tenants whose own limits do not go with it any more; or
// a [*PreconditionError].
func (s *Store) PutPlan(ctx context.Context, name string, plan quota.Plan, p Precondition, by By) (put Plan, effect Effect, err error) {
	_, err = s.change(ctx, by, func(ctx context.Context, d *draft) error {
		plans, err := d.allPlans(ctx)
		if err != nil {
			return err
		}
		before, exists := plans[name]
		if err := p.check(object("plans", name), before.Revision); err != nil {
			return err
		}
		put = Plan{name, before}
		if effect = Unchanged; exists && same(before.Plan, plan) {
			return nil
		}
		if plans, err = d.ownedPlans(ctx); err != nil {
			return err
		}
		put.Plan, put.Revision = plan, d.version
		plans[name] = put.SavedPlan
		effect = d.record(exists, Entry{Object: object("plans", name)}, before.Plan, plan)
		return d.checkPlan(ctx, name, exists)
	})
	return put, effect, err
}

// CheckPlan says whether a plan could be put so, and would be another than it is, and
// writes nothing. The error is as of [Store.PutPlan]; there is no precondition.
func (s *Store) CheckPlan(ctx context.Context, name string, plan quota.Plan) (now Plan, changed bool, err error) {
	now.Name = name
	err = s.read(ctx, func(ctx context.Context, d *draft) error {
		plans, err := d.ownedPlans(ctx)
		if err != nil {
			return err
		}
		before, exists := plans[name]
		now.SavedPlan, changed = before, !exists || !same(before.Plan, plan)
		plans[name] = quota.SavedPlan{Plan: plan}
		return d.checkPlan(ctx, name, exists)
	})
	return now, changed, err
}

// checkPlan checks a plan with the tenants that have it and limits of their own.
func (d *draft) checkPlan(ctx context.Context, name string, exists bool) error {
	c := quota.Config{Plans: map[string]quota.Plan{name: d.plans[name].Plan}, Tenants: map[string]quota.Tenant{}}
	if exists {
		if err := d.loadAll(ctx); err != nil {
			return err
		}
	}
	for _, p := range d.parts {
		for tenant, t := range p.tenants {
			if t.Plan == name && len(t.Limits) > 0 {
				c.Tenants[tenant] = t.Tenant
			}
		}
	}
	return c.Validate()
}

// An InUseError says that a plan cannot be deleted because it is in use.
type InUseError struct {
	Plan string
	// Tenants are the first of those who have it, by name, and Count is how many have it.
	Tenants []string
	Count   int
	// Default is whether it is the default plan.
	Default bool
}

func (e *InUseError) Error() string {
	var users []string
	if e.Count > 0 {
		more := ""
		if e.Count > len(e.Tenants) {
			more = fmt.Sprintf(" and %d more", e.Count-len(e.Tenants))
		}
		users = append(users, "tenants "+strings.Join(e.Tenants, ", ")+more+" have it")
	}
	if e.Default {
		users = append(users, "it is the default plan")
	}
	return fmt.Sprintf("configstore: plan %q is in use: %s", e.Plan, strings.Join(users, ", and "))
}

// usersNamed is how many users of a plan an error names.
const usersNamed = 10

// DeletePlan deletes a plan. The error is an [*InUseError] while tenants have it or
// it is the default plan.
func (s *Store) DeletePlan(ctx context.Context, name string, p Precondition, by By) (effect Effect, err error) {
	_, err = s.change(ctx, by, func(ctx context.Context, d *draft) error {
		plans, err := d.allPlans(ctx)
		if err != nil {
			return err
		}
		before, exists := plans[name]
		if err := p.check(object("plans", name), before.Revision); err != nil {
			return err
		}
		if effect = Unchanged; !exists {
			return nil
		}
		if err := d.inUse(ctx, name); err != nil {
			return err
		}
		if plans, err = d.ownedPlans(ctx); err != nil {
			return err
		}
		delete(plans, name)
		effect = Deleted
		d.entry = Entry{Action: Delete, Object: object("plans", name), Before: short(before.Plan)}
		return nil
	})
	return effect, err
}

func (d *draft) inUse(ctx context.Context, plan string) error {
	if err := d.loadAll(ctx); err != nil {
		return err
	}
	e := &InUseError{Plan: plan, Default: d.defaultPlan == plan}
	for _, p := range d.parts {
		for name, t := range p.tenants {
			if t.Plan == plan {
				e.Tenants = append(e.Tenants, name)
			}
		}
	}
	e.Count = len(e.Tenants)
	if e.Count == 0 && !e.Default {
		return nil
	}
	slices.Sort(e.Tenants)
	e.Tenants = e.Tenants[:min(usersNamed, e.Count)]
	return e
}

// DefaultPlan returns the plan of tenants that are not known by name; empty when they are unknown.
func (s *Store) DefaultPlan(ctx context.Context) (string, error) {
	m, err := s.manifest(ctx)
	return m.DefaultPlan, err
}

// SetDefaultPlan makes a plan that of tenants that are not known by name; with ""
// they are unknown. The error is a [quota.Problems] when there is no such plan.
func (s *Store) SetDefaultPlan(ctx context.Context, name string, by By) (effect Effect, err error) {
	_, err = s.change(ctx, by, func(ctx context.Context, d *draft) error {
		plans, err := d.allPlans(ctx)
		if err != nil {
			return err
		}
		if effect = Unchanged; name == d.defaultPlan {
			return nil
		}
		if err := (quota.Config{Plans: plain(plans), DefaultPlan: name}).Validate(); err != nil {
			return err
		}
		effect = Replaced
		d.entry = Entry{Action: Replace, Object: "default_plan", Before: d.defaultPlan, After: name}
		d.defaultPlan = name
		return nil
	})
	return effect, err
}

// Export returns the whole configuration, as [Store.Apply] takes it, and its version.
func (s *Store) Export(ctx context.Context) (c quota.Config, version int64, err error) {
	err = s.read(ctx, func(ctx context.Context, d *draft) (err error) {
		version = d.manifest.Version
		c, err = d.config(ctx)
		return err
	})
	return c, version, err
}

// config returns the configuration as it was read.
func (d *draft) config(ctx context.Context) (quota.Config, error) {
	plans, err := d.allPlans(ctx)
	if err != nil {
		return quota.Config{}, err
	}
	if err := d.loadAll(ctx); err != nil {
		return quota.Config{}, err
	}
	c := quota.Config{Plans: plain(plans), Tenants: make(map[string]quota.Tenant, d.count), DefaultPlan: d.defaultPlan}
	for _, p := range d.parts {
		for name, t := range maps.All(p.tenants) {
			c.Tenants[name] = t.Tenant
		}
	}
	return c, nil
}
