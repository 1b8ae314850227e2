package migrate

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/seed43908478/penstock/quota"
)

const maxName = 63 // of plans and limits

// names gives out names of plans or of limits, each once. It has the number that the
// next of the same name is tried with.
type names map[string]int

// take returns a name made of the words, [a-z0-9-]{1,63}: "to_number" and "+49*" are
// to-number-49. A name that was taken before gets a number; one that is too long ends
// in a digest of all of it, so that it is the same when the file grows.
func (ns names) take(otherwise string, words ...string) string {
	name := plain(strings.Join(words, "-"))
	if name == "" {
		name = otherwise
	}
	if len(name) > maxName {
		h := fnv.New32a()
		h.Write([]byte(strings.Join(words, "\x00")))
		name = fmt.Sprintf("%s-%08x", strings.TrimRight(name[:maxName-9], "-"), h.Sum32())
	}
	free := name
	for i := max(2, ns[name]); ns[free] > 0; i++ {
		suffix := fmt.Sprintf("-%d", i)
		free = strings.TrimRight(name[:min(len(name), maxName-len(suffix))], "-") + suffix
		ns[name] = i + 1
	}
	ns[free] = max(2, ns[free])
	return free
}

// plain returns s in lower case, with a single - for each run of anything but letters and digits.
func plain(s string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(s) {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimRight(b.String(), "-")
}

// tenantName returns s as it can be a tenant's name: as it is, when it can.
func tenantName(s string) string {
	if quota.ValidTenant(s) {
		return s
	}
	return replaced(s, 128, "._:@-_", "tenant")
}

// replaced returns s with - for what is neither a letter, a digit nor one of others.
func replaced(s string, most int, others, otherwise string) string {
	s = strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(others, c) {
			return c
		}
		return '-'
	}, s)
	if strings.Trim(s, "-") == "" {
		return otherwise
	}
	return s[:min(len(s), most)]
}

// attributes are the names that keys have as attributes. A key that can be an
// attribute's name is one.
type attributes struct {
	of    map[string]string // by key
	taken map[string]bool
}

func newAttributes() attributes { return attributes{map[string]string{}, map[string]bool{}} }

// reserve keeps the names that need no change for the keys that have them.
func (a attributes) reserve(key string) {
	if replaced(key, 64, "._-", "") == key {
		a.of[key], a.taken[key] = key, true
	}
}

func (a attributes) name(key string) string {
	if name, ok := a.of[key]; ok {
		return name
	}
	name := replaced(key, 64, "._-", "attribute")
	free := name
	for i := 2; a.taken[free]; i++ {
		suffix := fmt.Sprintf("-%d", i)
		free = name[:min(len(name), 64-len(suffix))] + suffix
	}
	a.of[key], a.taken[free] = free, true
	return free
}
