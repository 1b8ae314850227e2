package limit

import (
	"testing"
	"time"
)

func BenchmarkPropose(b *testing.B) {
	log := mustNew(b, Policy{Algorithm: "sliding_window_log", Quota: 100, Period: time.Minute})
	bucket := mustNew(b, Policy{Algorithm: "token_bucket", Quota: 100, Period: time.Second})
	parts := mustNew(b, Policy{Algorithm: "sliding_window_log", Quota: 1_000_000, Period: time.Minute, Resolution: 60})
	full := log.Assume(replace, noon)
	for _, c := range []struct {
		name  string
		limit *Limit
		seen  State
	}{
		{"bucket-rested", bucket, State{}},
		{"bucket-busy", bucket, bucket.Assume(busy, noon)},
		{"log-grow", log, State{}},
		{"log-replace", log, full},
		{"log-in-parts", parts, parts.Assume(goesOn, noon)},
		{"log-in-parts-next", parts, parts.Assume(goesOn, noon.Add(-time.Second))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p := c.limit.Propose(c.seen, Ask{Now: noon, Cost: 1}); p.Refusal != nil {
					b.Fatal("refused")
				}
			}
		})
	}
}
