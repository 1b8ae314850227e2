package receipt

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	secret = []byte("a secret for the tests, 32 bytes")
	noon   = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
)

// usual is the receipt of a call that two limits of one user and one of the tenant were charged for.
func usual() Receipt {
	return Receipt{Tenant: "acme", At: noon, Cost: 100, Items: []Item{
		{Key: "acme|subject|SAy71MWsxhML1U3tr97yeQ", Limits: []Limit{{"per-user.tb", noon.UnixNano()}, {"hourly.fw", 492345}}},
		{Key: "acme||", Limits: []Limit{{"daily.tb", noon.UnixNano()}}},
	}}
}

func seal(s *Sealer, r Receipt) string { return string(s.Append(nil, &r)) }

func opened(t testing.TB, s *Sealer, text string) Receipt {
	t.Helper()
	r, err := s.Open(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

// same compares all but the ids.
func same(a, b Receipt) bool {
	at := a.At.UnixMilli() == b.At.UnixMilli()
	a.At, b.At, a.ID, b.ID = time.Time{}, time.Time{}, "", ""
	return at && reflect.DeepEqual(a, b)
}

func TestWhatIsSealedIsOpened(t *testing.T) {
	s := New(secret)
	text := seal(s, usual())
	if r := opened(t, s, text); !same(r, usual()) {
		t.Errorf("got %+v", r)
	}
	if len(text) > 200 {
		t.Errorf("it has %d characters", len(text))
	}
}

func TestAnyReceiptIsOpenedAsItWasSealed(t *testing.T) {
	s := New(secret)
	limits := rapid.Custom(func(t *rapid.T) Limit {
		return Limit{rapid.String().Draw(t, "id"), rapid.Int64().Draw(t, "mark")}
	})
	items := rapid.Custom(func(t *rapid.T) Item {
		return Item{rapid.StringMatching(`(acme|umbrella)?\|.{0,40}`).Draw(t, "key"), rapid.SliceOfN(limits, 0, 5).Draw(t, "limits")}
	})
	rapid.Check(t, func(t *rapid.T) {
		r := Receipt{
			Tenant: rapid.StringMatching(`(acme|umbrella)?[a-z]{0,100}`).Draw(t, "tenant"),
			At:     time.UnixMilli(rapid.Int64().Draw(t, "at")),
			Cost:   rapid.Int64().Draw(t, "cost"),
			Items:  rapid.SliceOfN(items, 0, 5).Draw(t, "items"),
		}
		got, err := s.Open(seal(s, r))
		if err != nil || !same(got, r) {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}

// Calls of the same millisecond may have the same marks: they are settled each for itself.
func TestReceiptsOfLikeCallsDiffer(t *testing.T) {
	s := New(secret)
	first, second := seal(s, usual()), seal(s, usual())
	if first == second || opened(t, s, first).ID == opened(t, s, second).ID {
		t.Error("two receipts are one")
	}
	if a, b := opened(t, s, first).ID, opened(t, New(secret), first).ID; a != b {
		t.Errorf("one receipt has the ids %s and %s", a, b)
	}
}

func TestForgeriesAreRefused(t *testing.T) {
	s := New(secret)
	text := seal(s, usual())
	for name, forged := range map[string]string{
		"nothing":          "",
		"another secret":   seal(New([]byte("another secret")), usual()),
		"a key's mac":      "pk_aaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaa_aaaaaaaaaaaaaaaa",
		"padded":           text + "=",
		"a line end":       text[:10] + "\n" + text[10:],
		"a line end after": text + "\r\n",
		"a space":          text + " ",
		"twice":            text + text,
		"standard base64":  "+" + text[1:],
		"too long":         strings.Repeat("A", MaxLen+1),
		"a mac alone":      strings.Repeat("A", 22),
		"another version":  string(encoding.AppendEncode(nil, signed(s, appendReceipt([]byte{version + 1}, new(usual()), 7)))),
		"bytes left over":  string(encoding.AppendEncode(nil, signed(s, append(appendReceipt([]byte{version}, new(usual()), 7), 0)))),
	} {
		if _, err := s.Open(forged); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	for n := range len(text) {
		if _, err := s.Open(text[:n]); !errors.Is(err, ErrInvalid) {
			t.Errorf("cut to %d characters it is genuine", n)
		}
	}
}

// signed returns data with its true mac.
func signed(s *Sealer, data []byte) []byte {
	sc := s.scratches.Get().(*scratch)
	return append(data, sc.sign(data)...)
}

// Each character of a text matters, and each has one spelling.
func TestNoCharacterCanBeChanged(t *testing.T) {
	s := New(secret)
	text := []byte(seal(s, usual()))
	for i, was := range text {
		for _, c := range []byte("Aa0-_z+/= .\n") {
			text[i] = c
			if _, err := s.Open(string(text)); c != was && err == nil {
				t.Errorf("%q in the place of %q at %d is genuine", c, was, i)
			}
		}
		text[i] = was
	}
}

func TestReceiptThatIsTooLongIsLeftOut(t *testing.T) {
	s, r := New(secret), usual()
	for len(r.Items[0].Limits) < 2000 {
		r.Items[0].Limits = append(r.Items[0].Limits, Limit{"a-limit.tb", math.MaxInt64})
	}
	if got := s.Append([]byte("before"), &r); string(got) != "before" {
		t.Errorf("it has %d characters", len(got))
	}
	r.Items[0].Limits = r.Items[0].Limits[:500]
	opened(t, s, seal(s, r))
}

func TestEmptySecretPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it does not")
		}
	}()
	New(nil)
}

// Whatever was signed, reading it ends with a receipt or an error.
func FuzzParse(f *testing.F) {
	f.Add(appendReceipt(nil, new(usual()), 7))
	f.Add([]byte{})
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, ok := parse(data)
		if !ok {
			return
		}
		again, ok := parse(appendReceipt(nil, &r, 0))
		if !ok || !same(again, r) {
			t.Errorf("%x: read as %+v, and that as %+v", data, r, again)
		}
	})
}

// Who does not have the secret makes no receipt.
func FuzzOpen(f *testing.F) {
	s := New(secret)
	genuine := encoding.AppendEncode(nil, signed(s, appendReceipt([]byte{version}, new(usual()), 7)))
	f.Add(genuine)
	f.Add(bytes.ToUpper(genuine))
	f.Add(genuine[:len(genuine)-1])
	f.Add(New([]byte("another secret")).Append(nil, new(usual())))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := s.Open(string(text)); (err == nil) != bytes.Equal(text, genuine) {
			t.Errorf("%q: error is %v", text, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	s, r := New(secret), usual()
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = s.Append(text[:0], &r)
	}
	b.ReportMetric(float64(len(text)), "chars")
}

func BenchmarkOpen(b *testing.B) {
	s := New(secret)
	text := seal(s, usual())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Open(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenForged(b *testing.B) {
	s := New(secret)
	text := seal(New([]byte("another secret")), usual())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Open(text); err == nil {
			b.Fatal("it is genuine")
		}
	}
}
