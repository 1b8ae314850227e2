package migrate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/quota/migrate"
)

// What is wrong with a file is said with its line and what to do.
func TestBrokenRulesAreRefused(t *testing.T) {
	const rule = "descriptors:\n  - key: a\n    rate_limit: "
	for _, test := range []struct{ name, file, want string }{
		{"empty", "", "line 1: the file is empty: it must have a domain and descriptors"},
		{"only comments", "# nothing\n", "line 1: the file is empty: it must have a domain and descriptors"},
		{"not YAML", "domain: a\n\tdescriptors: []", "line 2: not YAML:"},
		{"star without quotes", "domain: a\ndescriptors: [{key: a, value: *}]", `in quotes, as in "*"`},
		{"not UTF-8", "domain: a\xff", "line 1: is not UTF-8: save the file in that encoding"},
		{"control character", "domain: a\n# \x07", "line 2: has the control character U+0007: remove it"},
		{"two documents", "domain: a\n---\ndomain: b\n", "line 2: a second document begins here, which Envoy does not read: put it into a file of its own"},
		{"a list", "- domain: a\n", "line 1: must be members, as in name: value, not a list"},
		{"no domain", "descriptors: []", "line 1: domain: is missing: name the domain that the descriptors belong to"},
		{"a ConfigMap", "apiVersion: v1\ndata: {}\n", "line 1: apiVersion: is unknown: remove it; there are descriptors, domain"},
		{"domain twice", "domain: a\ndomain: b\n", "line 2: domain: is there twice, first in line 1: remove one"},
		{"domain is a list", "domain: [a]\n", "line 1: domain: must be a text, not a list"},
		{"no value", "domain: a\ndescriptors:\n", "line 2: descriptors: has no value: write a list, or remove it"},
		{"no key", "domain: a\ndescriptors:\n  - value: b\n", "line 3: descriptors[0]: has no key: write key: NAME"},
		{"the same twice", "domain: a\ndescriptors:\n  - key: b\n    value: c\n  - {key: b, value: c}\n", "line 5: descriptors[1]: b=c is there twice, first in line 3: remove one"},
		{"anchor", "domain: a\n" + rule + "&l {unit: day, requests_per_unit: 1}", `line 4: descriptors[0].rate_limit: has the anchor "l", which is not read`},
		{"alias", "domain: &d a\ndescriptors: *d\n", "line 2: descriptors: is an alias, which is not read"},
		{"tag", "domain: !!str a\n", `line 1: domain: has the tag "!!str", which is not read: remove it`},
		{"unknown member", "domain: a\ndescriptors: [{key: b, rate_limits: {}}]", "line 2: descriptors[0].rate_limits: is unknown: remove it; there are"},
		{"shadow_mode inside", "domain: a\n" + rule + "{unit: day, requests_per_unit: 1, shadow_mode: true}", "line 4: descriptors[0].rate_limit.shadow_mode: is without effect in a rate_limit: write it beside rate_limit, or remove it"},
		{"shadow_mode yes", "domain: a\ndescriptors: [{key: b, shadow_mode: yes}]", `line 2: descriptors[0].shadow_mode: must be true or false, not "yes"`},
		{"no unit", "domain: a\n" + rule + "{requests_per_unit: 1}", "line 4: descriptors[0].rate_limit.unit: is missing: write one of second, minute, hour, day, week, month"},
		{"unknown unit", "domain: a\n" + rule + "{unit: fortnight, requests_per_unit: 1}", `line 4: descriptors[0].rate_limit.unit: "fortnight" is unknown: write one of second`},
		{"no requests", "domain: a\n" + rule + "{unit: day}", "line 4: descriptors[0].rate_limit.requests_per_unit: is missing, which Envoy takes for 0 and refuses every request: write a number"},
		{"requests negative", "domain: a\n" + rule + "{unit: day, requests_per_unit: -1}", "requests_per_unit: -1 is out of range: write 0 to 4294967295"},
		{"requests too many", "domain: a\n" + rule + "{unit: day, requests_per_unit: 99999999999999999999}", "requests_per_unit: 99999999999999999999 is out of range"},
		{"requests a word", "domain: a\n" + rule + "{unit: day, requests_per_unit: many}", `requests_per_unit: must be a whole number such as 100, not "many"`},
		{"requests quoted", "domain: a\n" + rule + "{unit: day, requests_per_unit: '5'}", `requests_per_unit: must be a whole number such as 100, not "5"`},
		{"unlimited with a unit", "domain: a\n" + rule + "{unit: day, unlimited: true}", "line 4: descriptors[0].rate_limit: has a unit and is unlimited: remove one of them"},
		{"share_threshold without a star", "domain: a\ndescriptors: [{key: b, value: c, share_threshold: true}]", "line 2: descriptors[0]: has share_threshold but no value that ends with *: remove it"},
		{"replaces nothing", "domain: a\n" + rule + "{unit: day, requests_per_unit: 1, replaces: [{}]}", "line 4: descriptors[0].rate_limit.replaces[0]: names nothing"},
		{"replaces itself", "domain: a\n" + rule + "{unit: day, requests_per_unit: 1, name: me, replaces: [{name: me}]}", "names the limit itself: write the name of another"},
		{"too many", "domain: a\ndescriptors:\n" + strings.Repeat("  - {key: b}\n", 2001), "descriptors: are 2001: at most 2000 are read; split the file"},
		{"too deep", "domain: a\ndescriptors: " + strings.Repeat("[{key: b, descriptors: ", 40) + "[]" + strings.Repeat("}]", 40), "is nested deeper than 32: no request has so many attributes; remove it"},
		{"too large", "#" + strings.Repeat(" ", 1<<20), "the file has 1048577 bytes: at most 1048576 are read; split it"},
		{"all at once", "domain: a\ndescriptors:\n  - {value: b}\n  - {key: c, shadow_mode: 1}\n", "line 3: descriptors[0]: has no key: write key: NAME\nline 4: descriptors[1].shadow_mode: must be true or false, not \"1\""},
	} {
		t.Run(test.name, func(t *testing.T) { refused(t, migrate.Envoy, test.file, test.want) })
	}
}

