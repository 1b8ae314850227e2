package quota

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed43908478/penstock/limit"
)

const (
	maxName       = 63   // of plans and limits
	maxTenant     = 128  // characters
	maxResource   = 512  // bytes
	maxAttribute  = 1024 // bytes of a value
	maxAttributes = 16   // of a request
	// maxRate is what one key takes: DynamoDB makes 1,000 writes a second to one item and
	// throttles the rest, so more than that could be asked for but never be had. Half of
	// it would leave room for second writes and refusals; but as this version has neither
	// leases nor shards to offer instead, it takes what is possible.
	maxRate = 1000
)

// Validate returns a [Problems] with all that is wrong, without lines, or nil.
func (c Config) Validate() error { return validate(c).err() }

func validate(c Config) (ps Problems) {
	full := map[string]bool{} // plans that are too much for one write already
	for _, name := range slices.Sorted(maps.Keys(c.Plans)) {
		path := member("plans", name)
		if !validName(name, maxName, isLower) {
			ps.add(path, "a plan's name is 1 to %d of a-z, 0-9 and -", maxName)
		}
		ps.checkLimits(path, c.Plans[name].Limits)
		full[name] = !ps.checkItems(path, merge(c.Plans[name].Limits, nil), func(placed) bool { return true })
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tenants)) {
		ps.checkTenant(c, name, full)
	}
	if _, ok := c.Plans[c.DefaultPlan]; !ok && c.DefaultPlan != "" {
		ps.add("default_plan", "%s", c.noPlan(c.DefaultPlan))
	}
	return ps
}

func (ps *Problems) checkTenant(c Config, name string, full map[string]bool) {
	path, t := member("tenants", name), c.Tenants[name]
	if !ValidTenant(name) {
		ps.add(path, "a tenant's name is 1 to %d of A-Z, a-z, 0-9 and . _ : @ -", maxTenant)
	}
	plan, ok := c.Plans[t.Plan]
	switch {
	case t.Plan == "":
		ps.add(member(path, "plan"), "is missing: name one of plans")
	case !ok:
		ps.add(member(path, "plan"), "%s", c.noPlan(t.Plan))
	}
	ps.checkLimits(path, t.Limits)
	if len(t.Limits) > 0 && !full[t.Plan] {
		ps.checkItems(path, merge(plan.Limits, t.Limits), func(l placed) bool { return l.override })
	}
}

func (c Config) noPlan(name string) string {
	if len(c.Plans) == 0 {
		return fmt.Sprintf("there is no plan %.70q: add it to plans", name)
	}
	names := slices.Sorted(maps.Keys(c.Plans))
	more := ""
	if len(names) > 10 {
		names, more = names[:10], ", …"
	}
	return fmt.Sprintf("there is no plan %.70q: add it, or use one of %s%s", name, strings.Join(names, ", "), more)
}

func (ps *Problems) checkLimits(path string, limits []Limit) {
	path = member(path, "limits")
	first := make(map[string]int, len(limits))
	for i, l := range limits {
		path := element(path, i)
		ps.checkLimit(path, l)
		if before, ok := first[l.Name]; ok && l.Name != "" {
			ps.add(member(path, "name"), "%.70q is there twice, first as limits[%d]: rename one", l.Name, before)
		} else {
			first[l.Name] = i
		}
	}
}

func (ps *Problems) checkLimit(path string, l Limit) {
	switch {
	case l.Name == "":
		ps.add(member(path, "name"), "is missing: write 1 to %d of a-z, 0-9 and -", maxName)
	case !validName(l.Name, maxName, isLower):
		ps.add(member(path, "name"), "a limit's name is 1 to %d of a-z, 0-9 and -", maxName)
	}
	ps.checkModes(path, l)
	if !l.onlyOff() {
		ps.checkPolicy(path, l)
	}
	ps.checkMatch(member(path, "match"), l.Match)
	ps.checkBy(member(path, "by"), l.By)
	ps.checkUnavailable(path, l)
}

// onlyOff reports whether a limit says nothing but which one is off.
func (l Limit) onlyOff() bool {
	return l.Mode == Off && l.Algorithm == "" && l.Quota == 0 && l.Period == "" && l.Burst == 0 && l.AnchorDay == 0
}

func (ps *Problems) checkModes(path string, l Limit) {
	switch l.Mode {
	case "", Enforce, Shadow, Off:
	default:
		ps.add(member(path, "mode"), "%.40q is unknown: use enforce, shadow or off", l.Mode)
	}
	switch l.OnStoreError {
	case "", Local, Allow, Deny:
	default:
		ps.add(member(path, "on_store_error"), "%.40q is unknown: use local, allow or deny", l.OnStoreError)
	}
}

