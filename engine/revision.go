package engine

import (
	"errors"
	"math"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

// An item says which revision of the configuration counted in it last. An instance that
// has an older one does not count by that any more: it would let pass what was lowered
// since, and turn registers back that were converted.

// ErrOutdated says that an item was counted in under a newer configuration than the one
// the call was matched against. Nothing was charged.
var ErrOutdated = errors.New("engine: a newer configuration is in force")

const (
	// revisionPart names the revision among the parts of an item. No limit has a name like it.
	revisionPart = "_config"
	revision     = "revision" // register
)

func revisionOf(s limit.State) int64 {
	n, _ := s.Register(revision)
	return n
}

// revisionPart guards that no newer configuration has counted in the item, and writes
// down this one when it is the newest.
func (a *answer) revisionPart() store.Part {
	p := store.Part{Limit: revisionPart}
	p.Guards = []limit.Guard{{Kind: limit.RegisterInOrAbsent, Register: revision, Min: math.MinInt64, Max: a.item.Revision}}
	if a.revision != a.item.Revision {
		p.Changes = []limit.Change{{Kind: limit.Set, Register: revision, Value: a.item.Revision}}
	}
	return p
}

// isOutdated reports whether a newer configuration is known to have counted in the item.
func (a *answer) isOutdated() bool { return !a.unbound && a.revision > a.item.Revision }
