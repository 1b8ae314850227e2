package quota

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// partsAtOnce is how many parts are loaded at a time.
const partsAtOnce = 16

// build makes the snapshot of a manifest, with all of the one held that is the same:
// parts never change. Only the others are loaded. The error wraps [errRejected] when
// what was saved cannot be used, and [ErrNoPart] when a part is not there.
func (l *Live) build(ctx context.Context, held *Snapshot, manifest []byte) (*Snapshot, error) {
	m, err := DecodeManifest(manifest)
	if err != nil {
		return nil, rejected(err)
	}
	next := &Snapshot{count: m.Count, plansPart: m.Plans, plans: held.plans, sections: make([]*section, len(m.Tenants))}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	// What is loaded of tenants is decoded beside the plans, and compiled with them.
	saved := make([]map[string]SavedTenant, len(m.Tenants))
	if m.Plans != held.plansPart {
		group.Go(func() (err error) {
			next.plans, err = l.loadPlans(ctx, m.Plans)
			return err
		})
	}
	known := held.byPart()
	for i, name := range m.Tenants {
		next.sections[i] = known[name]
		switch {
		case next.sections[i] != nil && m.Plans == held.plansPart:
			continue
		case !l.whole(m) && !held.hasLoaded(i):
			next.sections[i] = &section{part: name}
			continue
		}
		next.sections[i] = &section{part: name}
		group.Go(func() (err error) {
			saved[i], err = l.savedTenants(ctx, name, known[name])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := next.compile(m, saved); err != nil {
		return nil, err
	}
	return next, nil
}

func (l *Live) whole(m Manifest) bool { return m.Count <= l.options.WholeUpTo }

// byPart returns the sections by the names of their parts.
func (s *Snapshot) byPart() map[string]*section {
	sections := make(map[string]*section, len(s.sections))
	for _, at := range s.sections {
		sections[at.part] = at
	}
	return sections
}

// hasLoaded reports whether the tenants of a part were asked for, by the number of the
// part in the next version. When parts become more, each is of one that there was.
func (s *Snapshot) hasLoaded(i int) bool {
	return len(s.sections) > 0 && s.sections[i&(len(s.sections)-1)].loaded()
}

// sameAs reports whether two snapshots decide alike.
func (s *Snapshot) sameAs(other *Snapshot) bool {
	return s.plansPart == other.plansPart && s.fallback == other.fallback &&
		slices.EqualFunc(s.sections, other.sections, func(a, b *section) bool { return a.part == b.part })
}

func (l *Live) loadPlans(ctx context.Context, name string) (map[string]*plan, error) {
	if name == "" {
		return nil, nil
	}
	data, err := l.loader.Part(ctx, name)
	if err != nil {
		return nil, err
	}
	saved, err := DecodePlans(data)
	if err != nil {
		return nil, rejected(err)
	}
	c := Config{Plans: make(map[string]Plan, len(saved))}
	for name, p := range saved {
		c.Plans[name] = p.Plan
	}
	if err := c.Validate(); err != nil {
		return nil, rejected(err)
	}
	plans, err := compilePlans(saved)
	if err != nil {
		return nil, rejected(err)
	}
	return plans, nil
}

// savedTenants returns the tenants of a part, which may be known with other plans.
func (l *Live) savedTenants(ctx context.Context, name string, known *section) (map[string]SavedTenant, error) {
	if name == "" {
		return map[string]SavedTenant{}, nil
	}
	if known != nil && known.loaded() {
		return known.saved(), nil
	}
	data, err := l.loader.Part(ctx, name)
	if err != nil {
		return nil, err
	}
	saved, err := DecodeTenants(data)
	if err != nil {
		return nil, rejected(err)
	}
	return saved, nil
}

// saved returns the tenants of a section as they were saved.
func (s *section) saved() map[string]SavedTenant {
	tenants := *s.tenants.Load()
	saved := make(map[string]SavedTenant, len(tenants))
	for name, t := range tenants {
		saved[name] = SavedTenant{Tenant: Tenant{Plan: t.plan.name, Limits: t.limits}, Revision: t.revision, Generation: t.generation, Generations: t.generations}
	}
	return saved
}

// compile fills the sections of which the tenants were loaded.
func (s *Snapshot) compile(m Manifest, saved []map[string]SavedTenant) error {
	plans := s.plain()
	if _, ok := plans[m.DefaultPlan]; !ok && m.DefaultPlan != "" {
		return rejected(Config{Plans: plans, DefaultPlan: m.DefaultPlan}.Validate())
	}
	s.fallback = s.plans[m.DefaultPlan]
	for i, tenants := range saved {
		if tenants == nil {
			continue
		}
		if err := s.fill(s.sections[i], tenants, plans); err != nil {
			return err
		}
	}
	return nil
}

// plain returns the plans as a configuration has them.
func (s *Snapshot) plain() map[string]Plan {
	plans := make(map[string]Plan, len(s.plans))
	for name, p := range s.plans {
		plans[name] = Plan{Limits: p.limits}
	}
	return plans
}

// fill validates and compiles the tenants of a section.
func (s *Snapshot) fill(at *section, saved map[string]SavedTenant, plans map[string]Plan) error {
	c := Config{Plans: plans, Tenants: make(map[string]Tenant, len(saved))}
	for name, t := range saved {
		c.Tenants[name] = t.Tenant
	}
	var ps Problems
	ps.checkTenants(c, nil, sizes{}) // the plans were checked
	if err := ps.err(); err != nil {
		return rejected(err)
	}
	tenants := make(map[string]tenant, len(saved))
	for name, t := range saved {
		compiled, err := compileTenant(t, s.plans)
		if err != nil {
			return rejected(err)
		}
		tenants[name] = compiled
	}
	at.tenants.Store(&tenants)
	return nil
}

// rejected marks the error of what was read, but cannot be used by this version.
func rejected(err error) error { return fmt.Errorf("%w: %w", errRejected, err) }
