package httpapi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
)

// listPlans answers GET plans.
func (a *admin) listPlans(c *adminCall) (reply, error) {
	q, err := c.query()
	if err != nil {
		return reply{}, err
	}
	cursor, limit := q.page()
	prefix := q.text("prefix")
	if err := q.end(); err != nil {
		return reply{}, err
	}
	all, _, err := a.config.Plans(c.Context())
	if err != nil {
		return reply{}, err
	}
	var found []configstore.Plan
	for _, p := range all {
		if p.Name <= cursor || !strings.HasPrefix(p.Name, prefix) {
			continue
		}
		if len(found) == limit {
			return listed(found, found[limit-1].Name), nil
		}
		found = append(found, p)
	}
	return listed(found, ""), nil
}

// getPlan answers GET plans/{plan}.
func (a *admin) getPlan(c *adminCall) (reply, error) {
	name := c.PathValue("plan")
	p, ok, err := a.config.Plan(c.Context(), name)
	if err == nil && !ok {
		err = noPlan(name)
	}
	return reply{body: p, revision: p.Revision}, err
}

func noPlan(name string) error {
	return &problem{kind: notFound, detail: fmt.Sprintf("There is no plan %s; create it with PUT.", clip(strconv.Quote(name)))}
}

// putPlan answers PUT plans/{plan}.
func (a *admin) putPlan(c *adminCall) (reply, error) {
	p, err := c.toPut()
	if err != nil {
		return reply{}, err
	}
	var plan quota.Plan
	if err := c.read(&plan, maxAdminBody); err != nil {
		return reply{}, err
	}
	name := c.PathValue("plan")
	path := quota.Member("plans", name)
	warnings := warningsOf(quota.Config{Plans: map[string]quota.Plan{name: plan}}, path)
	if p.dry {
		now, changed, err := a.config.CheckPlan(c.Context(), name, plan)
		return reply{body: trial{changed, warnings}, revision: now.Revision}, inside(err, path)
	}
	put, effect, err := a.config.PutPlan(c.Context(), name, plan, p.Precondition, c.by)
	if err != nil {
		return reply{}, required(inside(err, path), p.given)
	}
	a.changed(c)
	body := struct {
		configstore.Plan
		Warnings []warning `json:"warnings,omitempty"`
	}{put, warnings}
	return reply{status: statusOf(effect), body: body, revision: put.Revision, location: location(effect, "plans", name)}, nil
}

// deletePlan answers DELETE plans/{plan}.
func (a *admin) deletePlan(c *adminCall) (reply, error) {
	p, _, err := precondition(c.Header)
	if err != nil {
		return reply{}, err
	}
	_, err = a.config.DeletePlan(c.Context(), c.PathValue("plan"), p, c.by)
	return reply{}, err
}

// A defaultPlan is the plan of tenants that are not known by name; "" is none.
type defaultPlan struct {
	DefaultPlan *string `json:"default_plan"`
}

// getDefaultPlan answers GET default_plan.
func (a *admin) getDefaultPlan(c *adminCall) (reply, error) {
	name, err := a.config.DefaultPlan(c.Context())
	return reply{body: defaultPlan{&name}}, err
}

// putDefaultPlan answers PUT default_plan.
func (a *admin) putDefaultPlan(c *adminCall) (reply, error) {
	var d defaultPlan
	if err := c.read(&d, maxAdminBody); err != nil {
		return reply{}, err
	}
	if d.DefaultPlan == nil {
		return reply{}, faulted([]fault{{"default_plan", `is required: the name of a plan, or "" for none`}})
	}
	_, err := a.config.SetDefaultPlan(c.Context(), *d.DefaultPlan, c.by)
	a.changed(c)
	return reply{body: d}, err
}
