package quota

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed43908478/penstock/limit"
)

// A ruleset is what one plan, or one tenant with overrides, comes to. Tenants
// without overrides share their plan's.
type ruleset struct{ groups []group }

// A group is the rules that are by the same parts, and spread over as many shards, and
// so share an item.
type group struct {
	by         string // the names of the parts, joined by "+", and "*8" when spread over 8
	parts      []part
	rules      []*Rule
	conditions []condition // of each rule
	memory     time.Duration
	requestIDs int
	shards     int
}

// A condition is a compiled [Match].
type condition struct {
	resource   *pattern // nil: any
	attributes []attributePattern
}

type attributePattern struct {
	name string
	pattern
}

// compile compiles limits. Those that were reset by themselves have generations, by name.
func compile(limits []placed, generations map[string]int64) (*ruleset, error) {
	rs := new(ruleset)
	for i, l := range limits {
		rule, err := newRule(l, i, generations[l.Name])
		if err != nil {
			return nil, err
		}
		g := rs.group(l.By, l.shards())
		g.rules = append(g.rules, rule)
		g.conditions = append(g.conditions, newCondition(l.Match))
		g.memory = max(g.memory, rule.Limit.Memory())
		g.requestIDs = max(g.requestIDs, l.rememberedIDs())
	}
	return rs, nil
}

func newRule(l placed, order int, generation int64) (*Rule, error) {
	made, err := limit.New(l.policy())
	if err != nil {
		return nil, err
	}
	r := &Rule{
		Name:         l.Name,
		ID:           ruleID(l.Name, made.Code(), generation),
		Limit:        made,
		Mode:         l.mode(),
		OnStoreError: cmp.Or(l.OnStoreError, Local),
		Shadows:      l.Shadows,
		Order:        order,
	}
	if n := l.shards(); n > 1 {
		shard := *r
		shard.Whole = r
		if shard.Limit, err = made.Share(n); err != nil {
			return nil, err
		}
		r.Shard = &shard
	}
	return r, nil
}

// ruleID names what a limit has stored, and with a generation something that has
// nothing stored yet.
func ruleID(name, code string, generation int64) string {
	if generation == 0 {
		return name + "." + code
	}
	return name + "." + code + "#" + strconv.FormatInt(generation, 36)
}

// group returns the group of these parts, in whatever order they were written, with so many shards.
func (rs *ruleset) group(by []string, shards int) *group {
	name := groupName(by, shards)
	for i := range rs.groups {
		if rs.groups[i].by == name {
			return &rs.groups[i]
		}
	}
	rs.groups = append(rs.groups, group{by: name, parts: newParts(by), shards: shards})
	return &rs.groups[len(rs.groups)-1]
}

func groupName(by []string, shards int) string {
	name := strings.Join(canonical(by), "+")
	if shards > 1 {
		name += "*" + strconv.Itoa(shards)
	}
	return name
}

func newCondition(m Match) (c condition) {
	if m.Resource != "" {
		p := newPattern(m.Resource)
		c.resource = &p
	}
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		c.attributes = append(c.attributes, attributePattern{name, newPattern(m.Attributes[name])})
	}
	return c
}
