package httpapi

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
)

// Counts knows what limits have counted: an [engine.Engine].
type Counts interface {
	// Counts tells what the limits of some items have counted, and what they would say to
	// a call of that cost; it changes nothing. at is the time it is true for. The error says
	// that it cannot be known.
	Counts(ctx context.Context, items []quota.Item, cost int64) (at time.Time, verdicts []engine.Verdict, err error)
	// Reset makes the limits that the items have ones that were never used. It may be
	// repeated when it fails.
	Reset(ctx context.Context, items []quota.Item) error
}

// InForce knows the configuration that is in force: a [quota.Live].
type InForce interface {
	// For returns what is in force, with what there is to know of a tenant.
	For(ctx context.Context, tenant string) (*quota.Snapshot, error)
	// Outdated says that there is a newer revision than this one. The next For should
	// find it, if it can be found soon.
	Outdated(revision int64)
}

// inForce returns the configuration by which a tenant's calls are decided: the newest,
// unless the table is away.
func (a *admin) inForce(ctx context.Context, tenant string) (*quota.Snapshot, error) {
	s, err := a.plans.For(ctx, tenant)
	if err != nil {
		return nil, err
	}
	if version, err := a.config.Version(ctx); err != nil || version == s.Revision() {
		return s, nil //nolint:nilerr // what is in force is in force, also when nobody knows whether there is a newer one
	}
	a.plans.Outdated(s.Revision())
	return a.plans.For(ctx, tenant)
}

// changed has the configuration looked for that was changed here.
func (a *admin) changed(c *adminCall) {
	if s, err := a.plans.For(c.Context(), c.PathValue("tenant")); err == nil {
		a.plans.Outdated(s.Revision())
	}
}

// explanation explains a request by what is in force. The error names the tenant.
func (a *admin) explanation(ctx context.Context, r quota.Request) (*quota.Snapshot, quota.Explanation, error) {
	s, err := a.inForce(ctx, r.Tenant)
	if err != nil {
		return nil, quota.Explanation{}, err
	}
	e, err := s.Explain(r)
	return s, e, err
}

// itemsOf returns the items of some limits of a tenant, with the rules of these limits only.
func itemsOf(s *quota.Snapshot, tenant string, limits []quota.ExplainedLimit) ([]quota.Item, error) {
	var items []quota.Item
	for _, l := range limits {
		i := slices.IndexFunc(items, func(i quota.Item) bool { return i.Key == l.Item })
		if i < 0 {
			item, ok, err := s.Item(tenant, l.Item)
			if err != nil || !ok {
				return nil, fmt.Errorf("limit %s has no item %s: %w", l.Name, l.Item, err)
			}
			item.Shards = l.Shards
			i, items = len(items), append(items, item)
			items[i].Rules = nil
		}
		if rule := ruleOf(s, tenant, l); rule != nil {
			items[i].Rules = append(items[i].Rules, rule)
		}
	}
	return items, nil
}

// ruleOf returns the rule of a limit: of one that is spread, that of the whole.
func ruleOf(s *quota.Snapshot, tenant string, l quota.ExplainedLimit) *quota.Rule {
	item, _, _ := s.Item(tenant, l.Item)
	for _, r := range item.Rules {
		switch {
		case r.ID != l.ID:
		case r.Whole != nil:
			return r.Whole
		default:
			return r
		}
	}
	return nil
}

// A count is what a limit has counted, for one whom it counts.
type count struct {
	// Allowed is whether a call of the cost would pass, and Short how many permits it lacks.
	Allowed bool  `json:"allowed"`
	Never   bool  `json:"never,omitzero"`
	Short   int64 `json:"short,omitzero"`
	// Capacity is what Remaining counts down from: what a bucket holds, else the quota.
	Capacity     int64 `json:"capacity"`
	Used         int64 `json:"used"`
	Remaining    int64 `json:"remaining"`
	RetryAfterMS int64 `json:"retry_after_ms"`
	ResetAfterMS int64 `json:"reset_after_ms"`
	// Over is whether more is used than the limit says, by what soft_percent lets pass.
	Over bool `json:"over,omitzero"`
}

func newCount(v engine.Verdict, cost int64) count {
	full := v.Rule.Limit.Full()
	n := count{
		Allowed: v.Allowed, Never: v.Never, Capacity: full, Used: max(0, full-v.Remaining), Remaining: v.Remaining, Over: v.Over,
		RetryAfterMS: ceil(v.RetryAfter, time.Millisecond), ResetAfterMS: ceil(v.ResetAfter, time.Millisecond),
	}
	if !v.Allowed {
		n.Short = max(1, cost-v.Remaining)
	}
	return n
}

// countsOf reads what limits have counted, by the names of the limits.
func (a *admin) countsOf(ctx context.Context, s *quota.Snapshot, tenant string, limits []quota.ExplainedLimit, cost int64) (time.Time, map[string]count, error) {
	items, err := itemsOf(s, tenant, limits)
	if err != nil {
		return time.Time{}, nil, err
	}
	at, verdicts, err := a.counts.Counts(ctx, items, cost)
	if err != nil {
		return at, nil, err
	}
	counts := make(map[string]count, len(verdicts))
	for _, v := range verdicts {
		counts[v.Rule.Name] = newCount(v, cost)
	}
	return at.UTC().Truncate(time.Millisecond), counts, nil
}

