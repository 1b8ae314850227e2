// Package memory keeps a configuration in memory: it ends with the process.
package memory

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/seed43908478/penstock/configstore"
)

// Items keeps items in memory. It is made by [New].
type Items struct {
	mu    sync.RWMutex
	items map[string][]configstore.Item // by PK, in order of SK
}

// New returns items that are empty.
func New() *Items { return &Items{items: map[string][]configstore.Item{}} }

func bySK(i configstore.Item, sk string) int { return cmp.Compare(i.SK, sk) }

// Get returns an item.
func (m *Items) Get(ctx context.Context, k configstore.Key) (configstore.Item, bool, error) {
	if err := ctx.Err(); err != nil {
		return configstore.Item{}, false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	item, ok := m.get(k)
	return item, ok, nil
}

func (m *Items) get(k configstore.Key) (configstore.Item, bool) {
	items := m.items[k.PK]
	i, ok := slices.BinarySearchFunc(items, k.SK, bySK)
	if !ok {
		return configstore.Item{}, false
	}
	return items[i], true
}

// Query returns a page of a range.
func (m *Items) Query(ctx context.Context, r configstore.Range) (page []configstore.Item, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	items := slices.Clone(m.items[r.PK])
	if r.Descending {
		slices.Reverse(items)
	}
	for _, i := range items {
		if i.SK < r.From || r.To != "" && i.SK > r.To || !r.Follows(i.SK) {
			continue
		}
		if len(page) == r.Limit {
			return page, true, nil
		}
		if r.KeysOnly {
			i.Data = nil
		}
		page = append(page, i)
	}
	return page, false, nil
}

// Transact writes a transaction.
func (m *Items) Transact(ctx context.Context, t configstore.Transaction) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range t.If {
		if item, ok := m.get(c.Key); ok != (c.Version != 0) || item.Version != c.Version {
			return configstore.ErrConflict
		}
	}
	for _, p := range t.Puts {
		m.put(p)
	}
	for _, k := range t.Deletes {
		m.items[k.PK] = slices.DeleteFunc(m.items[k.PK], func(i configstore.Item) bool { return i.SK == k.SK })
	}
	return nil
}

func (m *Items) put(p configstore.Item) {
	items := m.items[p.PK]
	i, ok := slices.BinarySearchFunc(items, p.SK, bySK)
	if ok {
		items[i] = p
		return
	}
	m.items[p.PK] = slices.Insert(items, i, p)
}
