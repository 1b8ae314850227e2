package quota

import (
	"fmt"
	"strings"

	"github.com/seed43908478/penstock/limit"
)

// All limits that are by the same are decided in one write of one item, so that one
// write must be able to hold them. DynamoDB takes 300 operators and functions in an
// update expression, and 4 KiB in each of the two expressions. What a limit needs is
// estimated from above, for a call of the largest cost:
//
//   - a bucket guards two registers (exists, or lies between; and the joints) and sets
//     two: 14 operators, less than 190 bytes of guards and 100 of changes;
//   - a log compares each time it replaces and joins the comparisons, 2 operators, up
//     to 26 bytes ("#a0[99]<=:g0 AND ") and 9 of removal for each permit; a guard on
//     its size and the appending take 8 operators and 120 bytes more.
//
// The bounds hold with what a request id adds.
const (
	maxLimits    = 20  // in one item
	maxOperators = 280 // of 300
	maxBytes     = 3900
)

type budget struct{ limits, operators, guards, changes int }

func (b *budget) add(l *limit.Limit) {
	b.limits++
	if l.Policy().Algorithm != "sliding_window_log" {
		b.operators += 14
		b.guards += 190
		b.changes += 100
		return
	}
	cost := int(l.Capacity())
	b.operators += 2*cost + 8
	b.guards += 26*cost + 120
	b.changes += 9*cost + 120
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
