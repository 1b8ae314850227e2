package quota_test

import (
	"fmt"

	"github.com/seed43908478/penstock/quota"
)

// The worked example of the package comment.
func Example() {
	config, err := quota.ParseYAML([]byte(`
plans:
  free:
    limits:
      - {name: per-user, by: [subject], algorithm: token_bucket, quota: 10, period: 1s, burst: 20}
      - {name: daily, algorithm: token_bucket, quota: 1000, period: day}
      - {name: exports, algorithm: sliding_window_log, quota: 5, period: minute, match: {resource: "POST /exports*"}}
tenants:
  acme:
    plan: free
    limits:
      - {name: daily, algorithm: token_bucket, quota: 2000, period: day}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	snapshot, err := config.Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	items, err := snapshot.Match(quota.Request{Tenant: "acme", Resource: "POST /exports/7", Subject: "alice"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range items {
		fmt.Println(item.Key, "for", item.Memory)
		for _, rule := range item.Rules {
			fmt.Println("   ", rule.Name, rule.Limit.Policy())
		}
	}
	// Output:
	// acme|subject|SAy71MWsxhML1U3tr97yeQ for 2s
	//     per-user 10 per 1s, burst 20
	// acme|| for 24h0m0s
	//     daily 2000 per 24h0m0s
	//     exports 5 per 1m0s
}
