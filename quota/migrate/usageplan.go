package migrate

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed43908478/penstock/quota"
)

// quotaPeriods are those of a usage plan's quota: what they are here, how the limit is
// called, and which offsets API Gateway takes.
var quotaPeriods = map[string]struct {
	period  quota.Period
	name    string
	offsets int64
}{
	"DAY":   {"day", "daily", 0},
	"WEEK":  {"week", "weekly", 6},
	"MONTH": {"month", "monthly", 27},
}

func (r *usagePlans) config(root *yaml.Node) quota.Config {
	at := place{root.Line, "items"}
	c := quota.Config{Plans: map[string]quota.Plan{}}
	taken := names{}
	for _, u := range r.items {
		words := []string{u.name}
		if plain(u.name) == "" {
			words = []string{u.id}
		}
		p := newPlan(taken.take("plan", words...))
		r.convert(u, p)
		c.Plans[p.name] = quota.Plan{Limits: p.limits}
	}
	if len(r.items) == 0 {
		r.note(at.note(Advice, "there are no usage plans, so there are no plans"))
		return c
	}
	r.note(at.note(Advice, `who has which plan is not in this output: add tenants, as in "acme: {plan: %s}", and see aws apigateway get-usage-plan-keys`, taken.first()))
	return c
}

// first returns the first name in alphabetical order.
func (ns names) first() (first string) {
	for name := range ns {
		if first == "" || name < first {
			first = name
		}
	}
	return first
}

// A converting is a usage plan that is being made into a plan.
type converting struct {
	*usagePlans

	from *usagePlan
	to   *plan
}

func (r *usagePlans) convert(u *usagePlan, p *plan) {
	c := converting{r, u, p}
	c.describe()
	if u.throttle != nil {
		c.add(u.throttle, quota.Limit{Name: p.names.take("throttle", "throttle")})
	}
	if u.quota != nil {
		c.addQuota(u.quota)
	}
	c.addMethods()
	if u.throttle == nil && u.quota == nil && len(p.limits) == 0 {
		r.note(u.note(Advice, "has neither throttle nor quota: the plan %s has no limits", p.name).of(p.name, ""))
	}
}

// describe says what of a usage plan is not in the limits.
func (c converting) describe() {
	say := func(at place, format string, args ...any) {
		c.note(at.note(Advice, format, args...).of(c.to.name, ""))
	}
	u := c.from
	if u.name != c.to.name {
		say(u.place, "the usage plan %.128q (%s) is the plan %s", u.name, u.id, c.to.name)
	}
	if u.description.name != "" {
		say(u.description.place, "a plan has no description, but for this comment: %.512q", u.description.name)
	}
	if u.product.name != "" {
		say(u.product.place, "the product %.128q of AWS Marketplace is billed by API Gateway's keys, not by Penstock", u.product.name)
	}
	if u.tags.name != "" {
		say(u.tags.place, "a plan has no tags:%.512s", u.tags.name)
	}
	var stages []string
	for _, s := range u.stages {
		stages = append(stages, s.api+"/"+s.name)
	}
	if len(stages) > 0 {
		say(u.stages[0].place, "the limits count what is checked for a tenant, whichever API and stage it is for: %s", few(stages))
	}
}

// add adds a throttle to the limit that says what it is for.
func (c converting) add(t *throttle, l quota.Limit) {
	r := newRate(t.rate)
	l.Algorithm, l.Quota, l.Period, l.Burst = "token_bucket", r.quota, r.period, t.burst.value
	var notes []Note
	switch {
	case r.zero || t.burst.given && t.burst.value == 0:
		l = least(l)
		notes = append(notes, t.note(NotExpressed, "a rateLimit or a burstLimit of 0 %s", leastIs))
	case !r.exact:
		notes = append(notes, t.rateAt.note(Approximated, "%s a second is taken as %d in %s", t.rate, r.quota, r.period))
	}
	if !t.burst.given {
		notes = append(notes, t.note(Approximated, "has no burstLimit: as many as the quota may come at once"))
	}
	c.place(t.place, l, notes)
}

