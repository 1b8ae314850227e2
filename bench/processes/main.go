// Command processes measures several penstock serve processes on one table of DynamoDB
// Local, from outside: whether exactly the quota is admitted, whether all that is due is,
// at how many calls to the table, and what callers see while the table is away.
//
//	go run ./bench/processes [-processes 4] [-callers 64]
//
// It starts what it needs and prints JSON. What it finds is not judged here: the counts
// are for the reader, the times are those of this machine.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

func main() {
	processes := flag.Int("processes", 4, "penstock serve processes")
	callers := flag.Int("callers", 64, "callers in all, spread over the processes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *processes, *callers)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "processes:", err)
		os.Exit(1)
	}
}

// A report is all that is measured.
type report struct {
	Processes int      `json:"processes"`
	Callers   int      `json:"callers"`
	Exact     []exact  `json:"exact"`
	Due       due      `json:"due"`
	Window    window   `json:"window"`
	Lost      []lost   `json:"lost_answers"`
	Outages   []outage `json:"outages"`
}

func run(ctx context.Context, processes, callers int) error {
	folder, err := os.MkdirTemp("", "penstock-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary, err := build(ctx, folder)
	if err != nil {
		return err
	}
	table, err := dynamotest.Start(ctx)
	if err != nil {
		return err
	}
	defer table.Stop()
	m := measurement{binary: binary, table: table, processes: processes, callers: callers}
	r := report{Processes: processes, Callers: callers}
	for _, measure := range []func(context.Context, *report) error{m.exact, m.due, m.window, m.lost, m.outages} {
		if err := measure(ctx, &r); err != nil {
			return err
		}
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