func TestBrokenUsagePlansAreRefused(t *testing.T) {
	throttle := func(s string) string { return fmt.Sprintf("{\"items\": [\n{\"id\": \"a\", \"throttle\": %s}]}", s) }
	period := func(s string) string { return fmt.Sprintf("{\"items\": [\n{\"id\": \"a\", \"quota\": %s}]}", s) }
	for _, test := range []struct{ name, file, want string }{
		{"empty", "", "line 1: not JSON: it ends too soon; write it with: aws apigateway get-usage-plans --output json"},
		{"cut off", "{\"items\": [\n{\"id\":", "line 2: not JSON: it ends too soon"},
		{"YAML", "items:\n- id: a\n", "line 1: not JSON: invalid character 'i'"},
		{"a comma too many", "{\"items\": [\n{\"id\": \"a\",}\n]}", "line 2: not JSON: invalid character '}'"},
		{"more after it", "{\"items\": []}\n{}", "line 2: there is more after the end of the JSON: remove it"},
		{"too deep", strings.Repeat("[", 200), "not JSON: it is nested deeper than 100"},
		{"a list", "[]", "line 1: must be members, as in name: value, not a list"},
		{"one plan", `{"id": "a", "name": "b"}`, "id: is unknown: remove it; there are NextToken, items, position"},
		{"no items", "{}", "line 1: items: is missing: write the file with: aws apigateway get-usage-plans --output json"},
		{"items twice", `{"items": [], "items": []}`, "items: is there twice, first in line 1: remove one"},
		{"unknown member", "{\"items\": [\n{\"nam\": \"a\"}]}", "line 2: items[0].nam: is unknown: remove it; there are apiStages"},
		{"null", "{\"items\": [\n{\"name\": null}]}", "line 2: items[0].name: has no value: write a text, or remove it"},
		{"rate is a text", throttle(`{"rateLimit": "10"}`), `line 2: items[0].throttle.rateLimit: must be a number of requests a second, 0 to 4294967295, not "10"`},
		{"rate negative", throttle(`{"rateLimit": -1}`), "rateLimit: must be a number of requests a second"},
		{"rate next to nothing", throttle(`{"rateLimit": 1e-99999999}`), "rateLimit: must be a number of requests a second"},
		{"rate too large", throttle(`{"rateLimit": 1e99999999}`), "rateLimit: must be a number of requests a second"},
		{"no rate", throttle(`{"burstLimit": 1}`), "items[0].throttle.rateLimit: is missing: write the requests a second, or remove the throttle"},
		{"burst is fractional", throttle(`{"rateLimit": 1, "burstLimit": 1.5}`), `burstLimit: must be a whole number such as 100, not "1.5"`},
		{"no limit", period(`{"period": "DAY"}`), "items[0].quota.limit: is missing: write the requests in a period, or remove the quota"},
		{"no period", period(`{"limit": 1}`), `items[0].quota.period: "" is unknown: write DAY, WEEK or MONTH`},
		{"unknown period", period(`{"limit": 1, "period": "YEAR"}`), `items[0].quota.period: "YEAR" is unknown: write DAY, WEEK or MONTH`},
		{"offset of a day", period(`{"limit": 1, "offset": 1, "period": "DAY"}`), "items[0].quota.offset: must be at most 0 for a DAY"},
		{"offset of a month", period(`{"limit": 1, "offset": 28, "period": "MONTH"}`), "items[0].quota.offset: must be at most 27 for a MONTH"},
		{"method without a path", `{"items": [{"apiStages": [{"throttle": {"GET": {"rateLimit": 1}}}]}]}`, `must be named for a path and a method, as in "/pets/GET"`},
	} {
		t.Run(test.name, func(t *testing.T) { refused(t, migrate.UsagePlans, test.file, test.want) })
	}
}

func refused(t *testing.T, read func([]byte) (quota.Config, []migrate.Note, error), file, want string) {
	t.Helper()
	_, _, err := read([]byte(file))
	problems, ok := errors.AsType[quota.Problems](err)
	if !ok {
		t.Fatalf("the error is %v, not a list of problems", err)
	}
	if !strings.Contains(problems.Error(), want) {
		t.Errorf("says\n%s\nand not\n%s", problems, want)
	}
}
