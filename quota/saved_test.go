package quota_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/quota"
	"pgregory.net/rapid"
)

// A part is read as it was written, and written again it is the same bytes.
func TestDecodeReadsWhatWasEncoded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig.Draw(t, "config")
		plans, tenants := map[string]quota.SavedPlan{}, map[string]quota.SavedTenant{}
		revision := rapid.Int64Range(1, 1<<53)
		for name, p := range c.Plans {
			plans[name] = quota.SavedPlan{Plan: p, Revision: revision.Draw(t, "revision")}
		}
		for name, tenant := range c.Tenants {
			tenants[name] = quota.SavedTenant{Tenant: tenant, Revision: revision.Draw(t, "revision"), Generation: rapid.Int64Range(0, 9).Draw(t, "generation")}
		}
		readsBack(t, plans, quota.EncodePlans, quota.DecodePlans)
		readsBack(t, tenants, quota.EncodeTenants, quota.DecodeTenants)
		m := quota.Manifest{Version: 1, DefaultPlan: c.DefaultPlan, Plans: "p", Tenants: []string{"a", "b"}, Count: len(c.Tenants), Dropped: []string{"c"}, Swept: 7}
		readsBack(t, m, quota.Manifest.Encode, quota.DecodeManifest)
	})
}

func readsBack[T any](t *rapid.T, want T, encode func(T) ([]byte, error), decode func([]byte) (T, error)) {
	data, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(data)
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if again, err := encode(got); err != nil || !bytes.Equal(data, again) {
		t.Fatalf("encoded again it is\n%s, %v, want\n%s", again, err, data)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("read %+v, want %+v", got, want)
	}
}

// The form is stored: it changes only together with its number.
func TestEncodedForm(t *testing.T) {
	t.Parallel()
	limits := []quota.Limit{{Name: "a", By: []string{"subject"}, Algorithm: "token_bucket", Quota: 10, Period: "day", Match: quota.Match{Resource: "GET /*"}}}
	const form = `{"limits":[{"name":"a","match":{"resource":"GET /*"},"by":["subject"],"algorithm":"token_bucket","quota":10,"period":"day"}],"revision":5}`
	is := func(data []byte, err error) func(string) {
		return func(want string) {
			t.Helper()
			if err != nil || string(data) != want {
				t.Errorf("%s, %v, want\n%s", data, err, want)
			}
		}
	}
	is(quota.EncodePlans(map[string]quota.SavedPlan{"free": {Plan: quota.Plan{Limits: limits}, Revision: 5}}))(
		`{"format":2,"saved":{"free":` + form + `}}`)
	is(quota.EncodeTenants(map[string]quota.SavedTenant{"acme": {Tenant: quota.Tenant{Plan: "free"}, Revision: 5, Generation: 3}}))(
		`{"format":2,"saved":{"acme":{"plan":"free","revision":5,"generation":3}}}`)
	is(quota.Manifest{Version: 5, DefaultPlan: "free", Plans: "p", Tenants: []string{"t"}, Count: 1, Dropped: []string{"d"}, Swept: 7}.Encode())(
		`{"format":2,"saved":{"version":5,"default_plan":"free","plans":"p","tenants":["t"],"count":1,"dropped":["d"],"swept":7}}`)
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, want string }{
		{"a newer format", `{"format":3,"saved":{"acme":{"pools":[]}}}`, "saved in format 3, and this version reads format 2: install the version that saved it"},
		{"a newer format of the same members", `{"format":3,"saved":{}}`, "saved in format 3"},
		{"an older format", `{"format":1,"config":{"plans":{}}}`, "saved in format 1"},
		{"no format", `{"saved":{}}`, "saved in format 0"},
		{"a member of a newer version", `{"format":2,"saved":{"acme":{"plan":"a","overdraft":true}}}`, `unknown field "overdraft"`},
		{"no configuration", `{"format":2}`, "there is none in it"},
		{"nothing", ``, "EOF"},
		{"half of one", `{"format":2,"saved":{`, "unexpected EOF"},
		{"two", `{"format":2,"saved":{}} {}`, "something follows it"},
	} {
		if _, err := quota.DecodeTenants([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := quota.DecodeManifest([]byte(`{"format":2,"saved":{"version":1,"tenants":["a","b","c"]}}`)); err == nil {
		t.Error("tenants in three parts")
	}
}

// Which part has a tenant is stored: it never changes.
func TestPartOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tenant      string
		parts, want int
	}{{"acme", 0, 0}, {"acme", 1, 0}, {"acme", 2, 1}, {"acme", 1024, 941}, {"globex", 1024, 141}} {
		if got := quota.PartOf(c.tenant, c.parts); got != c.want {
			t.Errorf("%s is in part %d of %d, want %d", c.tenant, got, c.parts, c.want)
		}
	}
	in := make([]int, 64)
	for i := range 64_000 {
		name := fmt.Sprintf("tenant-%d", i)
		part := quota.PartOf(name, 64)
		in[part]++
		if half := quota.PartOf(name, 32); half != part&31 {
			t.Fatalf("%s is in part %d of 64, and in %d of 32", name, part, half)
		}
	}
	for part, n := range in {
		if n < 850 || n > 1150 {
			t.Errorf("part %d has %d tenants, want about 1,000", part, n)
		}
	}
}