// checkPolicy reports what is wrong with each member by itself, else what does not fit together.
func (ps *Problems) checkPolicy(path string, l Limit) {
	available := strings.Join(limit.Algorithms(), ", ")
	before := len(*ps)
	switch {
	case l.Algorithm == "":
		ps.add(member(path, "algorithm"), "is missing: use one of %s", available)
	case slices.Contains(limit.Algorithms(), l.Algorithm):
	default:
		ps.add(member(path, "algorithm"), "%.40q is unknown: use one of %s", l.Algorithm, available)
	}
	if l.Quota < 1 {
		ps.add(member(path, "quota"), "must be at least 1, not %d", l.Quota)
	}
	if _, err := l.Period.Duration(); err != nil {
		ps.add(member(path, "period"), "%s", err)
	}
	if l.Burst < 0 {
		ps.add(member(path, "burst"), "must not be negative, but is %d", l.Burst)
	}
	if len(*ps) > before {
		return
	}
	policy := l.policy()
	if _, err := limit.New(policy); err != nil {
		ps.addField(path, err)
	} else if rate := float64(policy.Quota) / policy.Period.Seconds(); rate > maxRate {
		ps.add(member(path, "quota"), "%s is more than the %d a second that one key can take: lower it, or give each subject its own (by: [subject])", policy, maxRate)
	}
}

// policy returns what the limit's algorithm is made from. An invalid period is 0.
func (l Limit) policy() limit.Policy {
	period, _ := l.Period.Duration()
	return limit.Policy{
		Algorithm: l.Algorithm, Quota: l.Quota, Period: period, Burst: l.Burst,
		Calendar: l.Period.calendar(l.Algorithm), AnchorDay: int(l.AnchorDay),
	}
}

func (ps *Problems) addField(path string, err error) {
	if e, ok := errors.AsType[*limit.FieldError](err); ok {
		ps.add(member(path, e.Field), "%s", e.Problem)
		return
	}
	ps.add(path, "%s", err)
}

func (ps *Problems) checkMatch(path string, m Match) {
	ps.checkPattern(member(path, "resource"), m.Resource, maxResource)
	path = member(path, "attributes")
	if len(m.Attributes) > maxAttributes {
		ps.add(path, "are %d, but no request has more than %d: remove some", len(m.Attributes), maxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		path, pattern := member(path, name), m.Attributes[name]
		if !validAttribute(name) {
			ps.add(path, "%s", attributeNames)
		}
		if pattern == "" {
			ps.add(path, `is empty: write a value, or "*" for any`)
		}
		ps.checkPattern(path, pattern, maxAttribute)
	}
}

const attributeNames = "an attribute's name is 1 to 64 of A-Z, a-z, 0-9 and . _ -"

func (ps *Problems) checkPattern(path, pattern string, most int) {
	switch {
	case len(pattern) > most:
		ps.add(path, "has %d bytes: at most %d are compared", len(pattern), most)
	case !utf8.ValidString(pattern):
		ps.add(path, "is not UTF-8")
	case strings.ContainsFunc(pattern, isControl):
		ps.add(path, "has a control character: remove it, or match it with *")
	}
}

func (ps *Problems) checkBy(path string, by []string) {
	if len(by) > maxAttributes {
		ps.add(path, "has %d parts: use at most %d", len(by), maxAttributes)
	}
	for i, part := range by {
		path := element(path, i)
		switch name, isAttribute := strings.CutPrefix(part, "attributes."); {
		case slices.Contains(by[:i], part):
			ps.add(path, "%.80q is there twice: remove one", part)
		case isAttribute && !validAttribute(name):
			ps.add(path, "%s", attributeNames)
		case !isAttribute && part != "subject" && part != "resource":
			ps.add(path, "%.80q is unknown: use subject, resource or attributes.NAME", part)
		}
	}
}

// checkUnavailable refuses what the format has and this version has not.
func (ps *Problems) checkUnavailable(path string, l Limit) {
	refuse := func(name string, refused bool) {
		if refused {
			ps.add(member(path, name), "is not available in this version: remove it")
		}
	}
	refuse("soft_percent", l.SoftPercent != 0)
	refuse("slack", !isNoTime(l.Slack))
	refuse("resolution", l.Resolution != 0)
	refuse("spread", l.Spread != 0 && l.Spread != 1)
	refuse("ttl", !isNoTime(l.TTL))
	refuse("request_ids", l.RequestIDs != 0 && l.RequestIDs != 16)
	refuse("shadows", l.Shadows != "")
}

func isNoTime(s string) bool {
	d, err := time.ParseDuration(s)
	return s == "" || err == nil && d == 0
}

// ValidTenant reports whether name can be a tenant's: [A-Za-z0-9._:@-]{1,128}.
func ValidTenant(name string) bool {
	return validName(name, maxTenant, func(c byte) bool {
		return isWord(c) || c == '.' || c == ':' || c == '@'
	})
}

func validAttribute(name string) bool {
	return validName(name, 64, func(c byte) bool { return isWord(c) || c == '.' })
}

func validName(name string, most int, allowed func(byte) bool) bool {
	for i := range len(name) {
		if !allowed(name[i]) {
			return false
		}
	}
	return 0 < len(name) && len(name) <= most
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' }

func isControl(c rune) bool { return c < ' ' || 0x7f <= c && c < 0xa0 }
