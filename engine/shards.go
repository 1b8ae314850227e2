package engine

import (
	"context"

	"github.com/seed43908478/penstock/quota"
)

// askShards decides an item that is spread over shards: one of them by chance, and
// another when that refuses. A call with an id has only one, always the same, as only
// that would know it again.
func (e *Engine) askShards(ctx context.Context, item *quota.Item, q question) answer {
	first, second := e.pick(item.Shards, q)
	a := e.askItem(ctx, shard(item, first), q)
	if a.outcome != refused || q.id != 0 {
		return a
	}
	b := e.askItem(ctx, shard(item, second), q)
	b.writes += a.writes
	return b
}

// pick picks two shards.
func (e *Engine) pick(shards int, q question) (first, second int) {
	n := uint64(shards)
	if q.id != 0 {
		return int(uint64(q.id) % n), 0
	}
	first = min(int(e.random()*float64(shards)), shards-1)
	second = min(int(e.random()*float64(shards-1)), shards-2)
	if second >= first {
		second++
	}
	return first, second
}

// shard is the n-th part of an item.
func shard(item *quota.Item, n int) *quota.Item {
	s := *item
	s.Key = item.ShardKey(n)
	s.Rules = make([]*quota.Rule, len(item.Rules))
	for i, r := range item.Rules {
		s.Rules[i] = r.Shard
	}
	return &s
}

// ofWhole puts the verdict of a shard in the terms of the limit that is spread: if the
// others are like this one.
func (v Verdict) ofWhole(shards int) Verdict {
	if whole := v.Rule.Whole; whole != nil {
		v.Rule = whole
		v.Remaining = min(v.Remaining*int64(shards), whole.Limit.Full())
	}
	return v
}
