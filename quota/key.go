package quota

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// A part is what a key is made of beside the tenant.
type part struct {
	name      string // as in Limit.By
	attribute string // its name, when it is one
}

const (
	bySubject  = "subject"
	byResource = "resource"
	attributes = "attributes."
)

// canonical returns the parts of by in the one order in which they name a key.
func canonical(by []string) []string { return slices.Sorted(slices.Values(by)) }

func newParts(by []string) []part {
	parts := make([]part, 0, len(by))
	for _, name := range canonical(by) {
		attribute, _ := strings.CutPrefix(name, attributes)
		parts = append(parts, part{name: name, attribute: attribute})
	}
	return parts
}

// value returns what the request has for the part. A part that is missing is not the
// same as any value, "(none)" or an empty attribute included.
func (p part) value(r *Request) (value string, ok bool) {
	switch p.name {
	case bySubject:
		return r.Subject, r.Subject != ""
	case byResource:
		return r.Resource, r.Resource != ""
	}
	value, ok = r.Attributes[p.attribute]
	return value, ok
}

// key names the item of a request: "acme|subject|4mZ2…".
//
// The tenant and the names of the parts stand there to be read, as neither can
// contain a "|". The values do not, because they can be anything of any length, and
// because they are personal: they are hashed with everything before them, each with
// its length, so that ("a", "bc") is not ("ab", "c"). 128 bits are kept: enough that
// nobody finds a value that falls into the count of another. What is spread over shards
// is another item than what is not: "acme|subject*8|4mZ2…". So is what was counted before
// all counts of the tenant began afresh: "acme#k3h2f9|subject|4mZ2…".
func key(r *Request, generation int64, parts []part, by string) string {
	if len(parts) == 0 {
		return owner(r.Tenant, generation) + "|" + by + "|"
	}
	var digested [1024]byte
	b := appendText(digested[:0], r.Tenant)
	for _, p := range parts {
		b = appendText(b, p.name)
		value, ok := p.value(r)
		if !ok {
			b = append(b, 0)
			continue
		}
		b = appendText(append(b, 1), value)
	}
	sum := sha256.Sum256(b)

	var built [256]byte
	k := append(built[:0], owner(r.Tenant, generation)...)
	k = append(append(append(k, '|'), by...), '|')
	return string(base64.RawURLEncoding.AppendEncode(k, sum[:16]))
}

// owner is what the keys of a tenant begin with. No tenant's name has a "#".
func owner(tenant string, generation int64) string {
	if generation == 0 {
		return tenant
	}
	return tenant + "#" + strconv.FormatInt(generation, 36)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
