package migrate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/quota/migrate"
)

// Where Envoy takes one of two descriptors and Penstock both, it matters only when the
// other is used up first.
func TestAMoreSpecificLimitIsComparedWithTheOther(t *testing.T) {
	const differs, same = migrate.NotExpressed, migrate.Advice
	for _, test := range []struct {
		name, wide, narrow string // the limits of any user, and of alice
		want               migrate.Kind
	}{
		{"smaller", "{unit: hour, requests_per_unit: 10}", "{unit: hour, requests_per_unit: 9}", same},
		{"equal", "{unit: hour, requests_per_unit: 10}", "{unit: hour, requests_per_unit: 10}", same},
		{"larger", "{unit: hour, requests_per_unit: 10}", "{unit: hour, requests_per_unit: 11}", differs},
		{"smaller, but each minute", "{unit: hour, requests_per_unit: 10}", "{unit: minute, requests_per_unit: 9}", differs},
		{"smaller for a day", "{unit: hour, requests_per_unit: 10}", "{unit: day, requests_per_unit: 9}", same},
		{"a month's, smaller than a week's that lies in two", "{unit: week, requests_per_unit: 10}", "{unit: month, requests_per_unit: 9}", differs},
		{"a month's, smaller than a day's", "{unit: day, requests_per_unit: 10}", "{unit: month, requests_per_unit: 9}", same},
		{"unlimited", "{unit: hour, requests_per_unit: 10}", "{unlimited: true}", differs},
		{"nothing", "{unit: hour, requests_per_unit: 10}", "{unit: second, requests_per_unit: 0}", same},
		{"out of nothing", "{unit: hour, requests_per_unit: 0}", "{unit: hour, requests_per_unit: 1}", differs},
		{"off, for it cannot be had", "{unit: hour, requests_per_unit: 10}", "{unit: year, requests_per_unit: 1}", differs},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := fmt.Sprintf("domain: d\ndescriptors:\n- key: user\n  rate_limit: %s\n- key: user\n  value: alice\n  rate_limit: %s\n", test.wide, test.narrow)
			noted(t, file, 5, "user=alice", test.want)
		})
	}
}

func TestADescriptorTakesRequestsFromOthersBesideIt(t *testing.T) {
	const limit = "rate_limit: {unit: hour, requests_per_unit: 10}"
	for _, test := range []struct {
		name, below string // what is below plan=free, beside any plan's limit for each user
		want        migrate.Kind
	}{
		{"the same", "- {key: user, " + limit + "}", migrate.Advice},
		{"only one user", "- {key: user, value: alice, " + limit + "}", migrate.NotExpressed},
		{"other keys", "- {key: team, " + limit + "}", migrate.NotExpressed},
		{"deeper", "- {key: user, descriptors: [{key: team, " + limit + "}]}", migrate.NotExpressed},
		{"every user, and one apart", "- {key: user, " + limit + "}\n  - {key: user, value: alice, rate_limit: {unit: hour, requests_per_unit: 11}}", migrate.NotExpressed},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := "domain: d\ndescriptors:\n- key: plan\n  descriptors:\n  - {key: user, " + limit + "}\n- key: plan\n  value: free\n  descriptors:\n  " + test.below + "\n"
			noted(t, file, 6, "plan=free ", test.want)
		})
	}
}

// noted reports a file without a note of a kind on a line, about a descriptor.
func noted(t *testing.T, file string, line int, about string, want migrate.Kind) {
	t.Helper()
	_, notes, err := migrate.Envoy([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var found []migrate.Note
	for _, n := range notes {
		if n.Line == line && strings.HasPrefix(n.Text, about) {
			found = append(found, n)
		}
	}
	if len(found) != 1 || found[0].Kind != want {
		t.Errorf("line %d has %v, want one that is %s, of\n%s", line, found, want, file)
	}
}

// What one attribute cannot say, or too many would have to, is noted.
func TestListsThatNoRequestHasAreNoted(t *testing.T) {
	nested := "domain: d\ndescriptors:\n"
	for i := range 17 {
		nested += fmt.Sprintf("%s- key: k%d\n%s  descriptors:\n", strings.Repeat("  ", i), i, strings.Repeat("  ", i))
	}
	nested += strings.Repeat("  ", 17) + "- {key: last, rate_limit: {unit: day, requests_per_unit: 1}}\n"
	noted(t, nested, 37, "the limit is off: match.attributes: are 18, but no request has more than 16", migrate.NotExpressed)

	const twice = "domain: d\ndescriptors:\n- key: k\n  value: a\n  descriptors:\n  - {key: k, value: b, rate_limit: {unit: day, requests_per_unit: 1}}\n"
	noted(t, twice, 6, "asks again for k, and an attribute has one value: only line 3 is compared", migrate.NotExpressed)
}
