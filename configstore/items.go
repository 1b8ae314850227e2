package configstore

import (
	"context"
	"errors"
)

// ErrConflict says that a condition of a transaction does not hold: somebody else
// was faster. Nothing was written.
var ErrConflict = errors.New("configstore: somebody else made a change meanwhile")

// MaxItems is how many items a transaction writes and checks at most, and MaxData how
// many bytes one item holds.
const (
	MaxItems = 25
	MaxData  = 390_000
)

// A Key names an item: PK is what is asked for together, SK orders that. Neither is empty.
type Key struct{ PK, SK string }

// An Item is what a driver keeps under a key. Version is 0 for items no condition is about.
type Item struct {
	Key
	Version int64
	Data    []byte
}

// A Condition holds while the item has this version; 0: while there is none.
type Condition struct {
	Key
	Version int64
}

// A Transaction is written as a whole or not at all, and only while all conditions
// hold. No key is in Puts and Deletes, or in one of them twice; a condition may be
// about an item that is put or deleted.
type Transaction struct {
	If      []Condition
	Puts    []Item
	Deletes []Key
}

// A Range is a part of the items that have one PK, by SK. From and To belong to it;
// an empty one is open.
type Range struct {
	PK, From, To string
	// After is the SK of the last item of the page before; empty for the first page.
	After string
	// Limit is how many items to return at most; it is at least 1.
	Limit      int
	Descending bool
	// KeysOnly leaves out the data.
	KeysOnly bool
}

// Items keeps items. What was written is seen by every read that begins later. The
// methods return when ctx ends, and are safe for concurrent use. Items and their data
// are shared: neither side changes them.
type Items interface {
	// Get returns an item, if it is there.
	Get(ctx context.Context, k Key) (item Item, ok bool, err error)
	// Query returns the first items of a range in its order, and whether there may be
	// more of them. It may return fewer than Limit although there are more.
	Query(ctx context.Context, r Range) (items []Item, more bool, err error)
	// Transact writes a transaction. The error is [ErrConflict] when a condition does
	// not hold or somebody else writes one of the items right now. After another error
	// it may have been written, as a whole.
	Transact(ctx context.Context, t Transaction) error
}

// Follows reports whether an SK comes after the page before, in the order of the range.
func (r Range) Follows(sk string) bool {
	switch {
	case r.After == "":
		return true
	case r.Descending:
		return sk < r.After
	}
	return sk > r.After
}
