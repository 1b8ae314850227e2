package quota_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/quota"
	"pgregory.net/rapid"
)

func TestDecodeReadsWhatWasEncoded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyConfig.Draw(t, "config")
		data, err := quota.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := quota.Decode(data)
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		again, err := quota.Encode(got)
		if err != nil || !bytes.Equal(data, again) {
			t.Fatalf("encoded again it is\n%s, %v, want\n%s", again, err, data)
		}
		if len(want.Tenants) == 0 {
			want.Tenants = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("read %+v, want %+v", got, want)
		}
	})
}

// The form is stored: it changes only together with its number.
func TestEncodedForm(t *testing.T) {
	t.Parallel()
	data, err := quota.Encode(quota.Config{
		Plans: map[string]quota.Plan{"free": {Limits: []quota.Limit{
			{Name: "a", By: []string{"subject"}, Algorithm: "token_bucket", Quota: 10, Period: "day", Match: quota.Match{Resource: "GET /*"}},
		}}},
		Tenants:     map[string]quota.Tenant{"acme": {Plan: "free"}},
		DefaultPlan: "free",
	})
	const want = `{"format":1,"config":{"plans":{"free":{"limits":[{"name":"a","match":{"resource":"GET /*"},"by":["subject"],` +
		`"algorithm":"token_bucket","quota":10,"period":"day"}]}},"tenants":{"acme":{"plan":"free"}},"default_plan":"free"}}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v, want\n%s", data, err, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, want string }{
		{"a newer format", `{"format":2,"config":{"plans":{"p":{"pools":[]}}}}`, "saved in format 2, and this version reads format 1: install the version that saved it"},
		{"no format", `{"plans":{}}`, "saved in format 0"},
		{"a member of a newer version", `{"format":1,"config":{"default_plan":"a","overdraft":true}}`, `unknown field "overdraft"`},
		{"no configuration", `{"format":1}`, "there is none in it"},
		{"nothing", ``, "unexpected end"},
		{"half of one", `{"format":1,"config":{`, "unexpected end"},
		{"two", `{"format":1,"config":{}} {}`, "after top-level value"},
	} {
		_, err := quota.Decode([]byte(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
