package httpapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/receipt"
	"github.com/seed43908478/penstock/store"
)

const gone = "urn:penstock:receipt-too-late"

// sealed is the receipt of a check of acme's that cost 100.
func sealed(by *receipt.Sealer) string {
	return string(by.Append(nil, &receipt.Receipt{
		Tenant: "acme", At: noon, Cost: 100,
		Items: []receipt.Item{
			{Key: "acme|subject|SAy71MWsxhML1U3tr97yeQ", Limits: []receipt.Limit{{ID: "per-user.tb", Mark: 7}, {ID: "hourly.fw", Mark: -8}}},
			{Key: "acme||", Limits: []receipt.Limit{{ID: "daily.tb", Mark: 9}}},
		},
	}))
}

func settlement(receipt string, cost int64) string {
	return `{"receipt":"` + receipt + `","cost":` + strconv.FormatInt(cost, 10) + `}`
}

func TestBadSettlementsSettleNothing(t *testing.T) {
	good := sealed(receipts)
	for _, c := range []struct {
		name, body string
		members    []string
	}{
		{"empty", ``, nil},
		{"null", `null`, []string{""}},
		{"an array", `[]`, []string{""}},
		{"empty object", `{}`, []string{"cost", "receipt"}},
		{"cut short", `{"receipt":"` + good, nil},
		{"something follows", settlement(good, 3) + `{}`, nil},
		{"no cost", `{"receipt":"` + good + `"}`, []string{"cost"}},
		{"cost null", `{"receipt":"` + good + `","cost":null}`, []string{"cost"}},
		{"cost a string", `{"receipt":"` + good + `","cost":"3"}`, []string{"cost"}},
		{"cost negative", settlement(good, -1), []string{"cost"}},
		{"cost of 2³¹", settlement(good, 1<<31), []string{"cost"}},
		{"cost with a fraction", `{"receipt":"` + good + `","cost":0.5}`, []string{"cost"}},
		{"cost twice", `{"receipt":"` + good + `","cost":3,"cost":4}`, []string{"cost"}},
		{"no receipt", `{"cost":3}`, []string{"receipt"}},
		{"receipt null", `{"receipt":null,"cost":3}`, []string{"receipt"}},
		{"receipt a number", `{"receipt":1,"cost":3}`, []string{"receipt"}},
		{"receipt twice", `{"receipt":"` + good + `","receipt":"` + good + `","cost":3}`, []string{"receipt"}},
		{"receipt empty", settlement("", 3), []string{"receipt"}},
		{"receipt cut short", settlement(good[:len(good)-1], 3), []string{"receipt"}},
		{"receipt with something after", settlement(good+"A", 3), []string{"receipt"}},
		{"receipt with a line end", settlement(good[:9]+`\n`+good[9:], 3), []string{"receipt"}},
		{"receipt of another secret", settlement(sealed(receipt.New([]byte("another"))), 3), []string{"receipt"}},
		{"receipt changed", settlement(strings.ToLower(good), 3), []string{"receipt"}},
		{"receipt of 60 KB", settlement(strings.Repeat("A", 60<<10), 3), []string{"receipt"}},
		{"a key", settlement("pk_aaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaa_aaaaaaaaaaaaaaaa", 3), []string{"receipt"}},
		{"forged, and no cost", `{"receipt":"AAAA"}`, []string{"cost", "receipt"}},
		{"unknown member", `{"receipt":"` + good + `","cost":3,"tenant":"acme"}`, []string{"tenant"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDoor(t)
			a := d.post("/v1/settle", c.body)
			a.has(400, invalid)
			if got := faulty(a.members); !slices.Equal(got, c.members) {
				t.Errorf("named %q, want %q: %s", got, c.members, a.body)
			}
			if len(d.settlements)+len(d.lookups) > 0 {
				t.Error("it was settled")
			}
		})
	}
}

func TestWithoutASecretNoReceiptIsTaken(t *testing.T) {
	d := newDoor(t, func(o *Options) { o.Receipts = nil })
	d.post("/v1/settle", settlement(sealed(receipts), 3)).has(400, invalid)
	d.post("/v1/settle", settlement("", 3)).has(400, invalid)
	if len(d.settlements) > 0 {
		t.Error("it was settled")
	}
}

