package migrate

import (
	"strings"
	"testing"

	"github.com/seed43908478/penstock/quota"
)

func TestNamesAreReadableAndTakenOnce(t *testing.T) {
	ns := names{}
	long := strings.Repeat("long-", 20)
	for _, test := range []struct {
		words []string
		want  string
	}{
		{[]string{"remote_address"}, "remote-address"},
		{[]string{"remote_address", "10.0.0.*"}, "remote-address-10-0-0"},
		{[]string{"Remote Address"}, "remote-address-2"},
		{[]string{"remote_address", "2"}, "remote-address-2-2"},
		{[]string{"金"}, "limit"},
		{[]string{"*"}, "limit-2"},
		{[]string{long}, "long-long-long-long-long-long-long-long-long-long-long-9061dce1"},
		{[]string{long}, "long-long-long-long-long-long-long-long-long-long-long-9061dc-2"},
	} {
		got := ns.take("limit", test.words...)
		if got != test.want {
			t.Errorf("%q is called %s, want %s", test.words, got, test.want)
		}
		if len(got) > maxName {
			t.Errorf("%s has %d characters", got, len(got))
		}
	}
}

func TestTenantsKeepTheirNamesWhereTheyCan(t *testing.T) {
	for domain, want := range map[string]string{
		"edge_proxy":             "edge_proxy",
		"Sms.Outbound:2":         "Sms.Outbound:2",
		"api/v2":                 "api-v2",
		"金":                      "tenant",
		strings.Repeat("d", 200): strings.Repeat("d", 128),
	} {
		if got := tenantName(domain); got != want || !quota.ValidTenant(got) {
			t.Errorf("%q is the tenant %q, want %q", domain, got, want)
		}
	}
}

func TestKeysKeepTheirNamesAsAttributes(t *testing.T) {
	a := newAttributes()
	a.reserve(":path")
	a.reserve("-path")
	for _, test := range []struct{ key, want string }{
		{":path", "-path-2"}, {"-path", "-path"}, {"x-user.id_2", "x-user.id_2"}, {"/", "attribute"}, {"/path", "-path-3"}, {":path", "-path-2"},
	} {
		if got := a.name(test.key); got != test.want {
			t.Errorf("%q is the attribute %q, want %q", test.key, got, test.want)
		}
	}
}
