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
//   - A fixed window guards three registers that may each be absent, counts on in one
//     of them, drops one and sets one: 14 operators, 145 bytes of guards and 50 of
//     changes, counted as 14, 160 and 60. A sliding window counter guards a fourth: 18
//     operators and 190 bytes of guards, counted as 18 and 210.
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
	switch l.Policy().Algorithm {
	case "sliding_window_log":
		cost := int(l.Capacity())
		b.need(2*cost+8, 22*cost+80, 32*cost+80)
	case "fixed_window":
		b.need(14, 160, 60)
	case "sliding_window_counter":
		b.need(18, 210, 60)
	default:
		b.need(6, 80, 40)
	}
}

func (b *budget) need(operators, guards, changes int) {
	b.operators += operators
	b.guards += guards
	b.changes += changes
}

func (b *budget) exceeded() bool {
	return b.limits > maxLimits || b.operators > maxOperators || b.guards > maxBytes || b.changes > maxBytes
}

// checkItems reports the limits that are the first too many for their item. own says
// which of the limits stand under path.
func (ps *Problems) checkItems(path string, limits []placed, own func(placed) bool) {
	budgets := map[string]*budget{}
	for _, l := range limits {
		made, err := limit.New(l.policy())
		if err != nil {
			continue // reported already
		}
		by, group := strings.Join(canonical(l.By), ", "), groupName(l.By, l.shards())
		b := budgets[group]
		if b == nil {
			b = new(budget)
			budgets[group] = b
		}
		before := b.exceeded()
		b.add(made)
		if before || !b.exceeded() {
			continue
		}
		at := member(path, "limits")
		if own(l) {
			at = element(at, l.index)
		}
		ps.add(at, "%s", b.excess(l.Name, by))
	}
}

func (b *budget) excess(name, by string) string {
	if by == "" {
		by = "the tenant alone"
	}
	if b.limits > maxLimits {
		return fmt.Sprintf("%.70q is limit number %d by %s, and one write decides at most %d: remove one", name, b.limits, by, maxLimits)
	}
	return fmt.Sprintf("%.70q does not fit into one write with the limits before it that are by %s: use token_bucket in the place of windows, or logs of smaller quotas", name, by)
}
