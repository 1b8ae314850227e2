package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed43908478/penstock/configstore"
)

func etag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// noRevision is what no object has.
const noRevision = -1

// precondition reads If-Match and If-None-Match.
func precondition(h http.Header) (p configstore.Precondition, given bool, err error) {
	match, none := h.Values("If-Match"), h.Values("If-None-Match")
	switch {
	case len(match)+len(none) == 0:
		return p, false, nil
	case len(match)+len(none) > 1:
		return p, false, badHeader("If-Match", "must be one, without If-None-Match beside it")
	case len(none) == 1 && strings.TrimSpace(none[0]) != "*":
		return p, false, badHeader("If-None-Match", "must be *: create only what is not there")
	case len(none) == 1:
		return configstore.Precondition{IfNoneMatch: true}, true, nil
	}
	tag := strings.TrimSpace(match[0])
	if tag == "*" {
		return configstore.Precondition{IfExists: true}, true, nil
	}
	inner, quoted := strings.CutPrefix(strings.TrimPrefix(tag, "W/"), `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	if !quoted || !closed || strings.Contains(inner, `"`) {
		return p, false, badHeader("If-Match", `must be one ETag as it was answered, in quotes: "1763732871234"; or *`)
	}
	// A weak one never matches, says RFC 9110.
	revision, err := strconv.ParseInt(inner, 10, 64)
	if err != nil || revision < 1 || strings.HasPrefix(tag, "W/") {
		revision = noRevision
	}
	return configstore.Precondition{IfMatch: revision}, true, nil
}

func badHeader(name, detail string) error {
	return &problem{kind: invalidRequest, detail: "The header " + name + " " + detail + "."}
}

// A put is how something is to be put.
type put struct {
	configstore.Precondition
	given bool // whether the request has a precondition
	dry   bool // whether it is only to be told what would become of it
}

// toPut reads how something is to be put. Without a precondition it may be created, and not replaced.
func (c *adminCall) toPut() (p put, err error) {
	q, err := c.query()
	if err != nil {
		return p, err
	}
	p.dry = q.flag("dry_run")
	if err := q.end(); err != nil {
		return p, err
	}
	p.Precondition, p.given, err = precondition(c.Header)
	if !p.given {
		p.IfNoneMatch = true
	}
	return p, err
}

// A query reads the parameters of an address. Every one must be asked for: others are faults.
type query struct {
	values url.Values
	known  []string
	faults []fault
}

func (c *adminCall) query() (*query, error) {
	values, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return nil, &problem{kind: invalidRequest, detail: "What follows the ? of the address cannot be read; encode it as in ?search=a%20b."}
	}
	return &query{values: values}, nil
}

// text returns a parameter, "" when it is not there.
func (q *query) text(name string) string {
	q.known = append(q.known, name)
	values := q.values[name]
	delete(q.values, name)
	if len(values) > 1 {
		q.faults = append(q.faults, fault{name, "is there twice; keep one"})
	}
	if len(values) == 0 {
		return ""
	}
	if f := unfit([]byte(values[0]), maxPart); f != "" {
		q.faults = append(q.faults, fault{name, f})
	}
	return values[0]
}

// flag returns a parameter that is true or false; false when it is not there. Empty it is
// neither: who writes ?dry_run means it.
func (q *query) flag(name string) bool {
	given := q.values.Has(name)
	switch q.text(name) {
	case "false":
		return false
	case "":
		if !given {
			return false
		}
	case "true":
		return true
	}
	q.faults = append(q.faults, fault{name, "must be true or false"})
	return false
}

// How many items a page has.
const (
	defaultPage = 100
	maxPage     = 1000
)

// page returns cursor and limit.
func (q *query) page() (cursor string, limit int) {
	given := q.values.Has("limit")
	cursor, text := q.text("cursor"), q.text("limit")
	if !given {
		return cursor, defaultPage
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxPage {
		q.faults = append(q.faults, fault{"limit", fmt.Sprintf("must be from 1 to %d", maxPage)})
	}
	return cursor, limit
}

// end returns what is wrong with the parameters.
func (q *query) end() error {
	for name := range q.values {
		detail := "is not a parameter of this address"
		if len(q.known) > 0 {
			detail += "; those are " + strings.Join(q.known, ", ")
		}
		q.faults = append(q.faults, fault{clip(name), detail})
	}
	return faulted(q.faults)
}
