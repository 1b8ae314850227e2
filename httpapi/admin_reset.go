package httpapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
)

// A resetBody names what is to begin afresh.
type resetBody struct {
	Limit *string `json:"limit"`
	parts
}

// A scope of a reset is how much of a tenant's counts it is about.
type resetScope string

const (
	// ofKey: the counts of those who were named.
	ofKey resetScope = "key"
	// ofLimit: all counts of a limit.
	ofLimit resetScope = "limit"
	// ofTenant: all counts of the tenant.
	ofTenant resetScope = "tenant"
)

// What a reset has done: which limits, and when everybody has seen it.
type resetDone struct {
	Scope  resetScope `json:"scope"`
	Limits []string   `json:"limits"`
	// WithinMS is how long other instances may go on as before.
	WithinMS int64 `json:"within_ms"`
}

const (
	// rememberedMS is how long an instance refuses by what it remembers, see engine.Reset.
	rememberedMS = 10_000
	// configurationMS is how old the configuration of an instance may be, see quota.LiveOptions.
	configurationMS = 30_000
)

// reset answers POST tenants/{tenant}/reset. Single counts are reset in the store. There
// is no list of all counts of a limit that is by something, or of a tenant: these begin anew
// under another name.
func (a *admin) reset(c *adminCall) (reply, error) {
	var asked resetBody
	if err := c.read(&asked, maxAdminBody); err != nil {
		return reply{}, err
	}
	var faults []fault
	if asked.check(&faults); len(faults) > 0 {
		return reply{}, faulted(faults)
	}
	tenant := c.PathValue("tenant")
	s, e, err := a.explanation(c.Context(), asked.request(tenant))
	if err != nil {
		return reply{}, err
	}
	limits, err := asked.limits(e)
	if err != nil {
		return reply{}, err
	}
	done := resetDone{Scope: asked.scope(limits), Limits: []string{}, WithinMS: configurationMS}
	for _, l := range limits {
		done.Limits = append(done.Limits, l.Name)
	}
	switch done.Scope {
	case ofKey:
		done.WithinMS = rememberedMS
		err = a.resetKeys(c, s, tenant, limits)
	case ofLimit:
		_, err = a.config.ResetLimit(c.Context(), tenant, *asked.Limit, c.by)
		a.changed(c)
	case ofTenant:
		_, err = a.config.ResetTenant(c.Context(), tenant, c.by)
		a.changed(c)
	}
	if errors.Is(err, configstore.ErrNotFound) {
		err = &problem{kind: conflict, detail: "The tenant has the default plan and is not known by name: create it with PUT to reset all of it, or name whose count it is."}
	}
	return reply{body: done}, err
}

// resetKeys is written down first: whose count it was is not in the audit, but a digest.
func (a *admin) resetKeys(c *adminCall, s *quota.Snapshot, tenant string, limits []quota.ExplainedLimit) error {
	items, err := itemsOf(s, tenant, limits)
	if err != nil {
		return err
	}
	var what []string
	for _, i := range items {
		for _, r := range i.Rules {
			what = append(what, r.Name+" of "+i.Key)
		}
	}
	if err := a.config.RecordReset(c.Context(), tenant, strings.Join(what, ", "), c.by); err != nil {
		return err
	}
	return a.counts.Reset(c.Context(), items)
}

// scope is how much is to be reset. A limit that is by nothing has one count.
func (b resetBody) scope(limits []quota.ExplainedLimit) resetScope {
	switch {
	case b.names(), b.Limit != nil && len(limits[0].By) == 0:
		return ofKey
	case b.Limit != nil:
		return ofLimit
	}
	return ofTenant
}

// limits are those that the body names: one, those by what it names, or all.
func (b resetBody) limits(e quota.Explanation) ([]quota.ExplainedLimit, error) {
	var on []quota.ExplainedLimit
	for _, l := range e.Limits {
		if l.ID != "" {
			on = append(on, l)
		}
	}
	switch {
	case b.Limit != nil:
		return b.one(on)
	case !b.names():
		return on, nil
	}
	var of []quota.ExplainedLimit
	for _, l := range on {
		if len(l.By) > 0 && len(b.missing(l.By)) == 0 {
			of = append(of, l)
		}
	}
	if len(of) == 0 {
		return nil, &problem{kind: invalidRequest, detail: "No limit of this tenant is by " + strings.Join(b.beyond(nil), ", ") + " alone; there are " + bys(on) + "."}
	}
	return of, nil
}

// one is the limit that is named, whose parts have to be named all or none.
func (b resetBody) one(on []quota.ExplainedLimit) ([]quota.ExplainedLimit, error) {
	i := slices.IndexFunc(on, func(l quota.ExplainedLimit) bool { return l.Name == *b.Limit })
	if i < 0 {
		return nil, faulted([]fault{{"limit", "is none that this tenant has; there are " + bys(on)}})
	}
	l := on[i]
	if !b.names() {
		return on[i : i+1], nil
	}
	var faults []fault
	for _, part := range b.missing(l.By) {
		faults = append(faults, fault{part, fmt.Sprintf("is missing: limit %s is by %s", l.Name, strings.Join(l.By, ", "))})
	}
	for _, part := range b.beyond(l.By) {
		faults = append(faults, fault{part, fmt.Sprintf("is not what limit %s is by; leave it out", l.Name)})
	}
	return on[i : i+1], faulted(faults)
}

// bys says limits with what they are by: "daily, per-user (by subject)".
func bys(limits []quota.ExplainedLimit) string {
	said := make([]string, len(limits))
	for i, l := range limits {
		said[i] = l.Name
		if len(l.By) > 0 {
			said[i] += " (by " + strings.Join(l.By, ", ") + ")"
		}
	}
	if len(said) == 0 {
		return "none"
	}
	return strings.Join(said, ", ")
}
