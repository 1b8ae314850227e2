package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/quota/migrate"
)

// plansInJSON has one plan that can be expressed, and with a rate of 0 one that cannot.
const plansInJSON = `{"items": [
  {"id": "f1", "name": "free", "throttle": {"rateLimit": 10, "burstLimit": 20}},
  {"id": "n1", "name": "none", "throttle": {"rateLimit": RATE, "burstLimit": 5}}
]}`

func TestImportPrintsAConfigurationAndNotes(t *testing.T) {
	out, notes, err := penstock(t, strings.ReplaceAll(plansInJSON, "RATE", "0"), "import", "usage-plans", "-")
	if err != nil {
		t.Fatal(err)
	}
	c, err := quota.ParseYAML([]byte(out))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if l := c.Plans["free"].Limits[0]; l.Quota != 10 || l.Burst != 20 {
		t.Errorf("free has %+v", l)
	}
	for _, want := range []string{"-:3: not expressed: items[1].throttle: a rateLimit", "2 plans, 2 limits: 1 not expressed, 0 approximated\n"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes are\n%s\nwithout %q", notes, want)
		}
	}
}

func TestImportPrintsJSON(t *testing.T) {
	out, notes, err := penstock(t, strings.ReplaceAll(plansInJSON, "RATE", "0"), "import", "usage-plans", "-", "--json")
	if err != nil || notes != "" {
		t.Fatal(err, notes)
	}
	var got struct {
		Config quota.Config
		Notes  []migrate.Note
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if err := got.Config.Validate(); err != nil || len(got.Config.Plans) != 2 || migrate.Count(got.Notes, migrate.NotExpressed) != 1 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestStrictImportFailsWhereSomethingIsNotExpressed(t *testing.T) {
	for rate, want := range map[string]string{"0": "1 thing could not be expressed (--strict)", "1": ""} {
		out, _, err := penstock(t, strings.ReplaceAll(plansInJSON, "RATE", rate), "import", "usage-plans", "-", "--strict")
		switch {
		case want == "" && err != nil, want != "" && (err == nil || err.Error() != want):
			t.Errorf("a rate of %s: %v", rate, err)
		case !strings.Contains(out, "plans:"):
			t.Errorf("a rate of %s: nothing is printed", rate)
		}
	}
}

func TestImportSaysWhatIsWrongWithAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte("domain: a\ndescriptors: [{value: b}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := penstock(t, "", "import", "envoy", file)
	if want := "the file has errors:\n" + file + ":2: descriptors[0]: has no key: write key: NAME"; err == nil || err.Error() != want {
		t.Errorf("says %v, want %s", err, want)
	}
	if _, _, err := penstock(t, "", "import", "envoy", file+".none"); err == nil {
		t.Error("a file that is not there is no error")
	}
}

func TestImportKnowsItsFormats(t *testing.T) {
	_, _, err := penstock(t, "", "import", "nginx", "nginx.conf")
	if _, ok := errors.AsType[usageError](err); !ok || !strings.Contains(err.Error(), "use envoy or usage-plans") {
		t.Errorf("says %v", err)
	}
}

// penstock runs the command.
func penstock(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	err = root.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}
