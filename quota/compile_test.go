package quota_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seed43908478/penstock/quota"
)

func TestCompileRefusesWhatIsNotValid(t *testing.T) {
	t.Parallel()
	_, err := quota.Config{DefaultPlan: "gold"}.Compile()
	problems, ok := errors.AsType[quota.Problems](err)
	want := quota.Problem{Path: "default_plan", Text: `there is no plan "gold": add it to plans`}
	if !ok || len(problems) != 1 || problems[0] != want {
		t.Errorf("%v, want %v", err, want)
	}
}

// A snapshot is compiled while a request waits for it.
func BenchmarkDecodeAndCompile(b *testing.B) {
	for _, n := range []int{2, 1000, 50_000} {
		config := quota.Example()
		for i := range n - 2 {
			config.Tenants[fmt.Sprintf("tenant-%d", i)] = quota.Tenant{Plan: "free"}
		}
		data, err := quota.Encode(config)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("tenants=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				config, err := quota.Decode(data)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := config.Compile(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
