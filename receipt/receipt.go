package receipt

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"math/rand/v2"
	"sync"
	"time"
)

// A Receipt says what a call was charged.
type Receipt struct {
	// ID is different for each receipt. [Sealer.Open] sets it.
	ID     string
	Tenant string
	// At is when it was charged, in whole milliseconds.
	At   time.Time
	Cost int64 // permits, charged to each limit
	// Items are where it was charged.
	Items []Item
}

// An Item is an item of the store, and the limits in it that were charged.
type Item struct {
	Key    string
	Limits []Limit
}

// A Limit is a limit that was charged.
type Limit struct {
	ID   string // name and algorithm: "per-user.tb"
	Mark int64  // tells the charge from others
}

// MaxLen is how long a receipt's text is at most: about 500 limits.
const MaxLen = 32 << 10

// ErrInvalid says that a text is not a receipt made with this secret, or not by this version.
var ErrInvalid = errors.New("not a genuine receipt")

const (
	// version is the form of the receipts that are made. It rises when the form changes.
	version = 1
	// macPurpose keeps the receipts' macs apart from whatever else the operator's secret signs.
	macPurpose = "penstock receipt mac v1"
	nonceLen   = 8  // calls of the same millisecond are charged alike
	macLen     = 16 // 128 bits
)

// Strict: else a text could be changed without changing what it says.
var encoding = base64.RawURLEncoding.Strict()

// A Sealer makes receipts and reads them. It is safe for concurrent use.
type Sealer struct{ scratches sync.Pool }

// A scratch is the memory that a receipt is made in.
type scratch struct {
	mac  hash.Hash
	data []byte
	sum  [sha256.Size]byte
}

// New returns the sealer of a secret, the operator's PENSTOCK_SECRET: every instance needs
// the same. It panics when it is empty.
func New(secret []byte) *Sealer {
	if len(secret) == 0 {
		panic("receipt: the secret is empty: anybody could make receipts")
	}
	derive := hmac.New(sha256.New, secret)
	derive.Write([]byte(macPurpose))
	key := derive.Sum(nil)
	return &Sealer{sync.Pool{New: func() any { return &scratch{mac: hmac.New(sha256.New, key)} }}}
}

// Append appends the text of a receipt: letters, digits, - and _ only. One that would be
// longer than [MaxLen] is left out.
func (s *Sealer) Append(dst []byte, r *Receipt) []byte {
	sc := s.scratches.Get().(*scratch)
	defer s.scratches.Put(sc)
	sc.data = appendReceipt(append(sc.data[:0], version), r, rand.Uint64())
	sc.data = append(sc.data, sc.sign(sc.data)...)
	if encoding.EncodedLen(len(sc.data)) > MaxLen {
		return dst
	}
	return encoding.AppendEncode(dst, sc.data)
}

// Open reads a receipt. The error is [ErrInvalid], whatever is wrong with it.
func (s *Sealer) Open(text string) (Receipt, error) {
	if len(text) > MaxLen {
		return Receipt{}, ErrInvalid
	}
	data, err := encoding.DecodeString(text)
	signed := len(data) - macLen
	// The decoder passes over line ends; a text that has some is not one that was made.
	if err != nil || signed < 1 || encoding.EncodedLen(len(data)) != len(text) {
		return Receipt{}, ErrInvalid
	}
	if !s.verify(data[:signed], data[signed:]) || data[0] != version {
		return Receipt{}, ErrInvalid
	}
	r, ok := parse(data[1:signed])
	if !ok {
		return Receipt{}, ErrInvalid
	}
	r.ID = encoding.EncodeToString(data[signed:])
	return r, nil
}

func (s *Sealer) verify(data, mac []byte) bool {
	sc := s.scratches.Get().(*scratch)
	defer s.scratches.Put(sc)
	return hmac.Equal(sc.sign(data), mac)
}

// sign returns the mac of what is to be signed. It is valid until the next one.
func (sc *scratch) sign(data []byte) []byte {
	sc.mac.Reset()
	sc.mac.Write(data)
	return sc.mac.Sum(sc.sum[:0])[:macLen]
}
