package memory

import (
	"container/heap"
	"strings"
	"sync"

	"github.com/seed43908478/penstock/limit"
)

// An item is what one key has stored. Items of a shard are held by key and in a
// heap by expiry.
type item struct {
	key       string
	limits    []named
	expiresAt int64 // Unix seconds
	position  int   // in the heap
}

// named is the state of one limit. States are replaced, never modified: callers have them.
type named struct {
	name  string
	state limit.State
}

// state returns what is stored of a limit; an item that is nil has nothing.
func (it *item) state(name string) limit.State {
	if it != nil {
		for i := range it.limits {
			if it.limits[i].name == name {
				return it.limits[i].state
			}
		}
	}
	return limit.State{}
}

func (it *item) put(name string, s limit.State) {
	for i := range it.limits {
		if it.limits[i].name == name {
			it.limits[i].state = s
			return
		}
	}
	it.limits = append(it.limits, named{strings.Clone(name), s})
}

// A shard holds the items of some of the keys.
type shard struct {
	mu       sync.Mutex
	capacity int
	items    map[string]*item
	byExpiry byExpiry
}

// get returns the item of a key, or nil. An expired one is forgotten now.
func (s *shard) get(key string, now int64) *item {
	it, ok := s.items[key]
	if !ok {
		return nil
	}
	if it.expiresAt <= now {
		s.forget(it)
		return nil
	}
	return it
}

// add makes room and adds an item. What expired goes first, two for each that comes,
// so that the dead are fewer with every call; if the shard is full of the living, the
// one that expires first has to go.
func (s *shard) add(it *item, now int64) {
	for range 2 {
		if len(s.byExpiry) > 0 && s.byExpiry[0].expiresAt <= now {
			s.forget(s.byExpiry[0])
		}
	}
	for len(s.items) >= s.capacity {
		s.forget(s.byExpiry[0])
	}
	s.items[it.key] = it
	heap.Push(&s.byExpiry, it)
}

// expireAt says when an item that was added is to be forgotten.
func (s *shard) expireAt(it *item, at int64) {
	if it.expiresAt != at {
		it.expiresAt = at
		heap.Fix(&s.byExpiry, it.position)
	}
}

func (s *shard) forget(it *item) {
	heap.Remove(&s.byExpiry, it.position)
	delete(s.items, it.key)
}

// byExpiry is a heap: the item that expires first is at 0.
type byExpiry []*item

func (h byExpiry) Len() int           { return len(h) }
func (h byExpiry) Less(i, j int) bool { return h[i].expiresAt < h[j].expiresAt }

func (h byExpiry) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i, j
}

// Push is for package heap.
func (h *byExpiry) Push(x any) {
	it := x.(*item)
	it.position = len(*h)
	*h = append(*h, it)
}

// Pop is for package heap.
func (h *byExpiry) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return it
}
