package httpapi

import (
	"fmt"
	"net/http"
)

// For how long permits can be leased.
const (
	minTTLMS = 10
	maxTTLMS = 60_000
)

// leases answers POST /v1/leases.
func (s *server) leases(w http.ResponseWriter, r *http.Request) {
	s.decideOne(w, r, (*document).lease)
}

// isLease tells whether permits are asked for that are to be used within a time.
func (c *checkRequest) isLease() bool { return c.least > 0 }

// lease reads a lease, as check reads a check.
func (d *document) lease(c *checkRequest, who caller) error {
	*c = checkRequest{least: 1}
	if !d.isObject("a lease") {
		return d.skip()
	}
	if err := d.call(c, who, (*document).leaseMember); err != nil {
		return err
	}
	if c.seen&maxMember == 0 {
		d.fault("max", "is required: how many permits are wanted at most")
	}
	if c.seen&ttlMember == 0 {
		d.fault("ttl_ms", "is required: within how many milliseconds the permits will be used")
	}
	if len(d.faults) == 0 && c.least > c.cost {
		d.fault("min", fmt.Sprintf("must be at most max, which is %d", c.cost))
	}
	return nil
}

const leaseMembers = "is not a member of a lease; those are tenant, resource, subject, attributes, min, max and ttl_ms"

func (d *document) leaseMember(c *checkRequest, name []byte) (err error) {
	switch string(name) {
	case "min":
		c.least, err = d.integer("min", 1, maxCost)
	case "max":
		c.seen |= maxMember
		c.cost, err = d.integer("max", 1, maxCost)
	case "ttl_ms":
		c.seen |= ttlMember
		c.ttl, err = d.milliseconds("ttl_ms", minTTLMS, maxTTLMS)
	case "cost":
		d.fault("cost", "is not a member of a lease; say with min and max how many permits are wanted")
		err = d.skip()
	case "request_id":
		d.fault("request_id", "is not a member of a lease; leave it out, as a lease whose answer is lost ends by itself, after ttl_ms")
		err = d.skip()
	case "max_wait_ms":
		d.fault("max_wait_ms", "is not a member of a lease, which begins at once; come back after retry_after_ms instead")
		err = d.skip()
	default:
		d.fault(clip(string(name)), leaseMembers)
		err = d.skip()
	}
	return err
}
