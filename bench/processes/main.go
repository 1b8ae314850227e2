// Command processes measures several penstock serve processes on one table of DynamoDB
// Local, from outside: whether exactly the quota is admitted, whether all that is due is,
// at how many calls to the table, and what callers see while the table is away.
//
//	go run ./bench/processes [-processes 4] [-callers 64]
//	go run ./bench/processes -processes 8 -scenes interval,outages,plans
//	go run ./bench/processes -processes 8 -scenes interval -interval 1m -intervals 3
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
	"slices"
	"strings"
	"time"

	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// settings are what the flags say.
type settings struct {
	processes, callers int
	scenes             []string
	period             time.Duration // of the limit in the scene interval
	rounds             int           // how many of its intervals are measured
}

func main() {
	var s settings
	flag.IntVar(&s.processes, "processes", 4, "penstock serve processes")
	flag.IntVar(&s.callers, "callers", 64, "callers in all, spread over the processes")
	named := flag.String("scenes", strings.Join(sceneNames(), ","), "what to measure, separated by commas")
	flag.DurationVar(&s.period, "interval", 2*time.Second, "the period of the limit in the scene interval, at least 1s")
	flag.IntVar(&s.rounds, "intervals", 10, "how many intervals the scene interval lasts")
	flag.Parse()
	s.scenes = strings.Split(*named, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "processes:", err)
		os.Exit(1)
	}
}

// check finds what cannot be measured.
func (s settings) check() error {
	switch {
	case s.processes < 1, s.callers < s.processes:
		return fmt.Errorf("-processes %d -callers %d: use at least one process, and a caller for each", s.processes, s.callers)
	case s.period < time.Second:
		return fmt.Errorf("-interval %s: use at least 1s, else intervals cannot be told apart from outside", s.period)
	case s.rounds < 1:
		return fmt.Errorf("-intervals %d: use at least 1", s.rounds)
	}
	for _, name := range s.scenes {
		if !slices.Contains(sceneNames(), name) {
			return fmt.Errorf("-scenes %s: there is no such scene, use some of %s", name, strings.Join(sceneNames(), ","))
		}
	}
	return nil
}

// A scene is one thing that is measured.
type scene struct {
	name    string
	measure func(measurement, context.Context, *report) error
}

var scenes = []scene{
	{"exact", measurement.exact},
	{"due", measurement.due},
	{"window", measurement.window},
	{"interval", measurement.intervals},
	{"lost", measurement.lost},
	{"outages", measurement.outages},
	{"plans", measurement.plans},
}

func sceneNames() (names []string) {
	for _, s := range scenes {
		names = append(names, s.name)
	}
	return names
}

// A report is all that is measured.
type report struct {
	Processes int       `json:"processes"`
	Callers   int       `json:"callers"`
	Exact     []exact   `json:"exact,omitzero"`
	Due       due       `json:"due,omitzero"`
	Window    window    `json:"window,omitzero"`
	Intervals intervals `json:"intervals,omitzero"`
	Lost      []lost    `json:"lost_answers,omitzero"`
	Outages   []outage  `json:"outages,omitzero"`
	Plans     plans     `json:"plans,omitzero"`
}

func run(ctx context.Context, s settings) error {
	if err := s.check(); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "penstock-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary, err := build(ctx, folder, s.config())
	if err != nil {
		return err
	}
	table, err := dynamotest.Start(ctx)
	if err != nil {
		return err
	}
	defer table.Stop()
	m := measurement{settings: s, binary: binary, table: table}
	r := report{Processes: s.processes, Callers: s.callers}
	for _, scene := range scenes {
		if !slices.Contains(s.scenes, scene.name) {
			continue
		}
		if err := scene.measure(m, ctx, &r); err != nil {
			return fmt.Errorf("%s: %w", scene.name, err)
		}
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
