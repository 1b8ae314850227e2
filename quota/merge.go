package quota

// A placed limit is one that a tenant really has, and where it was written.
type placed struct {
	*Limit
	override bool // in the tenant's limits, else in the plan's
	index    int
}

// merge returns the limits of a plan with the overrides in: one of the same name
// takes the place of the plan's, others follow. Those that are off are left out.
func merge(plan, overrides []Limit) []placed {
	merged := make([]placed, 0, len(plan)+len(overrides))
	for i := range plan {
		merged = append(merged, placed{Limit: &plan[i], index: i})
	}
	for i := range overrides {
		o := placed{Limit: &overrides[i], override: true, index: i}
		at := 0
		for at < len(merged) && merged[at].Name != o.Name {
			at++
		}
		if at == len(merged) {
			merged = append(merged, o)
		}
		merged[at] = o
	}
	on := merged[:0]
	for _, l := range merged {
		if l.Mode != Off {
			on = append(on, l)
		}
	}
	return on
}
