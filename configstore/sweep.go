package configstore

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// orphanAge is when the parts of a change that never ended are nobody's any more.
	orphanAge = time.Hour
	// sweepEvery is how often they are looked for.
	sweepEvery = time.Hour
)

func (d *draft) sweepDue() bool {
	return d.manifest.Version > 0 && d.now.Sub(time.UnixMilli(d.manifest.Swept)) >= sweepEvery
}

// tidy deletes what nobody reads any more, after a change: parts that the version
// before had dropped, and once an hour those that no version has. Readers may still be
// at the version before. What cannot be deleted now is found by the next sweep.
func (s *Store) tidy(ctx context.Context, d *draft) {
	_ = s.deleteParts(ctx, d.manifest.Dropped)
	if d.sweepDue() {
		s.sweep(ctx, d.now)
	}
}

func (s *Store) deleteParts(ctx context.Context, names []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, name := range names {
		group.Go(func() error { return s.items.Transact(ctx, Transaction{Deletes: []Key{partKey(name)}}) })
	}
	return group.Wait()
}

// sweep deletes the old parts that are neither this version's nor the one's before.
func (s *Store) sweep(ctx context.Context, now time.Time) {
	m, err := s.manifest(ctx)
	if err != nil {
		return
	}
	used := named(m)
	for _, name := range m.Dropped {
		used[name] = true
	}
	for _, digit := range []byte(partDigits) {
		r := Range{PK: partPK(digit), To: stamp(now.Add(-orphanAge)), KeysOnly: true}
		for more := true; more; {
			var found []Item
			r.Limit = 1000
			if found, more, err = s.items.Query(ctx, r); err != nil {
				return
			}
			var orphans []string
			for _, i := range found {
				if r.After = i.SK; !used[i.SK] {
					orphans = append(orphans, i.SK)
				}
			}
			if s.deleteParts(ctx, orphans) != nil {
				return
			}
		}
	}
}
