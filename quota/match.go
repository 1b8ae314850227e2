package quota

import "errors"

// ErrUnknownTenant says that a tenant is not among those configured, and that there
// is no default plan.
var ErrUnknownTenant = errors.New("unknown tenant")

// Match returns the items a request counts in, each with the rules of it that apply,
// in the order of the plan; none when no limit matches. The error is [ErrUnknownTenant].
// The rules are shared: they must not be changed.
func (s *Snapshot) Match(r Request) ([]Item, error) {
	t, err := s.tenant(r.Tenant)
	if err != nil {
		return nil, err
	}
	return t.rules.match(&r, t.generation, s.revision), nil
}

func (rs *ruleset) match(r *Request, generation, revision int64) []Item {
	var items []Item
	for i := range rs.groups {
		g := &rs.groups[i]
		rules := g.match(r)
		if len(rules) == 0 {
			continue
		}
		if items == nil {
			items = make([]Item, 0, len(rs.groups)-i)
		}
		items = append(items, Item{
			Key: key(r, generation, g.parts, g.by), Rules: rules, Parts: len(g.parts),
			Memory: g.memory, RequestIDs: g.requestIDs, Shards: g.shards, Revision: revision,
		})
	}
	return items
}

// match returns the rules that apply. Neighbours, all of them above all, are not copied.
func (g *group) match(r *Request) []*Rule {
	var rules []*Rule
	from, copied := 0, false
	for i := range g.rules {
		switch {
		case !g.conditions[i].holds(r):
		case len(rules) == 0:
			rules, from = g.rules[i:i+1:i+1], i
		case !copied && from+len(rules) == i:
			rules = g.rules[from : i+1 : i+1]
		default:
			if !copied {
				rules, copied = append(make([]*Rule, 0, len(g.rules)), rules...), true
			}
			rules = append(rules, g.rules[i])
		}
	}
	return rules
}

func (c *condition) holds(r *Request) bool {
	if c.resource != nil && !c.resource.match(r.Resource) {
		return false
	}
	for i := range c.attributes {
		a := &c.attributes[i]
		value, ok := r.Attributes[a.name]
		if !ok || !a.match(value) {
			return false
		}
	}
	return true
}
