package quota

import (
	"errors"
	"sync/atomic"
	"time"
)

// A Snapshot is a configuration compiled for deciding: requests are matched against
// it without locks. It never changes and is safe for concurrent use. The zero
// Snapshot knows no tenants.
type Snapshot struct {
	revision  int64
	count     int    // of tenants
	plansPart string // which part the plans were in
	plans     map[string]*plan
	fallback  *plan // the default plan
	// sections have the tenants, as [PartOf] says.
	sections []*section
}

// Revision is the version under which the configuration was saved; 0 when it was not.
func (s *Snapshot) Revision() int64 { return s.revision }

// Tenants is how many tenants are known by name.
func (s *Snapshot) Tenants() int { return s.count }

// Plans is how many plans there are.
func (s *Snapshot) Plans() int { return len(s.plans) }

// A plan is a plan that is compiled.
type plan struct {
	name     string
	revision int64
	limits   []Limit
	rules    *ruleset
}

// A tenant is a tenant that is compiled. Without limits of its own, or some
// that were reset, it has its plan's rules.
type tenant struct {
	plan                 *plan
	limits               []Limit
	rules                *ruleset
	revision, generation int64
	generations          map[string]int64 // of limits, by name
}

// A section is the tenants of one part. Where there are very many it is loaded when
// one of them is asked for.
type section struct {
	part    string // its name
	tenants atomic.Pointer[map[string]tenant]
	failed  atomic.Pointer[failure]
}

// A failure is why a section could not be loaded, and when.
type failure struct {
	at  time.Time
	err error
}

func (s *section) loaded() bool { return s.tenants.Load() != nil }

// errNotLoaded is never seen by who asks a [Live] for the tenant.
var errNotLoaded = errors.New("the part of the configuration that has the tenant was not loaded")

// section returns where a tenant would be; nil when there is none.
func (s *Snapshot) section(tenant string) *section {
	if len(s.sections) == 0 {
		return nil
	}
	return s.sections[PartOf(tenant, len(s.sections))]
}

// tenant finds a tenant. One that is not known by name has the default plan, and no
// revision; without one the error is [ErrUnknownTenant].
func (s *Snapshot) tenant(name string) (tenant, error) {
	if at := s.section(name); at != nil {
		tenants := at.tenants.Load()
		if tenants == nil {
			return tenant{}, errNotLoaded
		}
		if t, ok := (*tenants)[name]; ok {
			return t, nil
		}
	}
	if s.fallback == nil {
		return tenant{}, ErrUnknownTenant
	}
	return tenant{plan: s.fallback, rules: s.fallback.rules}, nil
}

// Named reports whether a tenant is known by name, not only by the default plan. One
// whose part is not loaded is not.
func (s *Snapshot) Named(tenant string) bool {
	at := s.section(tenant)
	if at == nil {
		return false
	}
	tenants := at.tenants.Load()
	if tenants == nil {
		return false
	}
	_, ok := (*tenants)[tenant]
	return ok
}

// Compile validates the configuration and returns its snapshot. The error is a [Problems].
func (c Config) Compile() (*Snapshot, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	saved := make(map[string]SavedPlan, len(c.Plans))
	for name, p := range c.Plans {
		saved[name] = SavedPlan{Plan: p}
	}
	plans, err := compilePlans(saved)
	if err != nil {
		return nil, err
	}
	tenants := make(map[string]tenant, len(c.Tenants))
	for name, t := range c.Tenants {
		if tenants[name], err = compileTenant(SavedTenant{Tenant: t}, plans); err != nil {
			return nil, err
		}
	}
	all := new(section)
	all.tenants.Store(&tenants)
	return &Snapshot{count: len(tenants), plans: plans, fallback: plans[c.DefaultPlan], sections: []*section{all}}, nil
}

func compilePlans(saved map[string]SavedPlan) (map[string]*plan, error) {
	plans := make(map[string]*plan, len(saved))
	for name, p := range saved {
		rules, err := compile(merge(p.Limits, nil), nil)
		if err != nil {
			return nil, err
		}
		plans[name] = &plan{name: name, revision: p.Revision, limits: p.Limits, rules: rules}
	}
	return plans, nil
}

// compileTenant compiles a tenant whose plan is there.
func compileTenant(saved SavedTenant, plans map[string]*plan) (tenant, error) {
	p := plans[saved.Plan]
	t := tenant{plan: p, rules: p.rules, revision: saved.Revision, generation: saved.Generation}
	if len(saved.Limits) == 0 && len(saved.Generations) == 0 {
		return t, nil
	}
	t.limits, t.generations = saved.Limits, saved.Generations
	var err error
	t.rules, err = compile(merge(p.limits, t.limits), t.generations)
	return t, err
}
