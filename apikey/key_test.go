package apikey

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

var (
	operatorSecret = []byte("the operator's secret, 32 bytes!")
	start          = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
)

func TestMintedKeyHasFourParts(t *testing.T) {
	key, r := Mint(operatorSecret, Options{Scopes: []Scope{CheckOwn}, Tenant: "acme", ExpiresAt: start.Add(time.Hour), Now: start})
	got := strings.Split(key, "_")
	if len(got) != 4 || got[0] != "pk" || len(got[1]) != 12 || len(got[2]) != 26 || len(got[3]) != 16 {
		t.Fatalf("key %q is not pk_<12>_<26>_<16>", key)
	}
	if r.ID != got[1] || r.Tenant != "acme" || !r.Has(CheckOwn) || r.Has(CheckAny) || r.CreatedAt != start || r.ExpiresAt != start.Add(time.Hour) {
		t.Errorf("record %+v is not what was asked for", r)
	}
	if !bytes.Equal(r.Hash, hashSecret(got[2])) {
		t.Error("the record's hash is not that of the secret part")
	}
	if strings.Trim(key, "abcdefghijklmnopqrstuvwxyz234567_") != "" {
		t.Errorf("key %q has characters that need care", key)
	}
}

func TestMintedKeysDiffer(t *testing.T) {
	a, _ := Mint(operatorSecret, Options{Now: start})
	b, _ := Mint(operatorSecret, Options{Now: start})
	if a == b {
		t.Error("the same key twice")
	}
}

func TestMintCopiesTheScopes(t *testing.T) {
	scopes := []Scope{CheckOwn}
	_, r := Mint(operatorSecret, Options{Scopes: scopes, Now: start})
	scopes[0] = Admin
	if r.Has(Admin) {
		t.Error("the record changed with the caller's slice")
	}
}

func TestEmptySecretIsRefusedAtStart(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an empty secret made a key")
		}
	}()
	Mint(nil, Options{Now: start})
}

// malformedKeys returns what is not a key, by what is wrong with it.
func malformedKeys(key string) map[string]string {
	return map[string]string{
		"empty":              "",
		"prefix only":        "pk_",
		"another prefix":     "sk" + key[2:],
		"upper case":         strings.ToUpper(key),
		"too short":          key[:len(key)-1],
		"too long":           key + "a",
		"space before":       " " + key[:len(key)-1],
		"newline":            key[:len(key)-1] + "\n",
		"no mac":             key[:macAt],
		"a digit not used":   key[:5] + "1" + key[6:],
		"8 in the secret":    key[:secretAt] + "8" + key[secretAt+1:],
		"9 in the mac":       key[:macAt] + "9" + key[macAt+1:],
		"letters not ASCII":  key[:5] + "é" + key[7:],
		"joints moved":       key[:secretAt-2] + "_" + key[secretAt-2:secretAt-1] + key[secretAt:],
		"no first joint":     key[:secretAt-1] + "a" + key[secretAt:],
		"no second joint":    key[:macAt-1] + "a" + key[macAt:],
		"all the same":       strings.Repeat("a", keyLen),
		"an underscore more": key[:5] + "_" + key[6:],
	}
}

// forgedKeys returns what looks like a key, by what was changed.
func forgedKeys(key string) map[string]string {
	change := func(i int) string { // another letter of the alphabet
		c := byte('a')
		if key[i] == c {
			c = 'b'
		}
		return key[:i] + string(c) + key[i+1:]
	}
	return map[string]string{
		"another id":        change(len(prefix)),
		"another secret":    change(secretAt),
		"another mac":       change(macAt),
		"mac's last letter": change(keyLen - 1),
	}
}

func TestOnlyKeysAreSplit(t *testing.T) {
	key, _ := Mint(operatorSecret, Options{Now: start})
	for name, malformed := range malformedKeys(key) {
		if p, ok := split(malformed); ok {
			t.Errorf("%s: %q was split into %+v", name, malformed, p)
		}
	}
	for name, forged := range forgedKeys(key) {
		if _, ok := split(forged); !ok {
			t.Errorf("%s: %q has the syntax of a key", name, forged)
		}
	}
}

func FuzzSplit(f *testing.F) {
	key, _ := Mint(operatorSecret, Options{Now: start})
	f.Add(key)
	for _, malformed := range malformedKeys(key) {
		f.Add(malformed)
	}
	for _, forged := range forgedKeys(key) {
		f.Add(forged)
	}
	f.Fuzz(func(t *testing.T, key string) {
		p, ok := split(key)
		if !ok {
			return
		}
		if again := prefix + p.id + "_" + p.secret + "_" + p.mac; again != key || p.signed+"_"+p.mac != key {
			t.Errorf("%q was split into %+v", key, p)
		}
		if strings.Contains(p.id+p.secret+p.mac, "_") {
			t.Errorf("%q has an underscore inside a part: %+v", key, p)
		}
	})
}
