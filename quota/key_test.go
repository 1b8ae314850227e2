package quota_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/quota"
	"pgregory.net/rapid"
)

// keyOf returns the key under which a limit that is by these parts counts the request.
func keyOf(t testing.TB, by string, r quota.Request) string {
	t.Helper()
	s := mustCompile(t, "plans: {p: {limits: ["+bucket("a", "by: ["+by+"]")+"]}}\ndefault_plan: p")
	items, err := s.Match(r)
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	return items[0].Key
}

func TestKeyIsTheSameForTheSameValues(t *testing.T) {
	t.Parallel()
	r := quota.Request{Tenant: "acme", Resource: "GET /", Subject: "alice", Attributes: map[string]string{"ip": "::1"}}
	other := r
	other.Resource = "GET /other"
	other.Attributes = map[string]string{"ip": "::1", "device": "phone"}
	if keyOf(t, "subject, attributes.ip", r) != keyOf(t, "attributes.ip, subject", other) {
		t.Error("the key depends on the order in which parts are written, or on what is no part")
	}
}

// The key is stored: another form of it would forget every count.
func TestKeyForm(t *testing.T) {
	t.Parallel()
	r := quota.Request{Tenant: "acme", Resource: "GET /", Subject: "alice"}
	for by, want := range map[string]string{
		"":                           "acme||",
		"subject":                    "acme|subject|SAy71MWsxhML1U3tr97yeQ",
		"subject, resource":          "acme|resource+subject|wlz9dt7aaJrD3whoSDH96w",
		"resource, attributes.ip.v4": "acme|attributes.ip.v4+resource|3V12V2yzW25Eu08UmxJZ_g",
	} {
		if got := keyOf(t, by, r); got != want {
			t.Errorf("by [%s]: %q, want %q", by, got, want)
		}
	}
}

func TestKeyHidesValues(t *testing.T) {
	t.Parallel()
	r := quota.Request{Tenant: "acme", Subject: "alice@example.com", Attributes: map[string]string{"ip": "203.0.113.9"}}
	key := keyOf(t, "subject, attributes.ip", r)
	if strings.Contains(key, "alice") || strings.Contains(key, "203") {
		t.Errorf("%q tells who it is", key)
	}
	globex := r
	globex.Tenant = "globex"
	_, digest, _ := strings.Cut(key[len("acme|"):], "|")
	if strings.HasSuffix(keyOf(t, "subject, attributes.ip", globex), digest) {
		t.Error("one can see that two tenants have the same user")
	}
}

func TestKeyOfMissingParts(t *testing.T) {
	t.Parallel()
	keys := map[string]string{}
	for _, c := range []struct {
		name    string
		request quota.Request
	}{
		{"nothing", quota.Request{}},
		{"a subject called (none)", quota.Request{Subject: "(none)"}},
		{"an empty address", quota.Request{Attributes: map[string]string{"ip": ""}}},
		{"an address called (none)", quota.Request{Attributes: map[string]string{"ip": "(none)"}}},
		{"a subject of one zero byte", quota.Request{Subject: "\x00"}},
	} {
		c.request.Tenant, c.request.Resource = "acme", "GET /"
		key := keyOf(t, "subject, attributes.ip", c.request)
		if other, ok := keys[key]; ok {
			t.Errorf("%s counts as %s", c.name, other)
		}
		keys[key] = c.name
	}
	// All that lack the same parts share one count, and are counted.
	one := quota.Request{Tenant: "acme", Resource: "a", Attributes: map[string]string{"x": "1"}}
	two := quota.Request{Tenant: "acme", Resource: "b", Attributes: map[string]string{"x": "2"}}
	if keyOf(t, "subject, attributes.ip", one) != keyOf(t, "subject, attributes.ip", two) {
		t.Error("two requests without a subject and an address do not share a count")
	}
}

