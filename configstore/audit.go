package configstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/seed43908478/penstock/quota"
)

// An Action is what was done to an object.
type Action string

// The actions.
const (
	Create  Action = "create"
	Replace Action = "replace"
	Delete  Action = "delete"
	Apply   Action = "apply"
	Reset   Action = "reset"
	Revoke  Action = "revoke"
	Rotate  Action = "rotate"
)

// An Entry of the audit is one change. Every version has one: it is written with the change, or neither is.
type Entry struct {
	Version   int64     `json:"version"`
	At        time.Time `json:"at"`
	Who       string    `json:"who"`
	RequestID string    `json:"request_id,omitempty"`
	Action    Action    `json:"action"`
	// Object is "tenants/acme", "plans/free", "keys/4kq7dmz2x5ab", "default_plan" or "configuration".
	Object string `json:"object"`
	// Tenant is whom the change is about, if it is one tenant.
	Tenant string `json:"tenant,omitempty"`
	// Before and After are the object as JSON, cut off where that is long, or in words.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// maxShort is how many bytes of an object an entry has.
const maxShort = 2000

// short returns an object as an entry has it.
func short(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(data) <= maxShort {
		return string(data)
	}
	cut := maxShort
	for !utf8.RuneStart(data[cut]) {
		cut--
	}
	return string(data[:cut]) + "…"
}

// record notes that an object was created or replaced.
func (d *draft) record(existed bool, e Entry, before, after any) Effect {
	d.entry, d.entry.After = e, short(after)
	if !existed {
		d.entry.Action = Create
		return Created
	}
	d.entry.Action, d.entry.Before = Replace, short(before)
	return Replaced
}

// The audit is in order of version, and there is a second one of each tenant.
const auditPK = "audit"

func tenantAuditPK(tenant string) string { return "audit/" + tenant }

func auditSK(version int64) string { return fmt.Sprintf("%019d", version) }

// audit returns the items with the draft's entry.
func (d *draft) audit(by By) ([]Item, error) {
	e := d.entry
	e.Version, e.At, e.Who, e.RequestID = d.version, d.now.UTC().Truncate(time.Millisecond), by.Who, by.RequestID
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("configstore: encode an entry of the audit: %w", err)
	}
	items := []Item{{Key: Key{auditPK, auditSK(d.version)}, Data: data}}
	if e.Tenant != "" {
		items = append(items, Item{Key: Key{tenantAuditPK(e.Tenant), auditSK(d.version)}, Data: data})
	}
	return items, nil
}

// AuditFilter says which entries to list. The zero value is the newest 100 of all.
type AuditFilter struct {
	// Cursor is what the page before ended with; empty for the first page.
	Cursor string
	// Limit is how many to return at most; 100 when 0.
	Limit int
	// Tenant is whom they are about; empty for all entries.
	Tenant string
}

// Audit lists entries, the newest first. next is the cursor of the next page; empty after the last.
func (s *Store) Audit(ctx context.Context, f AuditFilter) (page []Entry, next string, err error) {
	r := Range{PK: auditPK, After: f.Cursor, Limit: f.Limit, Descending: true}
	if f.Tenant != "" {
		r.PK = tenantAuditPK(f.Tenant)
	}
	if f.Cursor != "" && len(f.Cursor) != len(auditSK(0)) {
		return nil, "", ErrCursor
	}
	if f.Tenant != "" && !quota.ValidTenant(f.Tenant) {
		return nil, "", nil
	}
	return list(ctx, s.items, r, readEntry)
}

// Change returns the entry of a version, if it has one: who gave an object its revision.
func (s *Store) Change(ctx context.Context, version int64) (e Entry, ok bool, err error) {
	item, ok, err := s.items.Get(ctx, Key{auditPK, auditSK(version)})
	if err != nil || !ok {
		return Entry{}, false, err
	}
	e, err = readEntry(item)
	return e, err == nil, err
}

func readEntry(i Item) (e Entry, err error) {
	if err := json.Unmarshal(i.Data, &e); err != nil {
		return e, fmt.Errorf("configstore: entry %s of the audit: %w", i.SK, err)
	}
	if n, err := strconv.ParseInt(i.SK, 10, 64); err != nil || n != e.Version {
		return e, fmt.Errorf("configstore: entry %s of the audit is that of version %d", i.SK, e.Version)
	}
	return e, nil
}

// ErrCursor says that a cursor is none that the list gave out.
var ErrCursor = errors.New("configstore: the cursor is not one of this list")

// list reads a page of a range.
func list[T any](ctx context.Context, items Items, r Range, read func(Item) (T, error)) (page []T, next string, err error) {
	if r.Limit <= 0 {
		r.Limit = defaultLimit
	}
	most := r.Limit
	for len(page) < most {
		r.Limit = most - len(page)
		found, more, err := items.Query(ctx, r)
		if err != nil {
			return nil, "", fmt.Errorf("configstore: list %s: %w", r.PK, err)
		}
		for _, i := range found {
			v, err := read(i)
			if err != nil {
				return nil, "", err
			}
			page, r.After = append(page, v), i.SK
		}
		if !more {
			return page, "", nil
		}
	}
	return page, r.After, nil
}
