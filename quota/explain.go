package quota

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed43908478/penstock/limit"
)

// An Origin is where a limit was written.
type Origin string

const (
	// FromPlan: in the plan.
	FromPlan Origin = "plan"
	// FromTenant: in the tenant's own limits.
	FromTenant Origin = "tenant"
)

// An Explanation says which limits a request has, and why not the others. A revision
// is the version of the last change: who made it, the audit says.
type Explanation struct {
	Tenant string `json:"tenant"`
	// Known is whether the tenant is known by name; else it has the default plan.
	Known bool   `json:"known"`
	Plan  string `json:"plan"`
	// Version is that of the configuration, PlanRevision that of the plan, and Revision
	// that of the tenant; 0 of what was not saved.
	Version      int64 `json:"version,omitzero"`
	PlanRevision int64 `json:"plan_revision,omitzero"`
	Revision     int64 `json:"revision,omitzero"`
	// Generation is the version that began all counts of the tenant afresh; 0 when none did.
	Generation int64 `json:"generation,omitzero"`
	// Limits are the plan's in order, and then those that only the tenant has.
	Limits []ExplainedLimit `json:"limits"`
}

// An ExplainedLimit is a limit as it is written, and whether the request counts in it.
type ExplainedLimit struct {
	Limit
	// From is where it was written, and Replaces whether it is in place of the plan's of the same name.
	From     Origin `json:"from"`
	Replaces bool   `json:"replaces,omitzero"`
	// Revision is that of the plan or the tenant.
	Revision int64 `json:"revision,omitzero"`
	Matched  bool  `json:"matched"`
	// Reason is why it does not match: `resource "GET /a" does not match "POST *"`.
	Reason string `json:"reason,omitempty"`
	// ID is that of [Rule], and Item the key of [Item]; empty for a limit that is off.
	ID   string `json:"id,omitempty"`
	Item string `json:"item,omitempty"`
	// Shards is that of [Item].
	Shards int `json:"shards,omitzero"`
}

// Explain says which limits a request has, and why not the others. The error is [ErrUnknownTenant].
func (s *Snapshot) Explain(r Request) (Explanation, error) {
	t, err := s.tenant(r.Tenant)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{
		Tenant: r.Tenant, Known: s.knows(r.Tenant), Plan: t.plan.name, Version: s.revision,
		PlanRevision: t.plan.revision, Revision: t.revision, Generation: t.generation,
	}
	own := map[string]Limit{}
	for _, l := range t.limits {
		own[l.Name] = l
	}
	for _, l := range t.plan.limits {
		replacement, replaced := own[l.Name]
		if replaced {
			e.Limits = append(e.Limits, t.explain(&r, replacement, FromTenant, true))
			delete(own, l.Name)
			continue
		}
		e.Limits = append(e.Limits, t.explain(&r, l, FromPlan, false))
	}
	for _, l := range t.limits {
		if _, left := own[l.Name]; left {
			e.Limits = append(e.Limits, t.explain(&r, l, FromTenant, false))
		}
	}
	return e, nil
}

func (s *Snapshot) knows(tenant string) bool {
	at := s.section(tenant)
	if at == nil {
		return false
	}
	_, ok := (*at.tenants.Load())[tenant]
	return ok
}

func (t *tenant) explain(r *Request, l Limit, from Origin, replaces bool) ExplainedLimit {
	e := ExplainedLimit{Limit: l, From: from, Replaces: replaces, Revision: t.revision}
	if from == FromPlan {
		e.Revision = t.plan.revision
	}
	if l.Mode == Off {
		e.Reason = "mode is off"
		return e
	}
	made, err := limit.New(l.policy())
	if err != nil { // it was compiled before
		e.Reason = err.Error()
		return e
	}
	parts := newParts(l.By)
	e.ID = ruleID(l.Name, made.Code(), t.generations[l.Name])
	e.Item = key(r, t.generation, parts, groupName(l.By, l.shards()))
	e.Shards = l.shards()
	e.Reason = l.Match.mismatch(r)
	e.Matched = e.Reason == ""
	return e
}

// mismatch says why a request does not match; "" when it does.
func (m Match) mismatch(r *Request) string {
	if m.Resource != "" {
		if p := newPattern(m.Resource); !p.match(r.Resource) {
			return fmt.Sprintf("resource %q does not match %q", r.Resource, m.Resource)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		value, ok := r.Attributes[name]
		if !ok {
			return fmt.Sprintf("attribute %s is missing", name)
		}
		if p := newPattern(m.Attributes[name]); !p.match(value) {
			return fmt.Sprintf("attribute %s %q does not match %q", name, value, m.Attributes[name])
		}
	}
	return ""
}
