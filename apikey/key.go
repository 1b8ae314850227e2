package apikey

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"hash"
	"slices"
	"strings"
	"sync"
	"time"
)

// A key is "pk_<id>_<secret>_<mac>", each part in lower-case base32: no letter
// that needs quoting anywhere, and no underscore but between the parts.
const (
	prefix    = "pk_"
	idLen     = 12 // 60 bits: no two keys of one operator meet
	secretLen = 26 // 130 bits
	macLen    = 16 // 80 bits

	secretAt = len(prefix) + idLen + 1
	macAt    = secretAt + secretLen + 1
	keyLen   = macAt + macLen
)

// macPurpose keeps the keys' macs apart from whatever else the operator's secret signs.
const macPurpose = "penstock api key mac v1"

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Options says what a new key is for.
type Options struct {
	// Name is what people call it.
	Name   string
	Scopes []Scope
	// Tenant is whose key it is; required by the scope [CheckOwn].
	Tenant string
	// ExpiresAt is when the key ceases to work; zero is never.
	ExpiresAt time.Time
	// Now is when the key is made.
	Now time.Time
}

// Mint makes a new key. The key is shown to its owner once; the record is what to
// store. secret is the operator's, PENSTOCK_SECRET: every instance needs the same.
// It should be 32 random bytes or more; Mint panics when it is empty.
func Mint(secret []byte, o Options) (key string, r Record) {
	random := func(n int) string { return strings.ToLower(rand.Text()[:n]) }
	r = Record{
		ID:        random(idLen),
		Name:      o.Name,
		Scopes:    slices.Clone(o.Scopes),
		Tenant:    o.Tenant,
		CreatedAt: o.Now,
		ExpiresAt: o.ExpiresAt,
	}
	part := random(secretLen)
	r.Hash = hashSecret(part)
	signed := prefix + r.ID + "_" + part
	return signed + "_" + string(newSigner(secret).sign(nil, signed)), r
}

// parts are of a key whose syntax is right. Nothing is known to be genuine yet.
type parts struct {
	id, secret, mac string
	signed          string // what the mac is over: all before it
}

// split takes a key apart; ok is false when it isn't one.
func split(key string) (p parts, ok bool) {
	if len(key) != keyLen || !strings.HasPrefix(key, prefix) || key[secretAt-1] != '_' || key[macAt-1] != '_' {
		return parts{}, false
	}
	p = parts{
		id:     key[len(prefix) : secretAt-1],
		secret: key[secretAt : macAt-1],
		mac:    key[macAt:],
		signed: key[:macAt-1],
	}
	return p, isBase32(p.id) && isBase32(p.secret) && isBase32(p.mac)
}

func isBase32(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

func hashSecret(secretPart string) []byte {
	sum := sha256.Sum256([]byte(secretPart))
	return sum[:]
}

// A signer makes the macs of keys. It is safe for concurrent use.
type signer struct{ macs sync.Pool }

func newSigner(secret []byte) *signer {
	if len(secret) == 0 {
		panic("apikey: the secret is empty: anybody could make keys")
	}
	derive := hmac.New(sha256.New, secret)
	derive.Write([]byte(macPurpose))
	key := derive.Sum(nil)
	return &signer{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// sign appends the mac of a text.
func (s *signer) sign(dst []byte, text string) []byte {
	mac := s.macs.Get().(hash.Hash)
	defer s.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(text))
	sum := mac.Sum(make([]byte, 0, sha256.Size))
	return base32Lower.AppendEncode(dst, sum[:base32Lower.DecodedLen(macLen)])
}
