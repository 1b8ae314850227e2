package apikey

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

// Why a key does not verify. They are for logs and metrics: whoever presented the
// key should not learn which one it was.
var (
	// ErrMalformed: not a key, or not one that was made with this secret.
	ErrMalformed = errors.New("api key: malformed")
	// ErrUnknown: there is no such key, or its secret part is another.
	ErrUnknown = errors.New("api key: unknown")
	// ErrExpired: the key's time is over.
	ErrExpired = errors.New("api key: expired")
	// ErrRevoked: the key was withdrawn.
	ErrRevoked = errors.New("api key: revoked")
	// ErrUnavailable: the source could not be asked, so nothing is known of the key.
	ErrUnavailable = errors.New("api key: source unavailable")
)

// A Source has the records of keys.
type Source interface {
	// Key returns the record of a key by its id; ok is false when there is none. An
	// error means that it could not be found out. The record is shared and not changed.
	Key(ctx context.Context, id string) (r Record, ok bool, err error)
}

// Static is a source that has its records from the start, by id. It must not be
// changed while it is in use.
type Static map[string]Record

// Key returns the record of a key.
func (s Static) Key(_ context.Context, id string) (Record, bool, error) {
	r, ok := s[id]
	return r, ok, nil
}

// VerifierOptions tunes a [Verifier]; zero values mean the defaults.
type VerifierOptions struct {
	// Fresh is how long a record is used without asking again, and so how long a
	// revocation can take to reach this instance. Default 1 minute.
	Fresh time.Duration
	// FreshUnknown is the same for a key that isn't there, and how long a source that
	// failed is left alone about a key it once knew. Default 5 seconds.
	FreshUnknown time.Duration
	// Stale is how old a record may be that is used while the source is down. Default 10 minutes.
	Stale time.Duration
	// Timeout bounds one question to the source. Default 1 second.
	Timeout time.Duration
	// Size is how many records are remembered. Default 4096.
	Size int
	// Now is the wall clock. Default time.Now.
	Now func() time.Time
}

func (o VerifierOptions) withDefaults() VerifierOptions {
	o.Fresh = cmp.Or(o.Fresh, time.Minute)
	o.FreshUnknown = cmp.Or(o.FreshUnknown, 5*time.Second)
	o.Stale = cmp.Or(o.Stale, 10*time.Minute)
	o.Timeout = cmp.Or(o.Timeout, time.Second)
	o.Size = cmp.Or(o.Size, 4096)
	now := o.Now
	if now == nil {
		now = time.Now //nolint:forbidigo // the clock that is handed to everything here
	}
	// The monotonic clock may stand still while an instance is frozen; keys grow old all the same.
	o.Now = func() time.Time { return now().Round(0) }
	return o
}

// A Verifier tells genuine keys from others. It is safe for concurrent use.
type Verifier struct {
	signer  *signer
	source  Source
	options VerifierOptions
	known   *lru.Cache[string, remembered]
	flight  singleflight.Group
}

// remembered is what the source said of one id.
type remembered struct {
	record  Record
	found   bool
	asked   time.Time // when the source answered
	freshTo time.Time // not asked again before
}

// NewVerifier returns a verifier of the keys minted with a secret, whose records
// source has. It panics when the secret is empty.
func NewVerifier(secret []byte, source Source, o VerifierOptions) *Verifier {
	o = o.withDefaults()
	known, err := lru.New[string, remembered](o.Size)
	if err != nil { // a negative size
		panic(fmt.Sprintf("apikey: VerifierOptions.Size: %v", err))
	}
	return &Verifier{signer: newSigner(secret), source: source, options: o, known: known}
}

// Verify returns the record of a key that is genuine and in force. The error is
// [ErrMalformed], [ErrUnknown], [ErrExpired] or [ErrRevoked], the key's fault, or it
// wraps [ErrUnavailable]. The source is asked only about keys whose mac is right.
// The record is shared: its slices must not be changed.
func (v *Verifier) Verify(ctx context.Context, presented string) (Record, error) {
	p, ok := split(presented)
	if !ok {
		return Record{}, ErrMalformed
	}
	var mac [macLen]byte
	if subtle.ConstantTimeCompare(v.signer.sign(mac[:0], p.signed), []byte(p.mac)) != 1 {
		return Record{}, ErrMalformed
	}
	r, err := v.record(ctx, p.id)
	if err != nil {
		return Record{}, err
	}
	if subtle.ConstantTimeCompare(hashSecret(p.secret), r.Hash) != 1 {
		return Record{}, ErrUnknown
	}
	if err := r.usable(v.options.Now()); err != nil {
		return Record{}, err
	}
	return r, nil
}

// Forget drops what is remembered of a key, so that a change of its record, made
// through this process, counts at once.
func (v *Verifier) Forget(id string) { v.known.Remove(id) }

// record returns what is known of an id, from memory or the source.
func (v *Verifier) record(ctx context.Context, id string) (Record, error) {
	k, ok := v.known.Get(id)
	if !ok || !v.options.Now().Before(k.freshTo) {
		// One question at a time for a key. It is asked for all who wait, so it does not end with one of them.
		answer, err, _ := v.flight.Do(id, func() (any, error) { return v.ask(context.WithoutCancel(ctx), id) })
		if err != nil {
			return Record{}, err
		}
		k = answer.(remembered)
	}
	if !k.found {
		return Record{}, ErrUnknown
	}
	return k.record, nil
}

// ask asks the source. When it fails, a record that is not too old stands in.
func (v *Verifier) ask(ctx context.Context, id string) (remembered, error) {
	ctx, cancel := context.WithTimeout(ctx, v.options.Timeout)
	defer cancel()
	r, found, err := v.source.Key(ctx, id)
	now := v.options.Now()
	if err != nil {
		return v.standIn(id, now, err)
	}
	k := remembered{record: r, found: found, asked: now, freshTo: now.Add(v.options.Fresh)}
	if !found {
		k.freshTo = now.Add(v.options.FreshUnknown)
	}
	v.known.Add(id, k)
	return k, nil
}

func (v *Verifier) standIn(id string, now time.Time, cause error) (remembered, error) {
	k, ok := v.known.Peek(id)
	if !ok || !k.found || now.Sub(k.asked) > v.options.Stale {
		return remembered{}, fmt.Errorf("%w: %w", ErrUnavailable, cause)
	}
	k.freshTo = now.Add(v.options.FreshUnknown)
	v.known.Add(id, k)
	return k, nil
}
