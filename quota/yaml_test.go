package quota_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/quota"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"
)

func TestParseYAMLReadsEveryMember(t *testing.T) {
	t.Parallel()
	config, err := quota.ParseYAML([]byte(`
plans:
  free:
    limits:
      - name: per-user
        match: {resource: "GET /search*", attributes: {ip: "*"}}
        by: [subject, attributes.ip]
        algorithm: token_bucket
        quota: 10
        period: day
        burst: 20
        mode: enforce
        soft_percent: 5
        on_store_error: deny
        slack: 50ms
        resolution: 0
        spread: 2
        request_ids: 32
        anchor_day: 1
      - {name: at-once, algorithm: concurrency, quota: 4, ttl: 30s}
      - {name: fewer, algorithm: token_bucket, quota: 5, period: day, shadows: per-user}
      - {name: many, algorithm: sliding_window_log, quota: 1000000, period: hour, resolution: 60}
tenants:
  1001: {plan: free}
  acme: {plan: free, limits: [{name: fewer, mode: off}]}
default_plan: free
`))
	if err != nil {
		t.Fatal(err)
	}
	want := quota.Config{
		Plans: map[string]quota.Plan{"free": {Limits: []quota.Limit{{
			Name:         "per-user",
			Match:        quota.Match{Resource: "GET /search*", Attributes: map[string]string{"ip": "*"}},
			By:           []string{"subject", "attributes.ip"},
			Algorithm:    "token_bucket",
			Quota:        10,
			Period:       "day",
			Burst:        20,
			Mode:         quota.Enforce,
			OnStoreError: quota.Deny,
			SoftPercent:  5,
			Slack:        "50ms",
			Spread:       2,
			RequestIDs:   32,
			AnchorDay:    1,
		}, {
			Name: "at-once", Algorithm: "concurrency", Quota: 4, TTL: "30s",
		}, {
			Name: "fewer", Algorithm: "token_bucket", Quota: 5, Period: "day", Shadows: "per-user",
		}, {
			Name: "many", Algorithm: "sliding_window_log", Quota: 1_000_000, Period: "hour", Resolution: 60,
		}}}},
		Tenants: map[string]quota.Tenant{
			"1001": {Plan: "free"},
			"acme": {Plan: "free", Limits: []quota.Limit{{Name: "fewer", Mode: quota.Off}}},
		},
		DefaultPlan: "free",
	}
	if !reflect.DeepEqual(config, want) {
		t.Errorf("read\n%+v, want\n%+v", config, want)
	}
}

func TestParseYAMLReadsWhatWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyConfig.Draw(t, "config")
		data, err := yaml.Dump(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := quota.ParseYAML(data)
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		if got.Tenants == nil {
			got.Tenants = map[string]quota.Tenant{} // none are not written
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("read %+v, want %+v, from\n%s", got, want, data)
		}
	})
}

func TestParseYAMLReadsJSON(t *testing.T) {
	t.Parallel()
	config, err := quota.ParseYAML([]byte(`{"plans": {"p": {"limits": [{"name": "a", "algorithm": "token_bucket", "quota": 1, "period": "1s"}]}}, "default_plan": "p"}`))
	if err != nil || config.Plans["p"].Limits[0].Quota != 1 {
		t.Errorf("%+v, %v", config, err)
	}
}

func TestParseYAMLRefusesAFileOverTheLimit(t *testing.T) {
	t.Parallel()
	data := append([]byte("plans: {}\n"), bytes.Repeat([]byte("#\n"), 8<<20)...)
	_, err := quota.ParseYAML(data)
	if err == nil || !strings.Contains(err.Error(), "at most 16777216 are read") {
		t.Errorf("%v", err)
	}
}

// Files that would take a parser minutes, gigabytes or its stack.
func TestParseYAMLIsNotExhausted(t *testing.T) {
	t.Parallel()
	const n = 50_000
	for name, text := range map[string]string{
		"brackets":  strings.Repeat("[", n),
		"braces":    strings.Repeat("{a: ", n),
		"dashes":    strings.Repeat("- ", n),
		"questions": strings.Repeat("? ", n),
		"anchors":   strings.Repeat("&a ", n),
		"tags":      strings.Repeat("!a ", n),
		"indented":  indented(2000),
		"same keys": strings.Repeat("a: b\n", n),
		"quadratic": "plans: &a [" + strings.Repeat("*a,", n) + "]",
		"laughs":    laughs(),
	} {
		began := time.Now()
		if _, err := quota.ParseYAML([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func indented(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func laughs() string {
	text := "l0: &l0 [lol]\n"
	for i := range 20 {
		text += strings.NewReplacer("N", string(rune('a'+i+1)), "M", string(rune('a'+i))).
			Replace("lN: &lN [*lM, *lM, *lM, *lM, *lM, *lM, *lM, *lM, *lM]\n")
	}
	return strings.ReplaceAll(text, "*la", "*l0") + "plans: *lu\n"
}

func manyTenants(n int, plan string) []byte {
	b := []byte("plans: {free: {}}\ntenants:\n")
	for i := range n {
		b = fmt.Appendf(b, "  tenant-%d: {plan: %s}\n", i, plan)
	}
	return b
}

func TestParseYAMLManyTenants(t *testing.T) {
	t.Parallel()
	config, err := quota.ParseYAML(manyTenants(50_000, "free"))
	if err != nil || len(config.Tenants) != 50_000 {
		t.Errorf("%d tenants, %v", len(config.Tenants), err)
	}
}

func TestParseYAMLManyProblems(t *testing.T) {
	t.Parallel()
	_, err := quota.ParseYAML(manyTenants(1000, "gold"))
	problems, _ := errors.AsType[quota.Problems](err)
	if len(problems) != 101 || problems[99].Line != 102 || problems[100].Text != "900 more are not listed" {
		t.Errorf("%d problems, the last: %v", len(problems), problems[len(problems)-2:])
	}
}

func FuzzParseYAML(f *testing.F) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "example.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := quota.ParseYAML(data)
		if err == nil {
			if _, err := config.Compile(); err != nil {
				t.Errorf("what was read does not compile: %v", err)
			}
			return
		}
		problems, ok := errors.AsType[quota.Problems](err)
		if !ok || len(problems) == 0 {
			t.Fatalf("%v, want Problems", err)
		}
		lines := 1 // as YAML counts them
		for _, r := range string(data) {
			if strings.ContainsRune("\r\n\u0085\u2028\u2029", r) {
				lines++
			}
		}
		for _, p := range problems {
			if p.Text == "" || strings.ContainsAny(p.String(), "\n\x00") || p.Line > lines+1 {
				t.Errorf("%q", p)
			}
		}
	})
}

func BenchmarkParseYAML(b *testing.B) {
	for _, n := range []int{1, 1000, 50_000} {
		data := manyTenants(n, "free")
		b.Run(fmt.Sprintf("tenants=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := quota.ParseYAML(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
