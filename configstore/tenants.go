package configstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed43908478/penstock/quota"
)

// A Tenant is a tenant with its name. Its limits are shared and not to be changed.
type Tenant struct {
	Name string `json:"name"`
	quota.SavedTenant
}

// Tenant returns a tenant, if there is one of this name.
func (s *Store) Tenant(ctx context.Context, name string) (t Tenant, ok bool, err error) {
	t.Name = name
	err = s.read(ctx, func(ctx context.Context, d *draft) (err error) {
		t.SavedTenant, ok, err = d.tenant(ctx, name)
		return err
	})
	return t, ok, err
}

// PutTenant creates or replaces a tenant. The error is a [quota.Problems] with what
// is wrong with it, or a [*PreconditionError].
func (s *Store) PutTenant(ctx context.Context, name string, t quota.Tenant, p Precondition, by By) (put Tenant, effect Effect, err error) {
	_, err = s.change(ctx, by, func(ctx context.Context, d *draft) error {
		before, exists, err := d.tenant(ctx, name)
		if err != nil {
			return err
		}
		if err := p.check(object("tenants", name), before.Revision); err != nil {
			return err
		}
		put = Tenant{name, before}
		if effect = Unchanged; exists && same(before.Tenant, t) {
			return nil
		}
		plans, err := d.allPlans(ctx)
		if err != nil {
			return err
		}
		if err := checkTenant(plain(plans), name, t); err != nil {
			return err
		}
		put.Tenant, put.Revision = t, d.version
		effect = d.record(exists, Entry{Object: object("tenants", name), Tenant: name}, before.Tenant, t)
		return d.set(ctx, name, &put.SavedTenant)
	})
	return put, effect, err
}

// CheckTenant says whether a tenant could be put so, and would be another than it is,
// and writes nothing. The error is as of [Store.PutTenant]; there is no precondition.
func (s *Store) CheckTenant(ctx context.Context, name string, t quota.Tenant) (now Tenant, changed bool, err error) {
	now.Name = name
	err = s.read(ctx, func(ctx context.Context, d *draft) error {
		before, exists, err := d.tenant(ctx, name)
		if err != nil {
			return err
		}
		plans, err := d.allPlans(ctx)
		if err != nil {
			return err
		}
		now.SavedTenant, changed = before, !exists || !same(before.Tenant, t)
		return checkTenant(plain(plans), name, t)
	})
	return now, changed, err
}

// DeleteTenant deletes a tenant. Its keys are revoked first: they would go on
// working where there is a default plan.
func (s *Store) DeleteTenant(ctx context.Context, name string, p Precondition, by By) (effect Effect, err error) {
	before, ok, err := s.Tenant(ctx, name)
	if err != nil {
		return Unchanged, err
	}
	if err := p.check(object("tenants", name), before.Revision); err != nil || !ok {
		return Unchanged, err
	}
	if err := s.revokeAll(ctx, name, by); err != nil {
		return Unchanged, err
	}
	_, err = s.change(ctx, by, func(ctx context.Context, d *draft) error {
		before, exists, err := d.tenant(ctx, name)
		if err != nil {
			return err
		}
		if effect = Unchanged; !exists {
			return p.check(object("tenants", name), 0)
		}
		if err := p.check(object("tenants", name), before.Revision); err != nil {
			return err
		}
		effect = Deleted
		d.entry = Entry{Action: Delete, Object: object("tenants", name), Tenant: name, Before: short(before.Tenant)}
		return d.set(ctx, name, nil)
	})
	return effect, err
}

// ResetTenant begins all counts of a tenant afresh, by a generation that is the
// version of this change. The error is [ErrNotFound] when there is no such tenant.
func (s *Store) ResetTenant(ctx context.Context, name string, by By) (reset Tenant, err error) {
	_, err = s.change(ctx, by, func(ctx context.Context, d *draft) error {
		t, ok, err := d.tenant(ctx, name)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("tenant %q: %w", name, ErrNotFound)
		}
		t.Generation, t.Revision, t.Generations = d.version, d.version, nil
		reset = Tenant{name, t}
		d.entry = Entry{Action: Reset, Object: object("tenants", name), Tenant: name}
		return d.set(ctx, name, &t)
	})
	return reset, err
}

