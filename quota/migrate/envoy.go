package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed43908478/penstock/quota"
)

// Envoy makes a configuration of the rules of Envoy's rate limit service (and Lyft's
// before it), one file of YAML: a domain and nested descriptors. The domain becomes a
// plan, and a tenant that has it; each rate_limit becomes a limit. The notes say, by
// line, what is not the same. The error is a [quota.Problems].
func Envoy(data []byte) (quota.Config, []Note, error) {
	root, err := yamlDocument(data)
	if err != nil {
		return quota.Config{}, nil, err
	}
	var r rules
	r.begin()
	r.read(root)
	if err := r.err(); err != nil {
		return quota.Config{}, nil, err
	}
	m := domain{rules: &r, plan: newPlan(names{}.take("domain", r.domain)), attributes: newAttributes(), made: map[*descriptor]*made{}}
	return m.config(), byLine(m.notes), nil
}

// A domain is one whose rules are being made into a plan.
type domain struct {
	*rules

	plan       *plan
	attributes attributes
	made       map[*descriptor]*made // of each descriptor with a rate_limit
	order      []*descriptor         // of made
}

// made is what became of a rate_limit.
type made struct {
	limit quota.Limit
	// holds says that the limit is there and enforced.
	holds bool
}

func (m *domain) config() quota.Config {
	tenant := tenantName(m.domain)
	for _, d := range m.all(m.top) {
		m.attributes.reserve(d.key)
	}
	for _, d := range m.all(m.top) {
		m.describe(d)
		if d.limit != nil {
			m.add(d)
		}
	}
	m.compare()
	m.explain(tenant)
	for i := range m.notes {
		m.notes[i].Plan = m.plan.name
	}
	return quota.Config{
		Plans:   map[string]quota.Plan{m.plan.name: {Limits: m.plan.limits}},
		Tenants: map[string]quota.Tenant{tenant: {Plan: m.plan.name}},
	}
}

// all returns the descriptors in the order of the file.
func (m *domain) all(list []*descriptor) (all []*descriptor) {
	for _, d := range list {
		all = append(append(all, d), m.all(d.children)...)
	}
	return all
}

// explain says how to ask about what was made.
func (m *domain) explain(tenant string) {
	var keys []string
	for _, d := range m.all(m.top) {
		if name := m.attributes.name(d.key); !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	if len(keys) == 0 {
		m.note(m.at.note(Advice, "the domain has no descriptors, so the plan %s has no limits", m.plan.name))
		return
	}
	m.note(m.at.note(Advice, "a check names the tenant %s, and has as attributes what Envoy sends as entries: %s. A limit applies to checks that have all of its attributes, whatever else they have; in Envoy, to lists of just these entries",
		tenant, few(keys)))
	if tenant != m.domain {
		m.note(m.at.note(Approximated, "%.80q cannot be a tenant's name: it is %s", m.domain, tenant))
	}
}

// describe says what of a descriptor is not in the limits.
func (m *domain) describe(d *descriptor) {
	if name := m.attributes.name(d.key); name != d.key {
		m.note(d.note(Approximated, "the key %.80q cannot be the name of an attribute: checks have to call it %s", d.key, name))
	}
	if first := d.path()[slices.IndexFunc(d.path(), func(p *descriptor) bool { return p.key == d.key })]; first != d {
		m.note(d.note(NotExpressed, "asks again for %.80s, and an attribute has one value: only line %d is compared", d.key, first.line))
	}
	if i := strings.IndexByte(d.value, '*'); 0 <= i && i < len(d.value)-1 {
		m.note(d.note(Approximated, "the * within %.80q matches anything here; versions of Envoy's service that know it only at the end take it literally", d.value))
	}
	for _, i := range d.ignored {
		if i.name == "quota_mode" {
			m.note(i.note(NotExpressed, "is not known to Penstock: the limit is enforced"))
			continue
		}
		m.note(i.note(Approximated, "Penstock's metrics are by tenant and by limit, never by a value; nothing else changes"))
	}
	if d.limit == nil && d.shadow {
		m.note(d.note(Advice, "shadow_mode without a rate_limit does nothing"))
	}
	if d.limit == nil && len(d.children) == 0 {
		m.note(d.note(Advice, "has no rate_limit: nothing is to be limited"))
	}
}

// add makes the limit of a descriptor that has a rate_limit.
func (m *domain) add(d *descriptor) {
	made := &made{}
	m.made[d] = made
	m.order = append(m.order, d)
	if d.limit.unlimited {
		m.note(d.limit.note(Advice, "unlimited: %s needs no limit", d))
		return
	}
	l, notes := m.limit(d)
	if d.shadow {
		l.Mode = quota.Shadow
	}
	notes = append(notes, spread(&l, d.limit.place)...)
	if why := m.plan.addBy(l, m.by(d)); why != "" {
		notes = append(notes, d.limit.note(NotExpressed, "the limit is off: %s", why))
		l.Mode = quota.Off
	}
	made.limit = l
	made.holds = l.Mode == "" || l.Mode == quota.Enforce
	for _, n := range notes {
		m.note(n.of(m.plan.name, l.Name))
	}
}

// limit returns the limit, and what is to be said of it.
func (m *domain) limit(d *descriptor) (l quota.Limit, notes []Note) {
	l.Name = m.name(d)
	l.Match.Attributes = map[string]string{}
	for _, p := range d.path() {
		name := m.attributes.name(p.key)
		if _, ok := l.Match.Attributes[name]; ok {
			continue // described
		}
		l.Match.Attributes[name] = p.broad()
	}
	l.By = m.by(d)[0]
	unit := units[d.limit.unit]
	l.Algorithm, l.Quota, l.Period = "fixed_window", d.limit.requests.value, unit.period
	if unit.note != "" {
		at := place{d.limit.line, member(d.limit.path, "unit")}
		notes = append(notes, at.note(unit.kind, "%s", unit.note))
	}
	if l.Quota == 0 {
		l = least(l)
		notes = append(notes, d.limit.requests.note(NotExpressed, "0 %s", leastIs))
	}
	for _, o := range d.limit.other {
		l.Period = ""
		notes = append(notes, o.note(NotExpressed, "is not known to Penstock's import"))
	}
	return l, notes
}

// name is the one that the file gives, else it is made of keys and values.
func (m *domain) name(d *descriptor) string {
	if d.limit.name != "" {
		return m.plan.names.take("limit", d.limit.name)
	}
	var words []string
	for _, p := range d.path() {
		words = append(words, p.key, p.value)
	}
	return m.plan.names.take("limit", slices.DeleteFunc(words, func(w string) bool { return w == "" })...)
}

// by returns whose the count is, first as it is meant: each list of values has its own,
// as in Envoy; so limits of the same keys share an item, and a value that everybody
// asks for does not stand in the way of the others. A key with only one value can as
// well be left out, when an item has no more room.
func (m *domain) by(d *descriptor) (by [][]string) {
	var all, fixed []string
	for _, p := range d.path() {
		part := "attributes." + m.attributes.name(p.key)
		switch {
		case p.share || slices.Contains(all, part):
			continue
		case p.value != "" && !strings.Contains(p.value, "*"):
			fixed = append(fixed, part)
		}
		all = append(all, part)
	}
	by = append(by, all)
	for i := range fixed {
		by = append(by, slices.DeleteFunc(slices.Clone(all), func(part string) bool { return slices.Contains(fixed[:i+1], part) }))
	}
	return by
}

// few joins words, not too many of them.
func few(words []string) string {
	const most = 12
	if more := len(words) - most; more > 0 {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(words, ", ")
}
