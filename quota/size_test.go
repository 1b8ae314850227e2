package quota

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed43908478/penstock/limit"
)

// Whatever happened to a limit, each write it proposes or settles with is one of its
// forms, or smaller.
func TestNoWriteIsLargerThanTheForms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
		p := limit.Policy{Algorithm: rapid.SampledFrom(limit.Algorithms()).Draw(t, "algorithm")}
		var state limit.State
		for range rapid.IntRange(1, 5).Draw(t, "policies") {
			l := anyLimit(t, p)
			most := largest(l.Forms())
			for range rapid.IntRange(1, 8).Draw(t, "calls") {
				now = now.Add(time.Duration(rapid.IntRange(0, 30_000).Draw(t, "pause")) * time.Millisecond)
				a := limit.Ask{
					Now: now, Cost: rapid.Int64Range(1, l.Capacity()).Draw(t, "cost"),
					Wait: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 700}).Draw(t, "wait")) * time.Millisecond,
				}
				a.Span = min(l.Span(state, a), time.Duration(rapid.SampledFrom([]int{0, 0, 500}).Draw(t, "span"))*time.Millisecond)
				proposed := l.Propose(state, a)
				writes := []limit.Write{proposed.Write}
				state = state.After(proposed.Changes)
				if proposed.Refusal == nil {
					c := limit.Charge{Cost: a.Cost, Mark: l.Mark(a, state)}
					if w, ok := l.Settle(c, rapid.Int64Range(0, 2*l.Capacity()).Draw(t, "settled"), state, now); ok {
						writes = append(writes, w)
						state = state.After(w.Changes)
					}
				}
				for _, w := range writes {
					if needs := sizeOf(w); needs.atLeast(most) != most {
						t.Fatalf("%s: %+v needs %+v, and the forms at most %+v", l.Policy(), w, needs, most)
					}
				}
			}
		}
	})
}

func anyLimit(t *rapid.T, p limit.Policy) *limit.Limit {
	p.Quota = rapid.SampledFrom([]int64{1, 2, 5, 9, 40, 200}).Draw(t, "quota")
	p.Period = rapid.SampledFrom([]time.Duration{10 * time.Second, 20 * time.Second, time.Minute, time.Hour}).Draw(t, "period")
	p.SoftPercent = rapid.SampledFrom([]int64{0, 50}).Draw(t, "soft percent")
	if p.Algorithm == "sliding_window_log" {
		p.Resolution = rapid.SampledFrom([]int64{0, 2, 10, 100}).Draw(t, "resolution")
	}
	l, err := limit.New(p)
	if err != nil {
		t.Fatal(fmt.Errorf("%+v: %w", p, err))
	}
	return l
}