// place puts a limit into the plan, with what is said of it.
func (c converting) place(at place, l quota.Limit, notes []Note) {
	notes = append(notes, spread(&l, at)...)
	if why := c.to.add(l); why != "" {
		notes = append(notes, at.note(NotExpressed, "the limit is off: %s", why))
	}
	for _, n := range notes {
		c.note(n.of(c.to.name, l.Name))
	}
}

func (c converting) addQuota(q *period) {
	known := quotaPeriods[q.unit]
	l := quota.Limit{Name: c.to.names.take("quota", known.name), Algorithm: "fixed_window", Quota: q.limit.value, Period: known.period}
	var notes []Note
	switch {
	case q.unit == "WEEK":
		notes = append(notes, q.note(Approximated, "a week begins on Monday, 00:00 UTC; on which day API Gateway's begins with offset %d is not documented", q.offset.value))
	case q.unit == "MONTH" && q.offset.value > 0:
		l.AnchorDay = q.offset.value + 1
		notes = append(notes, q.offset.note(Approximated, "offset %d is read as the day on which the month begins, anchor_day %d: API Gateway takes 0 to 27, which are days, "+
			"though its documentation speaks of requests taken off the first period; remove anchor_day if that was meant", q.offset.value, l.AnchorDay))
	}
	if l.Quota == 0 {
		l.AnchorDay = 0
		l = least(l)
		notes = append(notes, q.limit.note(NotExpressed, "0 %s", leastIs))
	}
	c.place(q.place, l, notes)
}

// addMethods adds the throttles of methods. A method may have one in each stage.
func (c converting) addMethods() {
	seen := map[string]*throttle{}
	for _, s := range c.from.stages {
		for _, t := range s.methods {
			if len(seen) == 0 && c.from.throttle != nil {
				c.note(t.note(Approximated, "calls that have a throttle of their own count in the plan's as well: "+
					"API Gateway's documentation says that their own is applied first, not whether it is the only one").of(c.to.name, ""))
			}
			c.addMethod(t, seen)
		}
	}
}

// addMethod adds the throttle of a method, unless another stage has the same.
func (c converting) addMethod(t *throttle, seen map[string]*throttle) {
	resource, note := resource(t)
	first := seen[resource]
	if first != nil && first.rate == t.rate && first.burst.value == t.burst.value {
		c.note(t.note(Approximated, "%s is throttled alike in another stage (line %d): both count in one limit", resource, first.line).of(c.to.name, ""))
		return
	}
	method, path, _ := strings.Cut(resource, " ")
	if note.Text != "" {
		path = strings.TrimSuffix(t.method, "/"+method)
	}
	l := quota.Limit{Name: c.to.names.take("throttle", "throttle", method, path), Match: quota.Match{Resource: resource}}
	if note.Text != "" {
		c.note(note.of(c.to.name, l.Name))
	}
	if first != nil {
		c.note(t.note(Approximated, "%s is throttled in another stage too (line %d): a check does not say for which stage it is, so both limits hold in both", resource, first.line).of(c.to.name, l.Name))
	}
	seen[resource] = t
	c.add(t, l)
}

// resource returns the pattern for "/pets/{petId}/GET", which is "GET /pets/*".
func resource(t *throttle) (pattern string, note Note) {
	at := strings.LastIndexByte(t.method, '/')
	path, method := t.method[:at], t.method[at+1:]
	if path == "" {
		path = "/"
	}
	if method == "ANY" {
		method = "*"
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, "{") || !strings.HasSuffix(part, "}") {
			continue
		}
		parts[i] = "*"
		if !strings.HasSuffix(part, "+}") {
			note = t.note(Approximated, "%s is *, which matches deeper paths too", part)
		}
	}
	return method + " " + strings.Join(parts, "/"), note
}
