package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

// The rate limit fields, as net/http spells them.
const (
	policyField     = "Ratelimit-Policy"
	rateLimitField  = "Ratelimit"
	limitField      = "X-Ratelimit-Limit"
	remainingField  = "X-Ratelimit-Remaining"
	resetField      = "X-Ratelimit-Reset"
	retryField      = "Retry-After"
	otherRetryField = "X-Ratelimit-Retry-After"
)

// fields are header fields being written, one text for all of them.
type fields struct {
	text  []byte
	names []string
	ends  []int
}

// end ends the value of a field: what was appended since the one before.
func (f *fields) end(name string) {
	f.names = append(f.names, name)
	f.ends = append(f.ends, len(f.text))
}

func (f *fields) num(name string, value int64) {
	f.text = strconv.AppendInt(f.text, value, 10)
	f.end(name)
}

// set puts the fields into a header, and begins anew.
func (f *fields) set(h http.Header) {
	text, values := string(f.text), make([]string, len(f.names))
	begin := 0
	for i, end := range f.ends {
		values[i] = text[begin:end]
		h[f.names[i]] = values[i : i+1 : i+1]
		begin = end
	}
	f.text, f.names, f.ends = f.text[:0], f.names[:0], f.ends[:0]
}

// setFields sets what the header tells of a decision. RateLimit-Policy has all limits
// of the call, the others the one that decided: so Retry-After, which goes before
// everything else, is never earlier than what RateLimit says.
func (s *server) setFields(h http.Header, f *fields, k *kind, d *engine.Decision) {
	if v := deciding(d); v != nil {
		s.policyField(f, d)
		s.standing(f, d, v)
	}
	if k != nil && !d.Never {
		retry := max(1, ceil(d.RetryAfter, time.Second))
		f.num(retryField, retry)
		f.num(otherRetryField, retry)
	}
	f.set(h)
}

func (s *server) policyField(f *fields, d *engine.Decision) {
	begin := len(f.text)
	for i := range d.Verdicts {
		if d.Verdicts[i].Rule.Mode == quota.Shadow {
			continue // nobody has to keep to it
		}
		item := s.policies.of(d.Verdicts[i].Rule).item
		if len(f.text) > begin && item != "" {
			f.text = append(f.text, ", "...)
		}
		f.text = append(f.text, item...)
	}
	f.end(policyField)
}

// standing tells what the deciding limit leaves, and when there will be more.
func (s *server) standing(f *fields, d *engine.Decision, v *engine.Verdict) {
	p := s.policies.of(v.Rule)
	more := untilMore(d, v)
	f.text = append(f.text, p.name...)
	f.text = append(f.text, ";r="...)
	f.text = strconv.AppendInt(f.text, v.Remaining, 10)
	f.text = append(f.text, ";t="...)
	f.num(rateLimitField, ceil(more, time.Second))
	f.num(limitField, p.holds)
	f.num(remainingField, v.Remaining)
	f.num(resetField, ceil(time.Duration(d.At.Add(more).UnixNano()), time.Second))
}

// untilMore returns when there will be more than there is: when a refused call may
// come back, when a used-up limit has the next permit, else when all of it is back.
func untilMore(d *engine.Decision, v *engine.Verdict) time.Duration {
	switch policy := v.Rule.Limit.Policy(); {
	case !d.Allowed && !d.Never:
		return d.RetryAfter
	case v.Remaining > 0:
		return v.ResetAfter
	case v.RetryAfter > 0:
		return v.RetryAfter
	case limit.HasBurst(policy.Algorithm): // permits come back one by one
		return min(v.ResetAfter, time.Duration(ceil(policy.Period, time.Duration(policy.Quota))))
	}
	return v.ResetAfter
}
