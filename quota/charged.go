package quota

import "strings"

// Item returns the item of that key as it is configured now, with all rules that can live
// in it, whether or not they match a request; of a shard's key with what a shard
// enforces. ok is false when the tenant has no limits by these parts any more; the error
// is that of [Snapshot.Match].
func (s *Snapshot) Item(tenant, key string) (item Item, ok bool, err error) {
	t, err := s.tenant(tenant)
	if err != nil {
		return Item{}, false, err
	}
	rest, own := strings.CutPrefix(key, owner(tenant, t.generation)+"|")
	by, _, _ := strings.Cut(rest, "|")
	for i := range t.rules.groups {
		if g := &t.rules.groups[i]; own && g.by == by {
			return g.item(key, s.revision), true, nil
		}
	}
	return Item{}, false, nil
}

// item is the item of a key, with all rules of the group.
func (g *group) item(key string, revision int64) Item {
	item := Item{
		Key: key, Rules: g.rules, Parts: len(g.parts),
		Memory: g.memory, RequestIDs: g.requestIDs, Revision: revision,
	}
	if g.shards > 1 {
		item.Rules = make([]*Rule, len(g.rules))
		for i, r := range g.rules {
			item.Rules[i] = r.Shard
		}
	}
	return item
}
