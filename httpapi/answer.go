package httpapi

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
)

// An object appends JSON objects to a text: members in the order they are put, commas where they belong.
type object struct{ text []byte }

func (o *object) open()  { o.text = append(o.text, '{') }
func (o *object) close() { o.text = append(o.text, '}') }

// name begins a member. Names are ours, and need no escapes.
func (o *object) name(name string) {
	if o.text[len(o.text)-1] != '{' {
		o.text = append(o.text, ',')
	}
	o.text = append(o.text, '"')
	o.text = append(o.text, name...)
	o.text = append(o.text, '"', ':')
}

func (o *object) str(name, value string) {
	o.name(name)
	o.text = appendQuoted(o.text, value)
}

func (o *object) num(name string, value int64) {
	o.name(name)
	o.text = strconv.AppendInt(o.text, value, 10)
}

func (o *object) flag(name string, value bool) {
	o.name(name)
	o.text = strconv.AppendBool(o.text, value)
}

func appendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // the error is of bad UTF-8, which is replaced
	return dst
}

// answer appends the members of a decision, after those of the problem it is, if any.
func (s *server) answer(sc *scratch, k *kind, c *checkRequest, d *engine.Decision) {
	o := &sc.answer
	if k != nil {
		o.kind(k)
		o.str("detail", s.detail(c, d))
		o.violated(d)
	}
	var name string
	var standing engine.Verdict
	if v := deciding(d); v != nil {
		name, standing = v.Rule.Name, *v
	}
	o.flag("allowed", d.Allowed)
	o.str("tenant", c.Tenant)
	o.str("limit", name)
	o.num("remaining", standing.Remaining)
	o.num("retry_after_ms", ceil(d.RetryAfter, time.Millisecond))
	o.num("reset_after_ms", ceil(standing.ResetAfter, time.Millisecond))
	o.num("wait_ms", ceil(d.Wait, time.Millisecond))
	o.str("reason", string(d.Reason))
	o.str("source", string(d.Source))
	o.str("degraded", string(d.Degraded))
	o.str("outcome", outcome(d.Unknown))
	o.flag("repeat", d.Repeat)
	o.flag("never", d.Never)
	o.flag("over", over(d))
	o.name("receipt")
	o.text = s.appendReceipt(o.text, &sc.receipt, c.Tenant, d)
	if c.isLease() && d.Allowed {
		o.num("granted", d.Granted)
		o.num("ttl_ms", int64(d.TTL/time.Millisecond)) // rounded down: nobody may use them longer
	}
	o.name("limits")
	o.text = append(o.text, '[')
	for i := range d.Verdicts {
		if i > 0 {
			o.text = append(o.text, ',')
		}
		o.verdict(s.policies.of(d.Verdicts[i].Rule), &d.Verdicts[i])
	}
	o.text = append(o.text, ']')
}

func (o *object) verdict(p *policy, v *engine.Verdict) {
	o.open()
	o.text = append(o.text, p.members...)
	o.num("remaining", v.Remaining)
	o.num("retry_after_ms", ceil(v.RetryAfter, time.Millisecond))
	o.num("reset_after_ms", ceil(v.ResetAfter, time.Millisecond))
	o.flag("allowed", v.Allowed)
	o.flag("over", v.Over)
	o.close()
}

// violated appends the names of the limits that refused.
func (o *object) violated(d *engine.Decision) {
	o.name("violated-policies")
	o.text = append(o.text, '[')
	for i := range d.Verdicts {
		if d.Verdicts[i].Allowed || d.Verdicts[i].Rule.Mode == quota.Shadow {
			continue
		}
		if o.text[len(o.text)-1] != '[' {
			o.text = append(o.text, ',')
		}
		o.text = appendQuoted(o.text, d.Verdicts[i].Rule.Name)
	}
	o.text = append(o.text, ']')
}

// over reports whether more is used of a limit than its policy, which soft percents let pass.
// Limits that nobody has to keep to do not count.
func over(d *engine.Decision) bool {
	return slices.ContainsFunc(d.Verdicts, func(v engine.Verdict) bool {
		return v.Over && v.Rule.Mode != quota.Shadow
	})
}

// deciding returns the verdict that decided, nil when no limit did.
func deciding(d *engine.Decision) *engine.Verdict {
	if d.Deciding < 0 || d.Deciding >= len(d.Verdicts) {
		return nil
	}
	return &d.Verdicts[d.Deciding]
}

func outcome(unknown bool) string {
	if unknown {
		return "unknown"
	}
	return "known"
}

// detail says a refusal to a human: which limit, and when to come back.
func (s *server) detail(c *checkRequest, d *engine.Decision) string {
	again := "try again in " + said(d.RetryAfter) + "."
	switch d.Reason {
	case engine.StoreError:
		return "The limits cannot be counted at the moment; " + again
	case engine.Contended:
		return "Too many calls compete for the same permits and nothing was decided; " + again
	case engine.HotKey:
		return "There are more calls for this key than can be counted; " + again
	default:
		return s.detailOfLimit(c, d, again)
	}
}

// detailOfLimit says a refusal by a limit.
func (s *server) detailOfLimit(c *checkRequest, d *engine.Decision, again string) string {
	v := deciding(d)
	if v == nil {
		return "The call was refused; " + again
	}
	limit := s.policies.of(v.Rule).said
	if d.Degraded == engine.DegradedLocal {
		again = "the store is away, and this instance gives out its share only; " + again
	}
	if c.maxWait > 0 {
		again = "the call would wait for " + said(c.maxWait) + " at most; " + again
	}
	name, asked := "cost", c.cost
	if c.isLease() {
		name, asked = "min", c.least
	}
	switch {
	case d.Never && c.isLease() && asked <= v.Rule.Limit.Capacity():
		return "Limit " + limit + " cannot be leased; make a check for each call."
	case d.Never:
		return fmt.Sprintf("A %s of %d is more than limit %s can ever give at once; ask for %d at most.", name, asked, limit, v.Rule.Limit.Capacity())
	case v.Remaining > 0 && v.Remaining < asked:
		return fmt.Sprintf("Limit %s has %d left of the %d asked for; %s", limit, v.Remaining, asked, again)
	case c.isLease() && v.Remaining > 0:
		return fmt.Sprintf("Limit %s has none left to lease; %s", limit, again)
	}
	return "Limit " + limit + " is used up; " + again
}

// said says a duration to a human, rounded up: to milliseconds, from a minute on to seconds.
func said(d time.Duration) string {
	unit := time.Millisecond
	if d >= time.Minute {
		unit = time.Second
	}
	return (time.Duration(ceil(d, unit)) * unit).String()
}

// ceil returns how many units a duration is, rounded up. There is no time before now.
func ceil(d, unit time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/unit) + 1
}
