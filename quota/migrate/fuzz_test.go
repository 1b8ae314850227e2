package migrate_test

import (
	"errors"
	"testing"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/quota/migrate"
)

func FuzzEnvoy(f *testing.F) {
	for _, file := range sources(f, "envoy") {
		f.Add(contents(f, file))
	}
	f.Add([]byte("domain: \"\\u0085\"\ndescriptors: [{key: \"\\n\", value: \"a\\u2028# b\", rate_limit: {unit: day, requests_per_unit: 1}}]"))
	f.Add([]byte("domain: d\ndescriptors: [{key: k, value: a, descriptors: [{key: k, value: b, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 0}}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) { holds(t, migrate.Envoy, data) })
}

func FuzzUsagePlans(f *testing.F) {
	for _, file := range sources(f, "usage-plans") {
		f.Add(contents(f, file))
	}
	f.Add([]byte(`{"items": [{"name": "\u0000", "apiStages": [{"throttle": {"/\n/GET": {"rateLimit": 1e3}}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) { holds(t, migrate.UsagePlans, data) })
}

// holds reports a file that is neither refused with problems nor made into a
// configuration that quota reads as it was made.
func holds(t *testing.T, read func([]byte) (quota.Config, []migrate.Note, error), data []byte) {
	t.Helper()
	config, notes, err := read(data)
	if err != nil {
		if problems, ok := errors.AsType[quota.Problems](err); !ok || len(problems) == 0 {
			t.Fatalf("refused by %#v", err)
		}
		return
	}
	made, err := migrate.YAML(config, notes, "a test")
	if err != nil {
		t.Fatal(err)
	}
	sameConfig(t, made, config)
}
