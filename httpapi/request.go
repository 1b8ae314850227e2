package httpapi

import (
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed43908478/penstock/quota"
)

// What a check may hold.
const (
	maxTenant     = 128
	maxResource   = 512
	maxPart       = 1 << 10 // subject, and names and values of attributes
	maxAttributes = 16
	maxCost       = 1<<31 - 1
	maxWaitMS     = 30_000
	maxRequestID  = 256
)

// A checkRequest is the body of a check, or of a lease.
type checkRequest struct {
	quota.Request
	cost      int64         // permits; of a lease the most
	requestID string        // "": a repeat is a new call
	maxWait   time.Duration // how much later the permits may be for

	// Of a lease, the fewest permits, and for how long. A check has neither.
	least int64
	ttl   time.Duration

	seen members
}

// members of a request, as a bit each: which were there.
type members uint8

const (
	tenantMember members = 1 << iota
	resourceMember
	maxMember
	ttlMember
)

const checkMembers = "is not a member of a check; those are tenant, resource, subject, attributes, cost, request_id and max_wait_ms"

// check reads a check. Faults are noted; the error is of the document's grammar. The
// tenant of a caller who has one need not be said.
func (d *document) check(c *checkRequest, who caller) error {
	*c = checkRequest{cost: 1}
	if !d.isObject("a check") {
		return d.skip()
	}
	return d.call(c, who, (*document).checkMember)
}

// A memberReader reads a member that not all requests have.
type memberReader func(d *document, c *checkRequest, name []byte) error

// call reads the object of a check or a lease: what they have in common, and by other
// what they have not.
func (d *document) call(c *checkRequest, who caller, other memberReader) error {
	if err := d.open(); err != nil {
		return err
	}
	for d.more() {
		name, err := d.name()
		if err == nil {
			err = d.callMember(c, name, other)
		}
		if err != nil {
			return err
		}
	}
	if c.seen&tenantMember == 0 {
		c.Tenant = who.tenant
		if c.Tenant == "" {
			d.fault("tenant", `is required: whose limits count, as in "acme"`)
		}
	}
	if c.seen&resourceMember == 0 {
		d.fault("resource", `is required: what is called, as in "GET /search"`)
	}
	return d.close()
}

// isObject tells whether an object is next, and notes a fault if something else is.
func (d *document) isObject(what string) bool {
	switch k := d.kind(); k {
	case '{', 0: // 0 is an error: it will come again, when it is read
		return true
	default:
		d.fault("", fmt.Sprintf("%s must be an object, not %s", what, kindName(k)))
		return false
	}
}

func (d *document) callMember(c *checkRequest, name []byte, other memberReader) (err error) {
	switch string(name) {
	case "tenant":
		c.seen |= tenantMember
		c.Tenant, err = d.tenant()
	case "resource":
		c.seen |= resourceMember
		c.Resource, err = d.resource()
	case "subject":
		c.Subject, err = d.text("subject", maxPart)
	case "attributes":
		c.Attributes, err = d.attributes()
	default:
		err = other(d, c, name)
	}
	return err
}

func (d *document) checkMember(c *checkRequest, name []byte) (err error) {
	switch string(name) {
	case "cost":
		c.cost, err = d.integer("cost", 0, maxCost)
	case "request_id":
		c.requestID, err = d.text("request_id", maxRequestID)
	case "max_wait_ms":
		c.maxWait, err = d.milliseconds("max_wait_ms", 0, maxWaitMS)
	default:
		d.fault(clip(string(name)), checkMembers)
		err = d.skip()
	}
	return err
}

func (d *document) tenant() (string, error) {
	s, ok, err := d.str("tenant")
	if !ok {
		return "", err
	}
	if !isTenant(s) {
		d.fault("tenant", fmt.Sprintf("must be 1 to %d letters, digits or any of ._:@-", maxTenant))
		return "", nil
	}
	return string(s), nil
}

// isTenant matches [A-Za-z0-9._:@-]{1,128}.
func isTenant(s []byte) bool {
	for _, c := range s {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '_', c == ':', c == '@', c == '-':
		default:
			return false
		}
	}
	return 0 < len(s) && len(s) <= maxTenant
}

func (d *document) resource() (string, error) {
	s, ok, err := d.str("resource")
	if ok && len(s) == 0 {
		d.fault("resource", `must not be empty: say what is called, as in "GET /search"`)
		return "", nil
	}
	return d.plain("resource", s, ok, err, maxResource)
}

// text reads a string of at most so many bytes without control characters.
func (d *document) text(member string, most int) (string, error) {
	s, ok, err := d.str(member)
	return d.plain(member, s, ok, err, most)
}

func (d *document) plain(member string, s []byte, ok bool, err error, most int) (string, error) {
	if !ok {
		return "", err
	}
	if fault := unfit(s, most); fault != "" {
		d.fault(member, fault)
		return "", nil
	}
	return string(s), nil
}

// unfit says what is wrong with a text, "" if nothing is.
func unfit(s []byte, most int) string {
	switch {
	case len(s) > most:
		return fmt.Sprintf("must be at most %d bytes, but is %d", most, len(s))
	case hasControl(s):
		return "must not contain control characters"
	}
	return ""
}

func hasControl(s []byte) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return true
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if unicode.IsControl(r) {
			return true
		}
		i += n
	}
	return false
}

func (d *document) attributes() (map[string]string, error) {
	switch k := d.kind(); k {
	case '{', 0:
	default:
		d.fault("attributes", wrongKind("an object of strings", k))
		return nil, d.skip()
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	attributes := make(map[string]string)
	n := 0
	for ; d.more(); n++ {
		if err := d.attribute(attributes); err != nil {
			return nil, err
		}
	}
	if n > maxAttributes {
		d.fault("attributes", fmt.Sprintf("must be at most %d, but are %d", maxAttributes, n))
	}
	return attributes, d.close()
}

// attribute reads one attribute.
func (d *document) attribute(into map[string]string) error {
	raw, err := d.name()
	if err != nil {
		return err
	}
	name := string(raw)
	member := "attributes." + clip(name)
	if fault := unfit(raw, maxPart); fault != "" || name == "" {
		if name == "" {
			fault = "must not be empty"
		}
		d.fault(member, "name "+fault)
		return d.skip()
	}
	value, err := d.text(member, maxPart)
	into[name] = value
	return err
}

// milliseconds reads a duration.
func (d *document) milliseconds(member string, least, most int64) (time.Duration, error) {
	n, err := d.integer(member, least, most)
	return time.Duration(n) * time.Millisecond, err
}
