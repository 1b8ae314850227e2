package quota_test

import (
	"testing"

	"github.com/seed43908478/penstock/quota"
)

func TestRatesThatOneItemDoesNotTake(t *testing.T) {
	t.Parallel()
	_, warnings, err := quota.CheckYAML([]byte(`plans:
  p:
    limits:
      - {name: fits, algorithm: token_bucket, quota: 30000, period: minute}
      - name: hot
        algorithm: token_bucket
        period: 1s
        quota: 10000
        burst: 5000
      - {name: uneven, algorithm: leaky_bucket, quota: 1009, period: 1s}
      - {name: spread, algorithm: token_bucket, quota: 2000, period: 1s, spread: 2}
      - {name: spread-enough, algorithm: token_bucket, quota: 2000, period: 1s, spread: 4}
      - {name: leased, algorithm: fixed_window, quota: 2000000, period: 1s}
      - {name: hot-but-off, algorithm: token_bucket, quota: 10000, period: 1s, mode: off}
      - {name: slots, by: [subject], algorithm: concurrency, quota: 1000, ttl: 100ms}
tenants:
  acme: {plan: p, limits: [{name: own, algorithm: token_bucket, quota: 1000, period: 1s}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `penstock.yaml:8: plans.p.limits[1].quota: 10000 per 1s, burst 5000 is more than the 500 calls a second that one item takes, so calls of one permit cannot have all of it: give each subject its own (by: [subject]), spread it (spread: 20), or lease many permits by one call (POST /v1/leases)
penstock.yaml:10: plans.p.limits[2].quota: 1009 per 1s is more than the 500 calls a second that one item takes, so calls of one permit cannot have all of it: give each subject its own (by: [subject])
penstock.yaml:11: plans.p.limits[3].quota: 2000 per 1s over 2 shards is more than the 500 calls a second that one item takes, so calls of one permit cannot have all of it: give each subject its own (by: [subject]), spread it (spread: 4), or lease many permits by one call (POST /v1/leases)
penstock.yaml:13: plans.p.limits[5].quota: 2000000 per 1s is more than the 500 calls a second that one item takes, so calls of one permit cannot have all of it: give each subject its own (by: [subject]), or lease many permits by one call (POST /v1/leases)
penstock.yaml:17: tenants.acme.limits[0].quota: 1000 per 1s is more than the 500 calls a second that one item takes, so calls of one permit cannot have all of it: give each subject its own (by: [subject]), spread it (spread: 2), or lease many permits by one call (POST /v1/leases)`
	if got := warnings.In("penstock.yaml"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnUnreadableFileHasNoWarnings(t *testing.T) {
	t.Parallel()
	_, warnings, err := quota.CheckYAML([]byte("plans: {p: {limits: [{name: hot, algorithm: token_bucket, quota: 1000, period: 1s, burst: -1}]}}"))
	if err == nil || warnings != nil {
		t.Errorf("%v, warnings %v", err, warnings)
	}
}

func TestEvenSpread(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		quota, burst, want int64
	}{{500, 0, 1}, {501, 0, 3}, {1000, 0, 2}, {1000, 1, 0}, {1009, 0, 0}, {32000, 64, 64}, {64000, 0, 0}} {
		l := quota.Limit{Algorithm: "token_bucket", Quota: c.quota, Burst: c.burst, Period: "1s"}
		if got := l.EvenSpread(); got != c.want {
			t.Errorf("%d a second, burst %d: spread %d, want %d", c.quota, c.burst, got, c.want)
		}
	}
}