// Whoever writes subjects and addresses must not be able to reach another's count:
// what looks alike when put together is told apart.
func TestKeysDoNotCollide(t *testing.T) {
	t.Parallel()
	crafted := rapid.OneOf(
		rapid.StringMatching(`[ab|+\x00\x01]{0,4}`),
		rapid.SampledFrom([]string{"", "(none)", "|", "||", "a|subject|", "a+b", "\x00", "\x01\x01a", "\x01", "a\x00", strings.Repeat("a", 127), strings.Repeat("a", 128), strings.Repeat("\x01", 1024)}),
	)
	snapshots := map[string]*quota.Snapshot{}
	for _, by := range []string{"", "subject", "resource", "subject, resource", "attributes.a", "attributes.b", "attributes.a, attributes.b", "subject, attributes.a", "attributes.a.b", "attributes.subject"} {
		snapshots[by] = mustCompile(t, "plans: {p: {limits: ["+bucket("a", "by: ["+by+"]")+"]}}\ndefault_plan: p")
	}
	bys := rapid.SampledFrom(slices.Sorted(maps.Keys(snapshots)))
	seen := map[string]string{} // key → of what
	pairs := 0
	for pairs < 10_000 {
		rapid.Check(t, func(t *rapid.T) {
			r := quota.Request{
				Tenant:   rapid.StringMatching(`[ab.:@-]{1,3}`).Draw(t, "tenant"),
				Resource: crafted.Draw(t, "resource"),
				Subject:  crafted.Draw(t, "subject"),
			}
			r.Attributes = map[string]string{}
			for _, name := range []string{"a", "b", "a.b", "subject"} {
				if rapid.Bool().Draw(t, "has "+name) {
					r.Attributes[name] = crafted.Draw(t, name)
				}
			}
			by := bys.Draw(t, "by")
			items, err := snapshots[by].Match(r)
			if err != nil {
				t.Fatal(err)
			}
			key, tuple := items[0].Key, tuple(by, r)
			if other, ok := seen[key]; ok && other != tuple {
				t.Fatalf("%s and %s have the key %q", tuple, other, key)
			}
			seen[key] = tuple
			pairs++
		})
	}
	if len(seen) < 1000 {
		t.Errorf("only %d different keys in %d", len(seen), pairs)
	}
}

// tuple says in full what a key stands for.
func tuple(by string, r quota.Request) string {
	said := fmt.Sprintf("tenant=%q", r.Tenant)
	for part := range strings.SplitSeq(by, ", ") {
		switch name, isAttribute := strings.CutPrefix(part, "attributes."); {
		case part == "subject" && r.Subject != "":
			said += fmt.Sprintf(" subject=%q", r.Subject)
		case part == "resource" && r.Resource != "":
			said += fmt.Sprintf(" resource=%q", r.Resource)
		case isAttribute:
			if value, ok := r.Attributes[name]; ok {
				said += fmt.Sprintf(" %s=%q", part, value)
				continue
			}
			fallthrough
		default:
			said += fmt.Sprintf(" %s missing", part)
		}
	}
	return said
}

func BenchmarkMatch(b *testing.B) {
	example, err := quota.Example().Compile()
	if err != nil {
		b.Fatal(err)
	}
	twenty := make([]string, 20)
	for i := range twenty {
		twenty[i] = bucket(fmt.Sprintf("l%d", i), "by: [subject]", fmt.Sprintf("match: {resource: \"* /v%d/*\"}", i%2))
	}
	for _, c := range []struct {
		name     string
		snapshot *quota.Snapshot
		request  quota.Request
	}{
		{"one item, all rules", mustCompile(b, onePlan(bucket("a", "by: [subject]"))), quota.Request{Tenant: "acme", Resource: "GET /", Subject: "user:42"}},
		{"example, three items, some rules", example, quota.Request{Tenant: "acme", Resource: "GET /search", Subject: "user:42", Attributes: map[string]string{"ip": "203.0.113.9"}}},
		{"every second of 20 rules", mustCompile(b, onePlan(twenty...)), quota.Request{Tenant: "acme", Resource: "GET /v1/x", Subject: "user:42"}},
		{"no rule", mustCompile(b, onePlan(bucket("a", "match: {resource: none}"))), quota.Request{Tenant: "acme", Resource: "GET /"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.snapshot.Match(c.request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
