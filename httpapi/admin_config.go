package httpapi

import (
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
)

// getConfig answers GET config.
func (a *admin) getConfig(c *adminCall) (reply, error) {
	config, version, err := a.config.Export(c.Context())
	return reply{body: config, revision: version}, err
}

// A difference is what a configuration changes, or would.
type difference struct {
	Version int64 `json:"version"`
	Changed bool  `json:"changed"`
	configstore.Difference
	Warnings []warning `json:"warnings,omitempty"`
}

// A warning is what is valid and may not be had, named as a fault is.
type warning struct {
	Member string `json:"member"`
	Detail string `json:"detail"`
}

// warningsOf are the warnings of a configuration, by member of what is at the path.
func warningsOf(c quota.Config, path string) (all []warning) {
	for _, p := range c.Warnings() {
		all = append(all, warning{within(p.Path, path), p.Text})
	}
	return all
}

// A trial is what would become of a PUT.
type trial struct {
	Changed  bool      `json:"changed"`
	Warnings []warning `json:"warnings,omitempty"`
}

func newDifference(version int64, changed bool, d configstore.Difference, c quota.Config) difference {
	for _, n := range []*configstore.Names{&d.Plans, &d.Tenants} {
		for _, names := range []*[]string{&n.Added, &n.Changed, &n.Removed} {
			if *names == nil {
				*names = []string{}
			}
		}
	}
	return difference{version, changed, d, warningsOf(c, "")}
}

// putConfig answers PUT config.
func (a *admin) putConfig(c *adminCall) (reply, error) {
	p, err := c.toPut()
	if err != nil {
		return reply{}, err
	}
	var config quota.Config
	if err := c.read(&config, maxConfigBody); err != nil {
		return reply{}, err
	}
	if p.dry {
		return a.tryConfig(c, config)
	}
	applied, err := a.config.Apply(c.Context(), config, p.Precondition, c.by, nil)
	if err != nil {
		return reply{}, required(err, p.given)
	}
	a.changed(c)
	return reply{body: newDifference(applied.Version, applied.Changed, applied.Difference, config), revision: applied.Version}, nil
}

// tryConfig says what a configuration would change. The version is that of now: an
// If-Match with it has exactly this difference applied.
func (a *admin) tryConfig(c *adminCall, config quota.Config) (reply, error) {
	if err := config.Validate(); err != nil {
		return reply{}, err
	}
	now, version, err := a.config.Export(c.Context())
	if err != nil {
		return reply{}, err
	}
	d := configstore.Diff(now, config)
	return reply{body: newDifference(version, !d.Empty(), d, config), revision: version}, nil
}

// listAudit answers GET audit.
func (a *admin) listAudit(c *adminCall) (reply, error) {
	q, err := c.query()
	if err != nil {
		return reply{}, err
	}
	var f configstore.AuditFilter
	f.Cursor, f.Limit = q.page()
	f.Tenant = q.text("tenant")
	if err := q.end(); err != nil {
		return reply{}, err
	}
	entries, next, err := a.config.Audit(c.Context(), f)
	return listed(entries, next), err
}
