// Package bolt keeps a configuration in a file of a data folder: what was written is
// there after a crash, whole or not at all. One process has the file at a time.
package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/seed43908478/penstock/configstore"
)

const (
	fileName = "config.db"
	// lockWait is how long to wait for another process to leave the file: one that is
	// being restarted does.
	lockWait = 500 * time.Millisecond
)

// The file has one bucket; a key is PK, a zero byte and SK, and what is under it the
// version, 8 bytes, and the data. format rises whenever that changes.
var (
	itemsBucket = []byte("items")
	metaBucket  = []byte("penstock")
	formatKey   = []byte("format")
	format      = []byte("1")
)

// Items keeps items in a file. It is made by [Open].
type Items struct{ db *bbolt.DB }

// Open opens the configuration in a data folder, and creates both if they are not
// there. While another process has it the error says so, after half a second.
func Open(dir string) (*Items, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	path := filepath.Join(dir, fileName)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s is in use by another process: end it, or name another data folder", path)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := db.Update(prepare); err != nil {
		_ = db.Close() // the first error says more
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Items{db}, nil
}

// Close waits for reads and writes under way and gives the file back.
func (b *Items) Close() error { return b.db.Close() }

func prepare(tx *bbolt.Tx) error {
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	switch found := meta.Get(formatKey); {
	case found == nil:
		if err := meta.Put(formatKey, format); err != nil {
			return err
		}
	case !bytes.Equal(found, format):
		return fmt.Errorf("it has format %.20q, and this version reads format %s: use the version that wrote it", found, format)
	}
	_, err = tx.CreateBucketIfNotExists(itemsBucket)
	return err
}

// Get returns an item.
func (b *Items) Get(ctx context.Context, k configstore.Key) (item configstore.Item, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return configstore.Item{}, false, err
	}
	err = b.db.View(func(tx *bbolt.Tx) error {
		item, ok, err = get(tx.Bucket(itemsBucket), k)
		return err
	})
	return item, ok, err
}

func get(items *bbolt.Bucket, k configstore.Key) (configstore.Item, bool, error) {
	value := items.Get(join(k))
	if value == nil {
		return configstore.Item{}, false, nil
	}
	item, err := read(k, value, false)
	return item, err == nil, err
}

// read copies: what bbolt returns ends with its transaction.
func read(k configstore.Key, value []byte, keyOnly bool) (configstore.Item, error) {
	if len(value) < 8 {
		return configstore.Item{}, fmt.Errorf("item %s %s is damaged", k.PK, k.SK)
	}
	item := configstore.Item{Key: k, Version: int64(binary.BigEndian.Uint64(value))} //nolint:gosec // as it was written
	if !keyOnly {
		item.Data = bytes.Clone(value[8:])
	}
	return item, nil
}

const separator = "\x00"

func join(k configstore.Key) []byte { return []byte(k.PK + separator + k.SK) }

// Query returns a page of a range.
func (b *Items) Query(ctx context.Context, r configstore.Range) (page []configstore.Item, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	err = b.db.View(func(tx *bbolt.Tx) error {
		page, more, err = query(tx.Bucket(itemsBucket).Cursor(), r)
		return err
	})
	return page, more, err
}

func query(c *bbolt.Cursor, r configstore.Range) (page []configstore.Item, more bool, err error) {
	prefix := []byte(r.PK + separator)
	step := c.Next
	key, value := c.Seek(join(configstore.Key{PK: r.PK, SK: max(r.From, r.After)}))
	if r.Descending {
		step = c.Prev
		key, value = seekLast(c, r)
	}
	for ; bytes.HasPrefix(key, prefix); key, value = step() {
		sk := string(key[len(prefix):])
		if r.Descending && sk < r.From || !r.Descending && r.To != "" && sk > r.To {
			break
		}
		if !r.Follows(sk) {
			continue
		}
		if len(page) == r.Limit {
			return page, true, nil
		}
		item, err := read(configstore.Key{PK: r.PK, SK: sk}, value, r.KeysOnly)
		if err != nil {
			return nil, false, err
		}
		page = append(page, item)
	}
	return page, false, nil
}

// seekLast goes to the last item of the range, where one begins that descends.
func seekLast(c *bbolt.Cursor, r configstore.Range) (key, value []byte) {
	last := r.To
	if r.After != "" && (last == "" || r.After < last) {
		last = r.After
	}
	// What follows the prefix: all keys that have it are below.
	seek := []byte(r.PK + "\x01")
	if last != "" {
		seek = append(join(configstore.Key{PK: r.PK, SK: last}), 0)
	}
	if key, _ := c.Seek(seek); key == nil {
		return c.Last()
	}
	return c.Prev()
}

// Transact writes a transaction. It has reached the disk when it returns.
func (b *Items) Transact(ctx context.Context, t configstore.Transaction) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.db.Update(func(tx *bbolt.Tx) error {
		items := tx.Bucket(itemsBucket)
		for _, c := range t.If {
			item, ok, err := get(items, c.Key)
			if err != nil {
				return err
			}
			if ok != (c.Version != 0) || item.Version != c.Version {
				return configstore.ErrConflict
			}
		}
		for _, p := range t.Puts {
			if strings.Contains(p.PK, separator) {
				return fmt.Errorf("a key has a zero byte: %q", p.PK)
			}
			value := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(p.Data)), uint64(p.Version)) //nolint:gosec // read back the same
			if err := items.Put(join(p.Key), append(value, p.Data...)); err != nil {
				return err
			}
		}
		for _, k := range t.Deletes {
			if err := items.Delete(join(k)); err != nil {
				return err
			}
		}
		return nil
	})
}
