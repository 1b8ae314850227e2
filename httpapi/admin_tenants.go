package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
)

// listTenants answers GET tenants.
func (a *admin) listTenants(c *adminCall) (reply, error) {
	q, err := c.query()
	if err != nil {
		return reply{}, err
	}
	var f configstore.TenantFilter
	f.Cursor, f.Limit = q.page()
	f.Prefix, f.Search, f.Plan = q.text("prefix"), q.text("search"), q.text("plan")
	if err := q.end(); err != nil {
		return reply{}, err
	}
	found, next, err := a.config.Tenants(c.Context(), f)
	return listed(found, next), err
}

// getTenant answers GET tenants/{tenant}.
func (a *admin) getTenant(c *adminCall) (reply, error) {
	name := c.PathValue("tenant")
	t, ok, err := a.config.Tenant(c.Context(), name)
	if err == nil && !ok {
		err = noTenant(name)
	}
	return reply{body: t, revision: t.Revision}, err
}

func noTenant(name string) error {
	return &problem{kind: notFound, detail: fmt.Sprintf("There is no tenant %s; create it with PUT.", clip(strconv.Quote(name)))}
}

// putTenant answers PUT tenants/{tenant}.
func (a *admin) putTenant(c *adminCall) (reply, error) {
	p, err := c.toPut()
	if err != nil {
		return reply{}, err
	}
	var t quota.Tenant
	if err := c.read(&t, maxAdminBody); err != nil {
		return reply{}, err
	}
	name := c.PathValue("tenant")
	path := quota.Member("tenants", name)
	warnings := warningsOf(quota.Config{Tenants: map[string]quota.Tenant{name: t}}, path)
	if p.dry {
		now, changed, err := a.config.CheckTenant(c.Context(), name, t)
		return reply{body: trial{changed, warnings}, revision: now.Revision}, inside(err, path)
	}
	put, effect, err := a.config.PutTenant(c.Context(), name, t, p.Precondition, c.by)
	if err != nil {
		return reply{}, required(inside(err, path), p.given)
	}
	a.changed(c)
	body := struct {
		configstore.Tenant
		Warnings []warning `json:"warnings,omitempty"`
	}{put, warnings}
	return reply{status: statusOf(effect), body: body, revision: put.Revision, location: location(effect, "tenants", name)}, nil
}

// deleteTenant answers DELETE tenants/{tenant}.
func (a *admin) deleteTenant(c *adminCall) (reply, error) {
	p, _, err := precondition(c.Header)
	if err != nil {
		return reply{}, err
	}
	_, err = a.config.DeleteTenant(c.Context(), c.PathValue("tenant"), p, c.by)
	a.changed(c)
	return reply{}, err
}

// statusOf is 201 of what was created.
func statusOf(e configstore.Effect) int {
	if e == configstore.Created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// location is where that is which was created.
func location(e configstore.Effect, collection, name string) string {
	if e != configstore.Created {
		return ""
	}
	return adminRoot + collection + "/" + url.PathEscape(name)
}
