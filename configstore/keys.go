package configstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/quota"
)

// A key is by its id, for those who verify one, and once more with its tenant's, to be listed.
const keyPK = "key#"

func keyKey(id string) Key { return Key{keyPK + id, "record"} }

// tenantKeysPK is of a tenant's keys; those of nobody, a service's or an administrator's, have the name "".
func tenantKeysPK(tenant string) string { return "keys/" + tenant }

// maxKeyID is how long an id may be that is looked for; those of [apikey.Mint] have 12 characters.
const maxKeyID = 64

// keyFormat is the number of the form in which keys are saved. It rises whenever an
// older version would read the new form as something else.
const keyFormat = 1

type savedKey struct {
	Format int           `json:"format"`
	Key    apikey.Record `json:"key"`
}

func readKey(i Item) (apikey.Record, error) {
	if len(i.Data) == 0 {
		return apikey.Record{}, errOldLayout
	}
	var saved savedKey
	if err := json.Unmarshal(i.Data, &saved); err != nil {
		return apikey.Record{}, fmt.Errorf("configstore: key %s %s: %w", i.PK, i.SK, err)
	}
	if saved.Format != keyFormat {
		return apikey.Record{}, fmt.Errorf("configstore: key %s %s is saved in format %d, and this version reads format %d", i.PK, i.SK, saved.Format, keyFormat)
	}
	return saved.Key, nil
}

// Key returns the record of a key, if there is one of this id, with one read.
func (s *Store) Key(ctx context.Context, id string) (r apikey.Record, ok bool, err error) {
	if len(id) > maxKeyID {
		return apikey.Record{}, false, nil
	}
	item, ok, err := s.items.Get(ctx, keyKey(id))
	if err != nil {
		return apikey.Record{}, false, fmt.Errorf("configstore: read key %q: %w", id, err)
	}
	if !ok {
		return apikey.Record{}, false, nil
	}
	r, err = readKey(item)
	return r, err == nil, err
}

// KeyFilter says which keys to list.
type KeyFilter struct {
	// Tenant is whose they are; "" is those that are no tenant's: services' and administrators'.
	Tenant string
	// Cursor is what the page before ended with; empty for the first page.
	Cursor string
	// Limit is how many to return at most; 100 when 0.
	Limit int
}

// Keys lists the keys of a tenant by id, also those that are expired or revoked. next
// is the cursor of the next page; empty after the last.
func (s *Store) Keys(ctx context.Context, f KeyFilter) (page []apikey.Record, next string, err error) {
	if len(f.Cursor) > maxKeyID {
		return nil, "", ErrCursor
	}
	if f.Tenant != "" && !quota.ValidTenant(f.Tenant) {
		return nil, "", nil
	}
	return list(ctx, s.items, Range{PK: tenantKeysPK(f.Tenant), After: f.Cursor, Limit: f.Limit}, readKey)
}

// CreateKey stores the record of a new key.
func (s *Store) CreateKey(ctx context.Context, r apikey.Record, by By) error {
	_, err := s.change(ctx, by, func(ctx context.Context, d *draft) error {
		if _, exists, err := s.Key(ctx, r.ID); err != nil || exists {
			return orExists(err, r.ID)
		}
		d.entry = Entry{Action: Create, Object: object("keys", r.ID), Tenant: r.Tenant, After: shortKey(r)}
		return d.putKey(r)
	})
	return err
}

func orExists(err error, id string) error {
	if err != nil {
		return err
	}
	return &PreconditionError{Object: object("keys", id), Revision: 1}
}

// RevokeKey withdraws a key from now on. One that is withdrawn already stays as it
// is. The error is [ErrNotFound] when there is no such key.
func (s *Store) RevokeKey(ctx context.Context, id string, by By) (r apikey.Record, effect Effect, err error) {
	_, err = s.change(ctx, by, func(ctx context.Context, d *draft) error {
		if r, err = s.existing(ctx, id); err != nil {
			return err
		}
		if effect = Unchanged; !r.RevokedAt.IsZero() {
			return nil
		}
		r.RevokedAt = d.now.UTC().Truncate(time.Millisecond)
		effect = Replaced
		d.entry = Entry{Action: Revoke, Object: object("keys", id), Tenant: r.Tenant}
		return d.putKey(r)
	})
	return r, effect, err
}

// RotateKey stores the record of a new key in place of another, which goes on working
// until a time, or until it expires when that is sooner. The new one is the same
// tenant's. The error is [ErrNotFound] when there is no such key, or when it is
// revoked.
func (s *Store) RotateKey(ctx context.Context, id string, next apikey.Record, until time.Time, by By) (old apikey.Record, err error) {
	_, err = s.change(ctx, by, func(ctx context.Context, d *draft) error {
		if old, err = s.existing(ctx, id); err != nil {
			return err
		}
		if !old.RevokedAt.IsZero() {
			return fmt.Errorf("key %q is revoked: %w", id, ErrNotFound)
		}
		if next.Tenant != old.Tenant {
			return fmt.Errorf("configstore: key %q is of tenant %q, and the one in its place of %q", id, old.Tenant, next.Tenant)
		}
		if old.ExpiresAt.IsZero() || until.Before(old.ExpiresAt) {
			old.ExpiresAt = until.UTC().Truncate(time.Millisecond)
		}
		d.entry = Entry{Action: Rotate, Object: object("keys", id), Tenant: old.Tenant, After: shortKey(next)}
		if err := d.putKey(old); err != nil {
			return err
		}
		return d.putKey(next)
	})
	return old, err
}

func (s *Store) existing(ctx context.Context, id string) (apikey.Record, error) {
	r, ok, err := s.Key(ctx, id)
	if err == nil && !ok {
		err = fmt.Errorf("key %q: %w", id, ErrNotFound)
	}
	return r, err
}

func (s *Store) revokeAll(ctx context.Context, tenant string, by By) error {
	for cursor := ""; ; {
		keys, next, err := s.Keys(ctx, KeyFilter{Tenant: tenant, Cursor: cursor})
		if err != nil {
			return err
		}
		for _, k := range keys {
			if !k.RevokedAt.IsZero() {
				continue
			}
			if _, _, err := s.RevokeKey(ctx, k.ID, by); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}

// putKey writes a key with the draft.
func (d *draft) putKey(r apikey.Record) error {
	data, err := json.Marshal(savedKey{keyFormat, r})
	if err != nil {
		return fmt.Errorf("configstore: encode key %q: %w", r.ID, err)
	}
	d.puts = append(d.puts, Item{Key: keyKey(r.ID), Data: data}, Item{Key: Key{tenantKeysPK(r.Tenant), r.ID}, Data: data})
	return nil
}

// shortKey is a key as the audit has it: without its hash.
func shortKey(r apikey.Record) string {
	r.Hash = nil
	return short(r)
}