// ResetLimit begins all counts of one limit of a tenant afresh, as [Store.ResetTenant]
// does those of all. It is not checked whether the tenant has such a limit.
func (s *Store) ResetLimit(ctx context.Context, name, limit string, by By) (reset Tenant, err error) {
	_, err = s.change(ctx, by, func(ctx context.Context, d *draft) error {
		t, ok, err := d.tenant(ctx, name)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("tenant %q: %w", name, ErrNotFound)
		}
		generations := map[string]int64{limit: d.version} // what is saved is shared
		for other, generation := range t.Generations {
			if other != limit {
				generations[other] = generation
			}
		}
		t.Generations, t.Revision = generations, d.version
		reset = Tenant{name, t}
		d.entry = Entry{Action: Reset, Object: object("tenants", name), Tenant: name, After: "limit " + limit}
		return d.set(ctx, name, &t)
	})
	return reset, err
}

// RecordReset writes an entry of the audit about counts of a tenant that are reset where
// they are kept. what says which.
func (s *Store) RecordReset(ctx context.Context, tenant, what string, by By) error {
	_, err := s.change(ctx, by, func(_ context.Context, d *draft) error {
		d.entry = Entry{Action: Reset, Object: object("tenants", tenant), Tenant: tenant, After: what}
		return nil
	})
	return err
}

// maxTenant is how many bytes of JSON a tenant's limits have at most, so that some
// fit into a part. It is some 500 limits.
const maxTenant = 100_000

func checkTenant(plans map[string]quota.Plan, name string, t quota.Tenant) error {
	if err := (quota.Config{Plans: plans, Tenants: map[string]quota.Tenant{name: t}}).Validate(); err != nil {
		return err
	}
	return checkSize(name, t)
}

func checkSize(name string, t quota.Tenant) error {
	if len(t.Limits) == 0 {
		return nil
	}
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if len(data) > maxTenant {
		return quota.Problems{{
			Path: quota.Member(quota.Member("tenants", name), "limits"),
			Text: fmt.Sprintf("have %d bytes as JSON, and %d can be stored: move those that others have too into a plan", len(data), maxTenant),
		}}
	}
	return nil
}

func object(kind, name string) string { return kind + "/" + name }

// TenantFilter says which tenants to list. The zero value is the first 100 of all.
type TenantFilter struct {
	// Cursor is what the page before ended with; empty for the first page.
	Cursor string
	// Limit is how many to return at most; 100 when 0.
	Limit int
	// Prefix is what a name begins with.
	Prefix string
	// Search is what a name contains, upper or lower case.
	Search string
	// Plan is the plan they have.
	Plan string
}

const defaultLimit = 100

// Tenants lists tenants by name. next is the cursor of the next page; empty after the last.
func (s *Store) Tenants(ctx context.Context, f TenantFilter) (page []Tenant, next string, err error) {
	var x *index
	err = s.read(ctx, func(ctx context.Context, d *draft) (err error) {
		x, err = s.index(ctx, d.manifest)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	search := strings.ToLower(f.Search)
	i, _ := slices.BinarySearch(x.names, max(f.Cursor, f.Prefix))
	for _, name := range x.names[i:] {
		if !strings.HasPrefix(name, f.Prefix) {
			break
		}
		if name == f.Cursor || !strings.Contains(strings.ToLower(name), search) {
			continue
		}
		t := x.tenants[quota.PartOf(name, len(x.tenants))][name]
		if f.Plan != "" && t.Plan != f.Plan {
			continue
		}
		if len(page) == f.Limit {
			return page, page[len(page)-1].Name, nil
		}
		page = append(page, Tenant{name, t})
	}
	return page, "", nil
}

// An index has the names of all tenants in order.
type index struct {
	parts   []string // of which it was made
	names   []string
	tenants []map[string]quota.SavedTenant
}

func (s *Store) index(ctx context.Context, m quota.Manifest) (*index, error) {
	if x := s.names.Load(); x != nil && slices.Equal(x.parts, m.Tenants) {
		return x, nil
	}
	all, err := s.allTenants(ctx, m.Tenants)
	if err != nil {
		return nil, err
	}
	x := &index{parts: m.Tenants, tenants: all, names: make([]string, 0, m.Count)}
	for _, tenants := range all {
		for name := range tenants {
			x.names = append(x.names, name)
		}
	}
	slices.Sort(x.names)
	s.names.Store(x)
	return x, nil
}
