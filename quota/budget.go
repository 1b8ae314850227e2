package quota

import (
	"fmt"
	"strings"

	"github.com/seed43908478/penstock/limit"
)

// All limits that are by the same are decided in one write of one item, so one write
// must be able to hold them. DynamoDB takes 300 operators and functions in an
// expression, and 4 KiB of it. What a limit needs is estimated from above, for a call
// of the largest cost:
//
//   - A bucket guards two registers, of which one may be absent, and sets two: 5
//     operators, 46 bytes of guards and 24 of changes, counted as 6, 80 and 40.
//   - A log compares each time that it replaces, with 2 operators and up to 20 bytes
//     (" AND #12[99] <= :34"), takes it out and puts another in, with up to 30 bytes
//     (", #12[99]" and ", #12[100098] = :34"), counted as 22 and 32. Around that are 7
//     operators and 60 bytes, counted as 8 and 80.
//
// What is left free is for the item's own: its expiry and the ids of requests.
const (
	maxLimits    = 20   // in one item
	maxOperators = 280  // of 300, guards and changes together
	maxBytes     = 3900 // of 4,096, guards and changes each
)

type budget struct{ limits, operators, guards, changes int }

func (b *budget) add(l *limit.Limit) {
	b.limits++
	if l.Policy().Algorithm != "sliding_window_log" {
		b.operators += 6
		b.guards += 80
		b.changes += 40
		return
	}
	cost := int(l.Capacity())
	b.operators += 2*cost + 8
	b.guards += 22*cost + 80
	b.changes += 32*cost + 80
}

func (b *budget) exceeded() bool {
	return b.limits > maxLimits || b.operators > maxOperators || b.guards > maxBytes || b.changes > maxBytes
}

// checkItems reports the limits that are the first too many for their item, and
// whether there are none. own says which of the limits stand under path.
func (ps *Problems) checkItems(path string, limits []placed, own func(placed) bool) (ok bool) {
	budgets := map[string]*budget{}
	ok = true
	for _, l := range limits {
		made, err := limit.New(l.policy())
		if err != nil {
			continue // reported already
		}
		by := strings.Join(canonical(l.By), ", ")
		b := budgets[by]
		if b == nil {
			b = new(budget)
			budgets[by] = b
		}
		before := b.exceeded()
		b.add(made)
		if before || !b.exceeded() {
			continue
		}
		ok = false
		at := member(path, "limits")
		if own(l) {
			at = element(at, l.index)
		}
		ps.add(at, "%s", b.excess(l.Name, by))
	}
	return ok
}

func (b *budget) excess(name, by string) string {
	if by == "" {
		by = "the tenant alone"
	}
	if b.limits > maxLimits {
		return fmt.Sprintf("%.70q is limit number %d by %s, and one write decides at most %d: remove one", name, b.limits, by, maxLimits)
	}
	return fmt.Sprintf("%.70q does not fit into one write with the limits before it that are by %s: use token_bucket, or smaller quotas, instead of sliding_window_log", name, by)
}
