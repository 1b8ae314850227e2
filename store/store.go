// Package store is the contract between the engine and the places where state is
// kept: one conditional write to one item, all or nothing, and a read.
//
// An item is what one key has stored, for any number of limits. A write names the
// limits it is about; the rest of the item is neither read nor touched:
//
//	result, err := s.Apply(ctx, store.Write{
//		Key:       "acme|subject|4mZ2…",
//		Parts:     []store.Part{{Limit: "per-user.tb", Write: proposal.Write}},
//		ExpiresAt: now.Add(24 * time.Hour),
//	})
//
// If every guard of every part holds, all changes are made and the result is
// Applied with the states as they are now. Else nothing is changed, and the result
// has the states as they were found: a write that lost has read the item.
//
// Package storetest has the conformance suite that every store passes.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/seed43908478/penstock/limit"
)

// A Part is the share of one limit in the write of an item.
type Part struct {
	// Limit is the limit's identity within the item: its name and its algorithm's
	// code, as in "per-user.tb". Stored names begin with it.
	Limit string
	limit.Write
}

// A Write is one conditional write to one item.
type Write struct {
	Key   string
	Parts []Part
	// ExpiresAt is when the item may be deleted. It is garbage collection only, in
	// whole seconds, rounded up: an item may live on, and must not matter then. A later
	// expiry already stored may be replaced by an earlier one.
	ExpiresAt time.Time
}

// A Result tells what became of a write that was decided.
type Result struct {
	// Applied is whether all guards held and all changes were made.
	Applied bool
	// States has one state for each part, in the order of the parts: after the
	// changes when applied, else as found. An item that is not there has zero states.
	States []limit.State
}

// A Store keeps items. Implementations are safe for concurrent use.
type Store interface {
	// Apply makes one conditional write: atomic, and in one order with all other
	// writes of that item. An item that is not there is created, if the guards hold
	// for a limit never used. No clock is read but to expire what Write.ExpiresAt said.
	//
	// A deadline of ctx bounds the call, retries included. A write that was sent
	// is seen through even when ctx is cancelled; its outcome decides the result.
	// The error is an [*Error]; unless it says Unknown, nothing was written.
	Apply(ctx context.Context, w Write) (Result, error)

	// Read returns the newest state of each of the limits of an item, as a Result has them.
	Read(ctx context.Context, key string, limits []string) ([]limit.State, error)
}

// Reason says why a store could not decide.
type Reason uint8

const (
	// Unavailable: it cannot be reached, does not answer in time, or answers that it failed.
	Unavailable Reason = iota + 1
	// Throttled: the table or the account is at its limit, not just this key.
	Throttled
	// HotKey: this one key gets more than a key can take. The store is well.
	HotKey
	// Misconfigured: the table is missing, or access is denied.
	Misconfigured
	// Invalid: the store refused the request itself. A defect, ours or the item's.
	Invalid
)

var reasons = [...]string{Unavailable: "unavailable", Throttled: "throttled", HotKey: "hot key", Misconfigured: "misconfigured", Invalid: "invalid"}

// String returns the reason in words.
func (r Reason) String() string {
	if int(r) < len(reasons) && reasons[r] != "" {
		return reasons[r]
	}
	return "unknown reason"
}

// An Error says that a store could not decide, and whether the write may have happened.
type Error struct {
	Reason Reason
	// Unknown is whether the write may have been applied: it was sent and no answer came.
	Unknown bool
	Err     error
}

func (e *Error) Error() string {
	s := "store " + e.Reason.String()
	if e.Unknown {
		s += ", outcome unknown"
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an [*Error]; one that is not is Unavailable with an unknown outcome.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Reason: Unavailable, Unknown: true, Err: err}
}
