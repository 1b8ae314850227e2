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
	maxSpread     = 64
	maxRequestIDs = 256
)

// Validate returns a [Problems] with all that is wrong, without lines, or nil.
func (c Config) Validate() error { return validate(c).err() }

func validate(c Config) (ps Problems) {
	amiss := map[string]bool{} // plans whose limits do not go together
	known := sizes{}
	for _, name := range slices.Sorted(maps.Keys(c.Plans)) {
		path := member("plans", name)
		if !ValidPlan(name) {
			ps.add(path, "a plan's name is 1 to %d of a-z, 0-9 and -", maxName)
		}
		ps.checkLimits(path, c.Plans[name].Limits)
		amiss[name] = !ps.checkTogether(path, merge(c.Plans[name].Limits, nil), func(placed) bool { return true }, known)
	}
	ps.checkTenants(c, amiss, known)
	if _, ok := c.Plans[c.DefaultPlan]; !ok && c.DefaultPlan != "" {
		ps.add("default_plan", "%s", c.noPlan(c.DefaultPlan))
	}
	return ps
}

// checkTenants checks the tenants alone; amiss are the plans whose limits do not go together already.
func (ps *Problems) checkTenants(c Config, amiss map[string]bool, known sizes) {
	for _, name := range slices.Sorted(maps.Keys(c.Tenants)) {
		ps.checkTenant(c, name, amiss, known)
	}
}

func (ps *Problems) checkTenant(c Config, name string, amiss map[string]bool, known sizes) {
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
	if len(t.Limits) > 0 && !amiss[t.Plan] {
		ps.checkTogether(path, merge(plan.Limits, t.Limits), func(l placed) bool { return l.override }, known)
	}
}

// checkTogether reports what is wrong among limits that are each valid, and whether nothing
// is. own says which of them stand under path.
func (ps *Problems) checkTogether(path string, limits []placed, own func(placed) bool, known sizes) (ok bool) {
	before := len(*ps)
	ps.checkShadows(path, limits, own)
	ps.checkItems(path, limits, own, known)
	return len(*ps) == before
}

// checkShadows reports candidates for limits that there are not.
func (ps *Problems) checkShadows(path string, limits []placed, own func(placed) bool) {
	path = member(path, "limits")
	for _, l := range limits {
		if l.Shadows == "" {
			continue
		}
		problem := notShadowed(l, limits)
		switch {
		case problem == "":
		case own(l):
			ps.add(member(element(path, l.index), "shadows"), "%s", problem)
		default:
			ps.add(path, "the plan's %.70q has nothing to shadow here, as %.70q is switched off or a candidate: switch %.70q off too", l.Name, l.Shadows, l.Name)
		}
	}
}

// notShadowed says why a candidate is none for what it names; "" when it is.
func notShadowed(candidate placed, limits []placed) string {
	named := slices.IndexFunc(limits, func(l placed) bool { return l.Name == candidate.Shadows })
	switch {
	case candidate.Shadows == candidate.Name:
		return "a limit cannot shadow itself: name another"
	case named < 0:
		return fmt.Sprintf("there is no limit %.70q that is not off: name one to be a candidate for, or write mode: shadow without shadows", candidate.Shadows)
	case limits[named].Shadows != "":
		return fmt.Sprintf("%.70q is a candidate itself: name the limit that is enforced", candidate.Shadows)
	}
	return ""
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
}

// onlyOff reports whether a limit says nothing but which one is off.
func (l Limit) onlyOff() bool {
	return l.Mode == Off && l.policy() == limit.Policy{} && l.Period == "" && l.TTL == "" && l.Slack == "" && l.Spread == 0 && l.RequestIDs == 0
}

