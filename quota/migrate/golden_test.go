package migrate_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/quota/migrate"
)

var update = flag.Bool("update", false, "write the golden files anew")

// readers are by the folder of testdata that has their files.
var readers = map[string]func([]byte) (quota.Config, []migrate.Note, error){
	"envoy":       migrate.Envoy,
	"usage-plans": migrate.UsagePlans,
}

// Each file of testdata has beside it what is made of it: NAME.golden.yaml and NAME.notes.
func TestFilesAreImported(t *testing.T) {
	for folder, read := range readers {
		files := sources(t, folder)
		if len(files) < 5 {
			t.Errorf("only %d files in %s", len(files), folder)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				config, notes, err := read(contents(t, file))
				if err != nil {
					t.Fatal(err)
				}
				made, err := migrate.YAML(config, notes, "a test")
				if err != nil {
					t.Fatal(err)
				}
				var text strings.Builder
				for _, n := range notes {
					text.WriteString(n.In(filepath.Base(file)) + "\n")
				}
				name := strings.TrimSuffix(file, filepath.Ext(file))
				sameAsFile(t, name+".golden.yaml", string(made))
				sameAsFile(t, name+".notes", text.String())
				sameConfig(t, made, config)
			})
		}
	}
}

// sources returns the files of a folder that are not made of others.
func sources(t testing.TB, folder string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if !strings.HasSuffix(file, ".golden.yaml") && !strings.HasSuffix(file, ".notes") {
			files = append(files, file)
		}
	}
	return files
}

func contents(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sameAsFile(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := string(contents(t, file)); got != want {
		t.Errorf("%s is not what is made now (go test ./quota/migrate -update writes it anew):\n%s\nwant\n%s", file, got, want)
	}
}

// sameConfig reports what is written down and is not read as it was made.
func sameConfig(t *testing.T, data []byte, made quota.Config) {
	t.Helper()
	read, err := quota.ParseYAML(data)
	if err != nil {
		t.Fatalf("what was made is refused: %v\n%s", err, data)
	}
	if !maps.EqualFunc(read.Plans, made.Plans, samePlan) || !reflect.DeepEqual(read.Tenants, tenants(made)) {
		t.Errorf("read as\n%+v\nmade as\n%+v", read, made)
	}
}

func tenants(c quota.Config) map[string]quota.Tenant {
	if len(c.Tenants) == 0 {
		return nil
	}
	return c.Tenants
}

func samePlan(a, b quota.Plan) bool {
	if len(a.Limits) != len(b.Limits) {
		return false
	}
	for i := range a.Limits {
		l := b.Limits[i]
		if len(l.By) == 0 {
			l.By = nil // as it is read
		}
		if !reflect.DeepEqual(a.Limits[i], l) {
			return false
		}
	}
	return true
}
