package migrate

import "fmt"

// compare says where the order in which Envoy looks for a limit makes a difference.
func (m *domain) compare() {
	m.compareSiblings()
	m.compareKeys()
	m.compareReplaced()
}

// A claim is what there is to say of a descriptor that is more specific than a limit's.
type claim struct{ differs, same []string }

// compareSiblings finds requests that Envoy would count elsewhere, or not at all,
// because there is a more specific descriptor, and that the limit counts here.
func (m *domain) compareSiblings() {
	claims := map[*descriptor]*claim{}
	for _, d := range m.order {
		if !m.made[d].holds {
			continue
		}
		path := d.path()
		for i, p := range path {
			m.siblings(p, func(s *descriptor) {
				c := claims[s]
				if c == nil {
					c = new(claim)
					claims[s] = c
				}
				c.add(m, d, s, path[i+1:])
			})
		}
	}
	for _, s := range m.all(m.top) {
		if c := claims[s]; c != nil {
			m.sayClaim(s, c)
		}
	}
}

// siblings calls with each descriptor that Envoy prefers to p for some value.
func (m *domain) siblings(p *descriptor, found func(*descriptor)) {
	list := m.top
	if p.parent != nil {
		list = p.parent.children
	}
	at := 0
	for list[at] != p {
		at++
	}
	for i, s := range list {
		if s != p && s.key == p.key && s.before(p, i, at) && meets(s.broad(), p.broad()) {
			found(s)
		}
	}
}

// add judges the limit of d for requests that Envoy takes to s and what is below it.
func (c *claim) add(m *domain, d, s *descriptor, rest []*descriptor) {
	limit := fmt.Sprintf("%s (%s, line %d)", m.made[d].limit.Name, d.limit, d.line)
	heirs, complete := s.heirs(rest)
	for _, h := range heirs {
		complete = complete && m.usedUpFirst(h, d)
	}
	if complete {
		c.same = append(c.same, limit)
		return
	}
	c.differs = append(c.differs, limit)
}

// usedUpFirst reports whether h, which counts a part of what d counts, one for one, is
// used up before d is.
func (m *domain) usedUpFirst(h, d *descriptor) bool {
	switch {
	case !m.made[h].holds || !countsAlike(h, d):
		return false
	case h.limit.requests.value == 0 || d.limit.requests.value == 0:
		return h.limit.requests.value == 0
	}
	return h.limit.requests.value <= d.limit.requests.value && nests(d.limit.unit, h.limit.unit)
}

// countsAlike reports whether both have a count for each list of values.
func countsAlike(h, d *descriptor) bool {
	for _, p := range append(h.path(), d.path()...) {
		if p.share {
			return false
		}
	}
	return true
}

func (m *domain) sayClaim(s *descriptor, c *claim) {
	var name string
	if made := m.made[s]; made != nil {
		name = made.limit.Name
	}
	if len(c.differs) > 0 {
		m.note(s.note(NotExpressed, "%s is held to %s as well: Envoy takes this descriptor alone, here all limits that match apply and none can be excepted. "+
			"Send these requests with another attribute, or let them have a tenant of their own", s, few(c.differs)).of(m.plan.name, name))
	}
	if len(c.same) > 0 {
		m.note(s.note(Advice, "%s counts in %s as well, which changes nothing: it is used up no later", s, few(c.same)).of(m.plan.name, name))
	}
}

// compareKeys finds limits that count what other descriptors are about, because their
// keys are among the others'. Envoy counts in those whose very keys are sent.
func (m *domain) compareKeys() {
	var paths []keyed // of what a list of entries can end in
	for _, d := range m.all(m.top) {
		if d.limit != nil || len(d.children) == 0 {
			paths = append(paths, newKeyed(d))
		}
	}
	for i, k := range paths {
		a := k.path[len(k.path)-1]
		if made := m.made[a]; made == nil || !made.holds {
			continue
		}
		var also []string
		for j, other := range paths {
			if i != j && k.counts(other, i < j) {
				b := other.path[len(other.path)-1]
				also = append(also, fmt.Sprintf("%s (line %d)", b, b.line))
			}
		}
		if len(also) > 0 {
			m.note(a.note(Approximated, "counts the requests of %s too: here a request counts in every limit whose attributes it has, in Envoy only if this descriptor is sent beside the other",
				few(also)).of(m.plan.name, m.made[a].limit.Name))
		}
	}
}

// compareReplaced says which limits would be left out for another's sake.
func (m *domain) compareReplaced() {
	for _, d := range m.order {
		for _, replaced := range d.limit.replaces {
			m.note(replaced.note(NotExpressed, "%s is not left out where this limit applies: both do", replaced.name).of(m.plan.name, m.made[d].limit.Name))
		}
	}
}

// String returns "10 per second".
func (l *rateLimit) String() string { return fmt.Sprintf("%d per %s", l.requests.value, l.unit) }
