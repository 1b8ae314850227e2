package migrate_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/quota/migrate"
)

// What no note of a file mentions is decided as Envoy would. Small rules are made at
// random, Envoy's way to look for a limit is played beside what was imported, and where
// they disagree there has to be a note that says so.
func TestWhatDiffersHasANote(t *testing.T) {
	silent, disagreed := 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		top := randomEntries(r, 0)
		file := "domain: d\ndescriptors:" + text(top, "  ")
		config, notes, err := migrate.Envoy([]byte(file))
		if err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		first := disagreement(t, r, top, config)
		noted := slices.ContainsFunc(notes, func(n migrate.Note) bool { return n.Kind != migrate.Advice })
		switch {
		case first != "" && !noted:
			t.Fatalf("seed %d: %s, and no note says so: %v\n%s", seed, first, notes, file)
		case first != "":
			disagreed++
		case !noted:
			silent++
		}
	}
	if silent < 50 || disagreed < 50 {
		t.Errorf("%d files without a note, %d that disagree: too few to show anything", silent, disagreed)
	}
}

// An entry is a descriptor as Envoy reads it.
type entry struct {
	key, value string
	quota      int // 0: no rate_limit
	unlimited  bool
	share      bool
	entries    []entry
}

func randomEntries(r *rand.Rand, depth int) (list []entry) {
	seen := map[string]bool{}
	for range 1 + r.IntN(3) {
		e := entry{key: string("ab"[r.IntN(2)]) + strings.Repeat("i", depth), value: []string{"", "", "x", "xy", "x*", "*"}[r.IntN(6)]}
		if seen[e.key+"="+e.value] {
			continue
		}
		seen[e.key+"="+e.value] = true
		e.share = strings.HasSuffix(e.value, "*") && r.IntN(3) == 0
		e.unlimited = r.IntN(8) == 0
		if r.IntN(4) > 0 {
			e.quota = 1 + r.IntN(4)
		}
		if depth < 1 && r.IntN(2) == 0 {
			e.entries = randomEntries(r, depth+1)
		}
		list = append(list, e)
	}
	return list
}

func text(list []entry, indent string) string {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "\n%s- key: %s", indent, e.key)
		if e.value != "" {
			fmt.Fprintf(&b, "\n%s  value: %q", indent, e.value)
		}
		if e.share {
			fmt.Fprintf(&b, "\n%s  share_threshold: true", indent)
		}
		switch {
		case e.unlimited:
			fmt.Fprintf(&b, "\n%s  rate_limit: {unlimited: true}", indent)
		case e.quota > 0:
			fmt.Fprintf(&b, "\n%s  rate_limit: {unit: day, requests_per_unit: %d}", indent, e.quota)
		}
		if len(e.entries) > 0 {
			fmt.Fprintf(&b, "\n%s  descriptors:%s", indent, text(e.entries, indent+"    "))
		}
	}
	return b.String()
}

// disagreement sends requests of one list of entries each, all in one day, and returns
// the first that only one of the two lets through.
func disagreement(t *testing.T, r *rand.Rand, top []entry, config quota.Config) string {
	t.Helper()
	snapshot, err := config.Compile()
	if err != nil {
		t.Fatal(err)
	}
	envoy, here := map[string]int{}, map[string]int64{}
	paths := paths(top, nil)
	for range 60 {
		var list []string
		for _, e := range paths[r.IntN(len(paths))] {
			list = append(list, e.key, e.like(r))
		}
		count, most := find(top, list)
		envoy[count]++
		byEnvoy := most == 0 || envoy[count] <= most
		if passes(t, snapshot, here, list) != byEnvoy {
			return fmt.Sprintf("%v: Envoy says %t", list, byEnvoy)
		}
	}
	return ""
}

// paths returns the entries that the rules speak of: a caller sends no others.
func paths(list []entry, before []entry) (all [][]entry) {
	for _, e := range list {
		path := append(slices.Clone(before), e)
		if e.quota > 0 || e.unlimited || len(e.entries) == 0 {
			all = append(all, path)
		}
		all = append(all, paths(e.entries, path)...)
	}
	return all
}

// like returns a value that the entry is for.
func (e entry) like(r *rand.Rand) string {
	switch e.value {
	case "", "*":
		return []string{"x", "xy", "z"}[r.IntN(3)]
	case "x*":
		return []string{"x", "xy"}[r.IntN(2)]
	}
	return e.value
}

// find returns the counter that Envoy has for a list of keys and values, and its limit; 0 is none.
func find(list []entry, request []string) (counter string, most int) {
	var shared []string
	for {
		e, ok := best(list, request[0], request[1])
		if !ok {
			return "", 0
		}
		value := request[1]
		if e.share {
			value = e.value
		}
		shared = append(shared, request[0], value)
		if request = request[2:]; len(request) > 0 {
			list = e.entries
			continue
		}
		if e.unlimited {
			return "", 0
		}
		return strings.Join(shared, "|"), e.quota
	}
}

// best returns the entry that has the value, else the first whose pattern matches, else the one without.
func best(list []entry, key, value string) (entry, bool) {
	for _, like := range []func(string) bool{
		func(v string) bool { return v == value },
		func(v string) bool {
			return strings.HasSuffix(v, "*") && strings.HasPrefix(value, strings.TrimSuffix(v, "*"))
		},
		func(v string) bool { return v == "" },
	} {
		for _, e := range list {
			if e.key == key && like(e.value) {
				return e, true
			}
		}
	}
	return entry{}, false
}

// passes decides one request as the engine does: all limits that match, or none is charged.
func passes(t *testing.T, s *quota.Snapshot, used map[string]int64, list []string) bool {
	t.Helper()
	attributes := map[string]string{}
	for i := 0; i < len(list); i += 2 {
		attributes[list[i]] = list[i+1]
	}
	items, err := s.Match(quota.Request{Tenant: "d", Resource: "any", Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	charged := maps.Clone(used)
	for _, item := range items {
		for _, rule := range item.Rules {
			count := item.Key + rule.ID
			if charged[count]++; charged[count] > rule.Limit.Policy().Quota {
				return false
			}
		}
	}
	maps.Copy(used, charged)
	return true
}