// Usage is the answer to GET tenants/{tenant}/usage.
type usage struct {
	Tenant string       `json:"tenant"`
	Plan   string       `json:"plan"`
	At     time.Time    `json:"at"`
	Limits []usedLimit  `json:"limits"`
	More   []otherLimit `json:"more"`
}

// A usedLimit is a limit with what it has counted.
type usedLimit struct {
	quota.Limit
	By   []string     `json:"by"` // also when empty
	From quota.Origin `json:"from"`
	count
}

// An otherLimit is one that counts for each of what the request did not name.
type otherLimit struct {
	Name string   `json:"name"`
	By   []string `json:"by"`
}

// usage answers GET tenants/{tenant}/usage.
func (a *admin) usage(c *adminCall) (reply, error) {
	q, err := c.query()
	if err != nil {
		return reply{}, err
	}
	named := q.parts()
	if err := q.end(); err != nil {
		return reply{}, err
	}
	r := named.request(c.PathValue("tenant"))
	s, e, err := a.explanation(c.Context(), r)
	if err != nil {
		return reply{}, err
	}
	out := usage{Tenant: r.Tenant, Plan: e.Plan, Limits: []usedLimit{}, More: []otherLimit{}}
	var counted []quota.ExplainedLimit
	for _, l := range e.Limits {
		switch {
		case l.ID == "": // off
		case len(named.missing(l.By)) > 0:
			out.More = append(out.More, otherLimit{l.Name, l.By})
		default:
			counted = append(counted, l)
		}
	}
	at, counts, err := a.countsOf(c.Context(), s, r.Tenant, counted, 1)
	if err != nil {
		return reply{}, err
	}
	for _, l := range counted {
		out.Limits = append(out.Limits, usedLimit{l.Limit, append([]string{}, l.By...), l.From, counts[l.Name]})
	}
	out.At = at
	return reply{body: out}, nil
}

// Parts say whose count is meant: what a limit can be by. A part that is there and empty is
// the count of all who have none.
type parts struct {
	Subject    *string           `json:"subject"`
	Resource   *string           `json:"resource"`
	Attributes map[string]string `json:"attributes"`
}

const attributePrefix = "attributes."

// parts returns the parameters subject, resource and attributes.NAME.
func (q *query) parts() (p parts) {
	optional := func(name string) *string {
		if !q.values.Has(name) {
			q.known = append(q.known, name)
			return nil
		}
		value := q.text(name)
		return &value
	}
	p.Subject, p.Resource = optional("subject"), optional("resource")
	for _, name := range sortedNames(q.values) {
		if attribute, ok := strings.CutPrefix(name, attributePrefix); ok && attribute != "" {
			if p.Attributes == nil {
				p.Attributes = map[string]string{}
			}
			p.Attributes[attribute] = q.text(name)
		}
	}
	return p
}

func sortedNames(values url.Values) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// check notes what is wrong with the parts of a body.
func (p parts) check(faults *[]fault) {
	text := func(member string, s *string, most int) {
		if s == nil {
			return
		}
		if f := unfit([]byte(*s), most); f != "" {
			*faults = append(*faults, fault{member, f})
		}
	}
	text("subject", p.Subject, maxPart)
	text("resource", p.Resource, maxResource)
	if len(p.Attributes) > maxAttributes {
		*faults = append(*faults, fault{"attributes", fmt.Sprintf("must be at most %d, but are %d", maxAttributes, len(p.Attributes))})
	}
	for name, value := range p.Attributes {
		text(attributePrefix+clip(name), &value, maxPart)
	}
}

// names reports whether any part is there.
func (p parts) names() bool { return p.Subject != nil || p.Resource != nil || len(p.Attributes) > 0 }

// has reports whether a part is there, as it is written in by.
func (p parts) has(by string) bool {
	switch by {
	case "subject":
		return p.Subject != nil
	case "resource":
		return p.Resource != nil
	}
	_, ok := p.Attributes[strings.TrimPrefix(by, attributePrefix)]
	return ok
}

// missing are the parts of by that are not there.
func (p parts) missing(by []string) (names []string) {
	for _, part := range by {
		if !p.has(part) {
			names = append(names, part)
		}
	}
	return names
}

// beyond are the parts that are there and not in by.
func (p parts) beyond(by []string) (names []string) {
	all := []string{"subject", "resource"}
	for name := range p.Attributes {
		all = append(all, attributePrefix+name)
	}
	for _, part := range all {
		if p.has(part) && !slices.Contains(by, part) {
			names = append(names, part)
		}
	}
	slices.Sort(names)
	return names
}

// request is one that has these parts.
func (p parts) request(tenant string) quota.Request {
	r := quota.Request{Tenant: tenant, Attributes: p.Attributes}
	if p.Subject != nil {
		r.Subject = *p.Subject
	}
	if p.Resource != nil {
		r.Resource = *p.Resource
	}
	return r
}
