package limit

import "time"

// Share returns the limit that each of n instances holds on its own so that all
// together keep to this one's rate: an n-th of the quota and of the burst, and where that
// is less than one permit, one permit in as many periods (of a calendar, in as many times
// its longest). Each may use its first permit at once, so where the burst is smaller than
// n, up to n pass at the start; of windows, whenever such a long one begins.
func (l *Limit) Share(n int) (*Limit, error) {
	p := l.policy
	r := algorithms[p.Algorithm]
	parts := int64(max(n, 1))
	if p.Burst > 0 {
		p.Burst = max(1, p.Burst/parts)
	}
	switch {
	case p.Quota >= parts:
		p.Quota /= parts
	case r.slots:
		p.Quota = 1
	default:
		// Rounded up to whole milliseconds, which every algorithm can count.
		per := (int64(p.Period) + p.Quota - 1) / p.Quota
		p.Period = (time.Duration(per*parts) + time.Millisecond - 1).Truncate(time.Millisecond)
		p.Quota, p.Calendar, p.AnchorDay = 1, "", 0
		if p.Burst > 0 {
			p.Burst = 1
		}
	}
	return r.limit(p)
}