func (ps *Problems) checkModes(path string, l Limit) {
	switch l.Mode {
	case "", Enforce, Shadow, Off:
	default:
		ps.add(member(path, "mode"), "%.40q is unknown: use enforce, shadow or off", l.Mode)
	}
	if l.Shadows != "" && l.Mode == Enforce {
		ps.add(member(path, "mode"), "a limit that shadows another refuses nobody: write shadow, or remove shadows to enforce it")
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
	ps.checkTimes(path, l)
	if l.Burst < 0 {
		ps.add(member(path, "burst"), "must not be negative, but is %d", l.Burst)
	}
	if l.RequestIDs < 0 || l.RequestIDs > maxRequestIDs {
		ps.add(member(path, "request_ids"), "must be from 1 to %d, not %d", maxRequestIDs, l.RequestIDs)
	}
	if len(*ps) > before {
		return
	}
	if _, err := limit.New(l.policy()); err != nil {
		ps.addField(path, l, err)
		return
	}
	if !ps.checkSpread(path, l) {
		return
	}
	if _, err := l.enforced(); err != nil {
		ps.addField(path, l, err)
	}
}

// checkTimes reports what is wrong with the durations, and with those that the
// algorithm has no use for.
func (ps *Problems) checkTimes(path string, l Limit) {
	switch slots := limit.HasSlots(l.Algorithm); {
	case slots && l.Period != "":
		ps.add(member(path, "period"), "%s has none, as permits come back when they are released: remove it; ttl is how long one is held at most", l.Algorithm)
	case !slots && l.TTL != "":
		ps.add(member(path, "ttl"), "is for algorithm concurrency alone, whose permits are held: remove it")
	case slots && l.TTL == "":
		ps.add(member(path, "ttl"), "is missing: write how long a permit is held at most, as in 30s")
	}
	if _, err := l.Period.Duration(); err != nil && !limit.HasSlots(l.Algorithm) {
		ps.add(member(path, "period"), "%s", err)
	}
	for _, d := range []struct{ name, text string }{{"ttl", l.TTL}, {"slack", l.Slack}} {
		if _, err := duration(d.text); err != nil {
			ps.add(member(path, d.name), "%.40q is no duration: write one such as 30s or 50ms", d.text)
		}
	}
}

// duration reads a duration; "" is 0.
func duration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	return time.ParseDuration(s)
}

// checkSpread reports shards whose parts would not be whole.
func (ps *Problems) checkSpread(path string, l Limit) (ok bool) {
	if l.Spread < 0 || l.Spread > maxSpread {
		ps.add(member(path, "spread"), "must be from 2 to %d, not %d", maxSpread, l.Spread)
		return false
	}
	n, ok := int64(l.shards()), true
	for _, m := range []struct {
		name  string
		value int64
	}{{"quota", l.Quota}, {"burst", l.Burst}} {
		switch below := m.value / n * n; below {
		case m.value:
			continue
		case 0:
			ps.add(member(path, m.name), "%d cannot be spread over %d shards: use %d, or a smaller spread", m.value, n, n)
		default:
			ps.add(member(path, m.name), "%d cannot be spread evenly over %d shards: use %d or %d", m.value, n, below, below+n)
		}
		ok = false
	}
	return ok
}

// policy returns what the limit's algorithm is made from. An invalid duration is 0.
func (l Limit) policy() limit.Policy {
	period, _ := l.Period.Duration()
	if limit.HasSlots(l.Algorithm) {
		period, _ = duration(l.TTL)
	}
	slack, _ := duration(l.Slack)
	return limit.Policy{
		Algorithm: l.Algorithm, Quota: l.Quota, Period: period, Burst: l.Burst,
		Calendar: l.Period.calendar(l.Algorithm), AnchorDay: int(l.AnchorDay),
		SoftPercent: l.SoftPercent, Slack: slack, Resolution: l.Resolution,
	}
}

func (ps *Problems) addField(path string, l Limit, err error) {
	e, ok := errors.AsType[*limit.FieldError](err)
	switch {
	case !ok:
		ps.add(path, "%s", err)
	case e.Field == "period" && limit.HasSlots(l.Algorithm):
		ps.add(member(path, "ttl"), "%s", e.Problem)
	default:
		ps.add(member(path, e.Field), "%s", e.Problem)
	}
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

// ValidTenant reports whether name can be a tenant's: [A-Za-z0-9._:@-]{1,128}.
func ValidTenant(name string) bool {
	return validName(name, maxTenant, func(c byte) bool {
		return isWord(c) || c == '.' || c == ':' || c == '@'
	})
}

// ValidPlan reports whether name can be a plan's: [a-z0-9-]{1,63}.
func ValidPlan(name string) bool { return validName(name, maxName, isLower) }

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
