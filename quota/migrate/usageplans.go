package migrate

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed43908478/penstock/quota"
)

// UsagePlans makes a configuration of API Gateway's usage plans, as
// "aws apigateway get-usage-plans" prints them in JSON: a plan of each. Who has which
// plan is not in that output, so there are no tenants. The notes say, by line, what is
// not the same. The error is a [quota.Problems].
func UsagePlans(data []byte) (quota.Config, []Note, error) {
	root, err := jsonDocument(data)
	if err != nil {
		return quota.Config{}, nil, err
	}
	var r usagePlans
	r.begin()
	r.read(root)
	if err := r.err(); err != nil {
		return quota.Config{}, nil, err
	}
	return r.config(root), byLine(r.notes), nil
}

// usagePlans is what is read of them.
type usagePlans struct {
	reader

	items []*usagePlan
}

type usagePlan struct {
	place

	id, name    string
	description mention
	product     mention
	tags        mention
	stages      []stage
	throttle    *throttle
	quota       *period
}

type stage struct {
	place

	api, name string
	methods   []*throttle
}

// A throttle is a token bucket, of a plan or of a method.
type throttle struct {
	place

	method string // "/pets/GET", or "" of a plan
	rate   string // a decimal number
	rateAt place
	burst  count
}

// A period is a plan's quota.
type period struct {
	place

	limit, offset count
	unit          string
}

func (r *usagePlans) read(root *yaml.Node) {
	given := false
	r.Fields("", root, map[string]field{
		"items": func(path string, n *yaml.Node) {
			given = true
			r.elements(path, n, func(at place, n *yaml.Node) { r.items = append(r.items, r.plan(at, n)) })
		},
		"position":  r.incomplete,
		"NextToken": r.incomplete,
	})
	if !given && len(r.problems) == 0 {
		r.Problem("items", root, "is missing: write the file with: aws apigateway get-usage-plans --output json")
	}
}

// incomplete is what there is when there are more plans than were printed.
func (r *usagePlans) incomplete(path string, n *yaml.Node) {
	r.note(place{n.Line, path}.note(NotExpressed, "there are more usage plans than were printed: get them without --max-items and --no-paginate"))
}

func (r *usagePlans) plan(at place, n *yaml.Node) *usagePlan {
	p := &usagePlan{place: at}
	r.Fields(at.path, n, map[string]field{
		"id":          r.text(&p.id),
		"name":        r.text(&p.name),
		"description": r.mention(&p.description),
		"productCode": r.mention(&p.product),
		"throttle":    func(path string, n *yaml.Node) { p.throttle = r.throttle(path, "", n) },
		"quota":       func(path string, n *yaml.Node) { p.quota = r.period(path, n) },
		"apiStages": func(path string, n *yaml.Node) {
			r.elements(path, n, func(at place, n *yaml.Node) { p.stages = append(p.stages, r.stage(at, n)) })
		},
		"tags": func(path string, n *yaml.Node) {
			p.tags.place = place{n.Line, path}
			r.Entries(path, n, func(path, name string, n *yaml.Node) {
				var value string
				r.text(&value)(path, n)
				p.tags.name += fmt.Sprintf(" %s=%s", name, value)
			})
		},
	})
	return p
}

func (r *usagePlans) mention(to *mention) field {
	return func(path string, n *yaml.Node) {
		to.place = place{n.Line, path}
		r.text(&to.name)(path, n)
	}
}

func (r *usagePlans) stage(at place, n *yaml.Node) stage {
	s := stage{place: at}
	r.Fields(at.path, n, map[string]field{
		"apiId": r.text(&s.api),
		"stage": r.text(&s.name),
		"throttle": func(path string, n *yaml.Node) {
			r.Entries(path, n, func(path, method string, n *yaml.Node) {
				if i := strings.LastIndexByte(method, '/'); !strings.HasPrefix(method, "/") || i == 0 || i == len(method)-1 {
					r.Problem(path, n, `must be named for a path and a method, as in "/pets/GET"`)
				}
				s.methods = append(s.methods, r.throttle(path, method, n))
			})
		},
	})
	return s
}

func (r *usagePlans) throttle(path, method string, n *yaml.Node) *throttle {
	t := &throttle{place: place{n.Line, path}, method: method}
	before := len(r.problems)
	r.Fields(path, n, map[string]field{
		"burstLimit": r.count(&t.burst),
		"rateLimit": func(path string, n *yaml.Node) {
			t.rateAt = place{n.Line, path}
			r.text(&t.rate)(path, n)
			if _, ok := decimal(t.rate); !ok || n.ShortTag() == "!!str" {
				r.Problem(path, n, "must be a number of requests a second, 0 to %d, not %.40q", int64(maxCount), n.Value)
			}
		},
	})
	if t.rate == "" && len(r.problems) == before {
		r.Problem(member(path, "rateLimit"), n, "is missing: write the requests a second, or remove the throttle")
	}
	return t
}

func (r *usagePlans) period(path string, n *yaml.Node) *period {
	q := &period{place: place{n.Line, path}}
	before := len(r.problems)
	r.Fields(path, n, map[string]field{
		"limit":  r.count(&q.limit),
		"offset": r.count(&q.offset),
		"period": r.text(&q.unit),
	})
	switch {
	case len(r.problems) > before:
	case !q.limit.given:
		r.Problem(member(path, "limit"), n, "is missing: write the requests in a period, or remove the quota")
	case quotaPeriods[q.unit].period == "":
		r.Problem(member(path, "period"), n, "%.40q is unknown: write DAY, WEEK or MONTH", q.unit)
	case q.offset.value > quotaPeriods[q.unit].offsets:
		r.Problem(q.offset.path, n, "must be at most %d for a %s", quotaPeriods[q.unit].offsets, q.unit)
	}
	return q
}
