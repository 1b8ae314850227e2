package configstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/seed43908478/penstock/quota"
)

// ErrNotFound says that what was to be changed is not there.
var ErrNotFound = errors.New("configstore: not found")

// A PreconditionError says that an object is not as it was expected to be. Nothing was written.
type PreconditionError struct {
	// Object is "tenants/acme", "plans/free" or "configuration".
	Object string
	// Revision is what it has; 0 when it is not there.
	Revision int64
}

func (e *PreconditionError) Error() string {
	if e.Revision == 0 {
		return "configstore: " + e.Object + " is not there"
	}
	return fmt.Sprintf("configstore: %s has revision %d, not the one expected", e.Object, e.Revision)
}

// A Precondition is about the object to be changed. The zero value asks nothing.
type Precondition struct {
	// IfMatch is the revision it must have; 0 for any.
	IfMatch int64
	// IfExists asks that it is there, whatever revision it has.
	IfExists bool
	// IfNoneMatch asks that it is not there yet.
	IfNoneMatch bool
}

func (p Precondition) check(object string, revision int64) error {
	if p.IfNoneMatch && revision != 0 || p.IfExists && revision == 0 || p.IfMatch != 0 && p.IfMatch != revision {
		return &PreconditionError{object, revision}
	}
	return nil
}

// By is who asked for a change, for the audit.
type By struct {
	// Who is a key's id, or a person at a command line.
	Who string
	// RequestID is that of the HTTP request, if it was one.
	RequestID string
}

// An Effect is what a change did.
type Effect string

const (
	// Unchanged: it was so already, and nothing was written.
	Unchanged Effect = "unchanged"
	// Created: it was not there before.
	Created Effect = "created"
	// Replaced: it was another before.
	Replaced Effect = "replaced"
	// Deleted: it is not there any more.
	Deleted Effect = "deleted"
)

// Options change how a [Store] works. The zero value is ready to use.
type Options struct {
	// Now is the wall clock; time.Now when nil.
	Now func() time.Time
}

// A Store has plans, tenants, keys and the audit. It is safe for concurrent use, and
// so are several stores with the same items. It is made by [New].
type Store struct {
	items Items
	now   func() time.Time
	// turn is taken by who changes something: those in one process need not race.
	turn chan struct{}
	// decoded are parts by their name. They never change.
	decoded *lru.Cache[string, any]
	names   atomic.Pointer[index]
}

// decodedParts is how many parts are kept: all of some two million tenants.
const decodedParts = 2 * maxParts

// New returns the configuration that items have.
func New(items Items, o Options) *Store {
	decoded, err := lru.New[string, any](decodedParts)
	if err != nil {
		panic("configstore: " + err.Error()) // only of a negative size
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the clock that is handed to everything here
	}
	return &Store{items: items, now: o.Now, turn: make(chan struct{}, 1), decoded: decoded}
}

// manifestKey is where the table of an older layout had its own: so it is noticed.
var manifestKey = Key{"config", "version"}

// Version returns the version of the configuration, 0 when nothing was ever saved.
// Every change of anything has a greater one.
func (s *Store) Version(ctx context.Context) (int64, error) {
	_, version, err := s.Manifest(ctx)
	return version, err
}

// Manifest returns the saved form of the [quota.Manifest], with one read; nil and 0
// when nothing was ever saved.
func (s *Store) Manifest(ctx context.Context) (data []byte, version int64, err error) {
	item, ok, err := s.items.Get(ctx, manifestKey)
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("configstore: read the manifest: %w", err)
	case !ok:
		return nil, 0, nil
	case len(item.Data) == 0:
		return nil, 0, errOldLayout
	}
	return item.Data, item.Version, nil
}

var errOldLayout = errors.New("configstore: what is saved here has the layout of an older version, which cannot be read: " +
	"use an empty table and apply the configuration to it")

func (s *Store) manifest(ctx context.Context) (quota.Manifest, error) {
	data, _, err := s.Manifest(ctx)
	if err != nil || data == nil {
		return quota.Manifest{}, err
	}
	m, err := quota.DecodeManifest(data)
	if err != nil {
		return quota.Manifest{}, fmt.Errorf("configstore: the manifest: %w", err)
	}
	return m, nil
}

const (
	// attempts is how often a change is tried while others are faster.
	attempts = 25
	// changeTime is how long one may take. It is far below the age of an orphan: the
	// parts of a change under way are nobody's yet.
	changeTime = 10 * time.Minute
)

// change makes f's change. f may be called again, when somebody else made a change meanwhile.
func (s *Store) change(ctx context.Context, by By, f func(context.Context, *draft) error) (version int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	written := map[string]string{}
	for try := 1; ; try++ {
		var d *draft
		err := s.read(ctx, func(ctx context.Context, drafted *draft) (err error) {
			d = drafted
			d.written = written
			if err := f(ctx, d); err != nil || d.entry.Action == "" {
				return err
			}
			return d.commit(ctx, by)
		})
		switch {
		case err == nil && d.entry.Action == "":
			return d.manifest.Version, nil
		case err == nil:
			s.tidy(ctx, d)
			return d.version, nil
		case !errors.Is(err, ErrConflict) || try == attempts:
			return 0, err
		}
		// Each round one of those who race wins.
		if err := pause(ctx, rand.N(time.Duration(try)*10*time.Millisecond)); err != nil { //nolint:gosec // chance, not a secret
			return 0, err
		}
	}
}

// read has f read the newest version. f is called again when it did not find a part:
// two changes meanwhile may have deleted it, and then there is a newer version to read.
func (s *Store) read(ctx context.Context, f func(context.Context, *draft) error) error {
	for seen := int64(-1); ; {
		d, err := s.draft(ctx)
		if err != nil {
			return err
		}
		err = f(ctx, d)
		if !errors.Is(err, quota.ErrNoPart) || d.manifest.Version == seen {
			return err
		}
		seen = d.manifest.Version
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
