// Command config measures what a configuration of many tenants costs, on DynamoDB Local:
// to apply it, to start an instance with it, and to change one tenant.
//
//	go run ./bench/config [-tenants 50000] [-overrides 0.1]
//
// It starts what it needs and prints JSON. Units are DynamoDB's own count and exact on
// any machine, the times are those of this one.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

func main() {
	tenants := flag.Int("tenants", 50_000, "tenants of the configuration")
	overrides := flag.Float64("overrides", 0.1, "share of them with a limit of their own")
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *tenants, *overrides)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "config:", err)
		os.Exit(1)
	}
}

// A report is all that is measured.
type report struct {
	Tenants   int     `json:"tenants"`
	Overrides float64 `json:"overrides"`
	Parts     parts   `json:"parts"`
	Apply     cost    `json:"apply"`
	Again     cost    `json:"apply_the_same"`
	Start     start   `json:"start_of_an_instance"`
	Change    cost    `json:"change_of_a_tenant"`
	Next      cost    `json:"next_change_of_a_tenant"` // by the same process: it knows the parts
	Key       cost    `json:"new_key"`
	Refresh   cost    `json:"refresh_of_an_instance"`
	Unchanged cost    `json:"refresh_without_a_change"`
}

// A cost is what a step took.
type cost struct {
	Seconds    float64 `json:"seconds"`
	Calls      int     `json:"calls"`
	WriteUnits float64 `json:"write_units"`
	ReadUnits  float64 `json:"read_units"`
}

type start struct {
	cost
	HeapMB float64 `json:"heap_mb"`
}

// parts are sizes of what is stored, compressed, in bytes.
type parts struct {
	Number   int `json:"number"`
	Mean     int `json:"mean_bytes"`
	Largest  int `json:"largest_bytes"`
	Manifest int `json:"manifest_bytes"`
}

const table = "config"

var by = configstore.By{Who: "bench"}

func run(ctx context.Context, tenants int, overrides float64) error {
	server, err := dynamotest.Start(ctx)
	if err != nil {
		return err
	}
	defer server.Stop()
	if err := dynamo.CreateTables(ctx, dynamotest.NewClient(server.Endpoint()), dynamo.Tables{State: "state", Config: table}); err != nil {
		return err
	}
	m := &meter{}
	config := dynamotest.Config(server.Endpoint())
	config.APIOptions = append(config.APIOptions, m.observe)
	b := bench{ctx: ctx, meter: m, items: dynamo.NewConfigTable(dynamo.NewClient(config), table)}
	r := report{Tenants: tenants, Overrides: overrides}
	if err := b.measure(&r, configuration(tenants, overrides)); err != nil {
		return err
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// configuration is of the example's plans, and of tenants of whom a share has a limit of its own.
func configuration(tenants int, overrides float64) quota.Config {
	c := quota.Example()
	clear(c.Tenants)
	for i := range tenants {
		t := quota.Tenant{Plan: []string{"free", "pro"}[i%2]}
		if float64(i%100) < 100*overrides {
			t.Limits = []quota.Limit{{Name: "daily", Algorithm: "token_bucket", Quota: int64(1000 + i), Period: "day"}}
		}
		c.Tenants[fmt.Sprintf("tenant-%07d", i)] = t
	}
	return c
}

type bench struct {
	ctx   context.Context
	meter *meter
	items *dynamo.ConfigTable
}

// store is one of a process of its own: it knows nothing yet.
func (b bench) store() *configstore.Store { return configstore.New(b.items, configstore.Options{}) }

func (b bench) step(c *cost, do func() error) error {
	b.meter.reset()
	began := time.Now()
	err := do()
	*c = b.meter.cost(time.Since(began))
	return err
}

func (b bench) measure(r *report, c quota.Config) error {
	apply := func() error {
		_, err := b.store().Apply(b.ctx, c, configstore.Precondition{}, by, nil)
		return err
	}
	if err := b.step(&r.Apply, apply); err != nil {
		return err
	}
	if err := b.step(&r.Again, apply); err != nil {
		return err
	}
	if err := b.sizes(&r.Parts); err != nil {
		return err
	}
	now := time.Now()
	var live *quota.Live
	before := heap()
	err := b.step(&r.Start.cost, func() (err error) {
		options := quota.LiveOptions{WholeUpTo: len(c.Tenants), MaxWait: 5 * time.Second, Now: func() time.Time { return now }}
		live, err = quota.NewLive(b.ctx, b.store(), options)
		return err
	})
	if err != nil {
		return err
	}
	r.Start.HeapMB = float64(heap()-before) / (1 << 20)
	refresh := func() error {
		now = now.Add(30 * time.Second)
		live.Snapshot(b.ctx)
		return nil
	}
	if err := b.step(&r.Unchanged, refresh); err != nil {
		return err
	}
	writer := b.store()
	put := func(name string) func() error {
		return func() error {
			_, _, err := writer.PutTenant(b.ctx, name, quota.Tenant{Plan: "pro"}, configstore.Precondition{}, by)
			return err
		}
	}
	if err := b.step(&r.Change, put("tenant-0000000")); err != nil {
		return err
	}
	if err := b.step(&r.Refresh, refresh); err != nil {
		return err
	}
	if err := b.step(&r.Next, put("tenant-0000002")); err != nil {
		return err
	}
	runtime.KeepAlive(live)
	return b.step(&r.Key, func() error { return createKey(b.ctx, writer) })
}

// sizes reads what is stored.
func (b bench) sizes(p *parts) error {
	data, _, err := b.store().Manifest(b.ctx)
	if err != nil {
		return err
	}
	m, err := quota.DecodeManifest(data)
	if err != nil {
		return err
	}
	var sizes []int
	total := 0
	for digit := range 16 {
		for r := (configstore.Range{PK: fmt.Sprintf("part/%x", digit), Limit: 1000}); ; {
			items, more, err := b.items.Query(b.ctx, r)
			if err != nil {
				return err
			}
			for _, i := range items {
				r.After, sizes, total = i.SK, append(sizes, len(i.Data)), total+len(i.Data)
			}
			if !more {
				break
			}
		}
	}
	*p = parts{Number: len(m.Tenants), Mean: total / len(sizes), Largest: slices.Max(sizes), Manifest: len(data)}
	return nil
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