func TestSettlementIsPassedOn(t *testing.T) {
	d := newDoor(t)
	d.rules = []*quota.Rule{perUser(t)}
	text := sealed(receipts)
	for _, cost := range []int64{0, 3, 100, 1<<31 - 1} {
		d.post("/v1/settle", settlement(text, cost)).has(200, "")
	}
	got := d.settlements[1]
	if got.ID == "" || got.ID != d.settlements[0].ID {
		t.Errorf("one receipt is settled as %q and %q", got.ID, d.settlements[0].ID)
	}
	got.ID = ""
	want := engine.Settlement{
		At: noon.Local(), Charged: 100, Cost: 3,
		Charges: []engine.Charge{
			{Key: "acme|subject|SAy71MWsxhML1U3tr97yeQ", Limits: []engine.ChargedLimit{{ID: "per-user.tb", Mark: 7}, {ID: "hourly.fw", Mark: -8}}},
			{Key: "acme||", Limits: []engine.ChargedLimit{{ID: "daily.tb", Mark: 9}}},
		},
		Items: []quota.Item{{Key: "acme|subject|SAy71MWsxhML1U3tr97yeQ", Rules: d.rules}, {Key: "acme||", Rules: d.rules}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if want := []string{"acme acme|subject|SAy71MWsxhML1U3tr97yeQ", "acme acme||"}; !slices.Equal(d.lookups[:2], want) {
		t.Errorf("looked up %q, want %q", d.lookups[:2], want)
	}
}

func TestAnswersToSettlements(t *testing.T) {
	for want, settled := range map[string]engine.Settled{
		`{"tenant":"acme","cost":3,"charged":100,"repeat":false,"outcome":"known"}`:   {Cost: 3},
		`{"tenant":"acme","cost":7,"charged":100,"repeat":true,"outcome":"known"}`:    {Cost: 7, Repeat: true},
		`{"tenant":"acme","cost":3,"charged":100,"repeat":false,"outcome":"unknown"}`: {Cost: 3, Unknown: true},
	} {
		d := newDoor(t)
		d.settled = settled
		a := d.post("/v1/settle", settlement(sealed(receipts), 3))
		a.has(200, "")
		if a.body != want+"\n" {
			t.Errorf("got  %swant %s", a.body, want)
		}
	}
}

func TestWhatCannotBeSettledSaysSo(t *testing.T) {
	away := &store.Error{Reason: store.Unavailable, Err: errors.New("connection refused")}
	for _, c := range []struct {
		name      string
		err, plan error
		status    int
		typ       string
		retry     string
	}{
		{"too late", engine.ErrTooLate, nil, 410, gone, ""},
		{"store away", away, nil, 503, notAvailable, "1"},
		{"tenant is gone", nil, quota.ErrUnknownTenant, 404, unknownTenant.uri, ""},
		{"plans away", nil, errors.New("the plans were not loaded yet"), 503, notAvailable, "1"},
		{"caller is gone", context.Canceled, nil, 503, notAvailable, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDoor(t)
			d.unsettled, d.lookupFails = c.err, c.plan
			a := d.post("/v1/settle", settlement(sealed(receipts), 3))
			a.has(c.status, c.typ)
			if got := a.Header.Get("Retry-After"); got != c.retry {
				t.Errorf("Retry-After is %q, want %q", got, c.retry)
			}
		})
	}
}

func TestWhoMaySettle(t *testing.T) {
	keys := newKeyring()
	for _, c := range []struct {
		name, key string
		status    int
		typ       string
	}{
		{"no key", "", 401, notKnown},
		{"the tenant's", keys.mint("acme", apikey.CheckOwn), 200, ""},
		{"another tenant's", keys.mint("globex", apikey.CheckOwn), 403, notAllowed},
		{"a service's", keys.mint("", apikey.CheckAny), 200, ""},
		{"revoked", keys.revoked(), 401, notKnown},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDoor(t, func(o *Options) { o.Auth, o.Verifier = AuthKeys, keys.verifier })
			var header []string
			if c.key != "" {
				header = []string{"Authorization: Bearer " + c.key}
			}
			d.post("/v1/settle", settlement(sealed(receipts), 3), header...).has(c.status, c.typ)
			if settled := len(d.settlements) > 0; settled != (c.status == 200) {
				t.Errorf("settled: %v", settled)
			}
		})
	}
}

func TestSettlementsArePosted(t *testing.T) {
	d := newDoor(t)
	for _, path := range []string{"/v1/settle", "/v1/leases"} {
		r := post(path, "")
		r.Method = "GET"
		a := d.send(r)
		a.has(405, methodNotAllowed.uri)
		if got := a.Header.Get("Allow"); got != "POST" {
			t.Errorf("%s: Allow is %q", path, got)
		}
		d.post(path, padded(64<<10+1)).has(413, tooLong)
	}
}

// No text but a receipt that was made with the secret settles anything.
func FuzzSettle(f *testing.F) {
	genuine := sealed(receipts)
	f.Add(settlement(genuine, 3))
	f.Add(settlement(genuine[:40], 3))
	f.Add(settlement(sealed(receipt.New([]byte("another"))), 3))
	f.Add(`{"receipt":"` + genuine + `","cost":1e2}`)
	f.Fuzz(func(t *testing.T, body string) {
		d := newDoor(t)
		a := d.post("/v1/settle", body)
		for _, s := range d.settlements {
			if s.ID == "" || s.Charged != 100 || s.Cost < 0 || s.Cost > maxCost || s.Charges[1].Key != "acme||" {
				t.Errorf("%s: settled %+v", body, s)
			}
		}
		ok := a.StatusCode == http.StatusOK
		if !ok && a.StatusCode != http.StatusBadRequest && a.StatusCode != http.StatusRequestEntityTooLarge || ok != (len(d.settlements) == 1) {
			t.Errorf("%s: status %d, %d settlements", body, a.StatusCode, len(d.settlements))
		}
		if strings.Contains(d.log.String(), `"level":"ERROR"`) {
			t.Errorf("%s: panicked: %s", body, d.log)
		}
	})
}
