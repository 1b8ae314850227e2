package configstore

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed43908478/penstock/quota"
)

const (
	// partTenants is how many tenants a part has at most, on average.
	partTenants = 1000
	// partSize is how many bytes a part has at most, compressed; there are more parts then.
	partSize = 250_000
	// maxParts keeps the manifest within an item: each takes some 40 bytes of it.
	maxParts = 4096
	// maxUnpacked is how large a part may be that is read. It is a bound on damage.
	maxUnpacked = 256 << 20

	// atOnce is how many parts are read or written at a time.
	atOnce = 16
)

// A part's name is when it was written, so that the old are known; chance, so that no
// two are mistaken for each other; and its digest:
//
//	19aa6e0f7b1 5c0e mZ2…22 characters
//
// The parts are spread over partitions by a digit of chance.
const (
	stampLen  = 11
	chanceLen = 4
	digestLen = 22
	nameLen   = stampLen + chanceLen + digestLen
)

func partKey(name string) Key { return Key{partPK(name[stampLen]), name} }

func partPK(digit byte) string { return "part/" + string(digit) }

const partDigits = "0123456789abcdef"

func stamp(t time.Time) string { return fmt.Sprintf("%011x", t.UnixMilli()) }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

func partName(now time.Time, data []byte) string {
	return fmt.Sprintf("%s%04x%s", stamp(now), rand.N(1<<16), digest(data)) //nolint:gosec // chance, not a secret
}

// Part returns what a part has, in the form of [quota.EncodePlans] or
// [quota.EncodeTenants]. The error wraps [quota.ErrNoPart] when there is none of that
// name (any more).
func (s *Store) Part(ctx context.Context, name string) ([]byte, error) {
	if len(name) != nameLen {
		return nil, fmt.Errorf("configstore: %.60q is not the name of a part", name)
	}
	item, ok, err := s.items.Get(ctx, partKey(name))
	if err != nil {
		return nil, fmt.Errorf("configstore: read part %s: %w", name, err)
	}
	if !ok {
		return nil, fmt.Errorf("configstore: part %s: %w", name, quota.ErrNoPart)
	}
	data, err := unpack(item.Data)
	if err != nil {
		return nil, fmt.Errorf("configstore: part %s is damaged: %w", name, err)
	}
	if got := digest(data); got != name[nameLen-digestLen:] {
		return nil, fmt.Errorf("configstore: part %s is damaged: its digest is %s", name, got)
	}
	return data, nil
}

func pack(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	// A buffer takes everything.
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxUnpacked))
}

// plans returns the plans of a part. They are shared.
func (s *Store) plans(ctx context.Context, name string) (map[string]quota.SavedPlan, error) {
	return decoded(ctx, s, name, quota.DecodePlans)
}

// tenants returns the tenants of a part. They are shared.
func (s *Store) tenants(ctx context.Context, name string) (map[string]quota.SavedTenant, error) {
	return decoded(ctx, s, name, quota.DecodeTenants)
}

func decoded[T any](ctx context.Context, s *Store, name string, decode func([]byte) (map[string]T, error)) (map[string]T, error) {
	if name == "" {
		return nil, nil
	}
	if known, ok := s.decoded.Get(name); ok {
		if m, ok := known.(map[string]T); ok {
			return m, nil
		}
	}
	data, err := s.Part(ctx, name)
	if err != nil {
		return nil, err
	}
	m, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("configstore: part %s: %w", name, err)
	}
	s.decoded.Add(name, m)
	return m, nil
}

// allTenants returns the tenants of all parts.
func (s *Store) allTenants(ctx context.Context, names []string) ([]map[string]quota.SavedTenant, error) {
	all := make([]map[string]quota.SavedTenant, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, name := range names {
		group.Go(func() (err error) {
			all[i], err = s.tenants(ctx, name)
			return err
		})
	}
	return all, group.Wait()
}

// A piece is a part that is to be written.
type piece struct {
	name   string
	packed []byte
}

// putParts writes parts. Nobody knows of them until a manifest names them.
func (s *Store) putParts(ctx context.Context, pieces []piece, progress func(done, total int)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var done atomic.Int64
	for _, p := range pieces {
		group.Go(func() error {
			if err := s.items.Transact(ctx, Transaction{Puts: []Item{{Key: partKey(p.name), Data: p.packed}}}); err != nil {
				return fmt.Errorf("configstore: write part %s: %w", p.name, err)
			}
			if progress != nil {
				progress(int(done.Add(1)), len(pieces))
			}
			return nil
		})
	}
	return group.Wait()
}
