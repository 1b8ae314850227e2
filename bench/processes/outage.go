package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// An outage is what callers see while the table is away.
type outage struct {
	What string `json:"what"`
	// Answers are counted by what they said: status, reason, rung.
	Answers map[string]int `json:"answers"`
	Errors  int            `json:"errors"` // calls without an answer
	// LongestMS is the longest any call took while the table was away, LongestAfterMS
	// when it was back: a DynamoDB Local that has just started is slow.
	LongestMS      int64 `json:"longest_ms"`
	LongestAfterMS int64 `json:"longest_after_ms"`
	// UnansweredAfter is how many writes the table that was back did not answer in time.
	UnansweredAfter int `json:"unanswered_after"`
	// RecoveredMS is how long after the table was back it decided again, AllRecoveredMS
	// until it had for every process; -1 when it did not.
	RecoveredMS    int64 `json:"recovered_ms"`
	AllRecoveredMS int64 `json:"all_recovered_ms"`
	// Allowed is what limits let pass whose share is decided locally.
	Allowed allowances `json:"allowed"`
}

const outageLength = 3 * time.Second

// A phase of a run, by the table.
type phase int

const (
	there phase = iota
	away
	returning // asked to come back: an answer by the table says that it has
	back
)

// An interruption takes the table away and brings it back.
type interruption struct {
	what      string
	endpoint  string
	away      func() error
	backAgain func() error
}

func (m measurement) outages(ctx context.Context, r *report) error {
	p, err := newProxy(m.table.Endpoint())
	if err != nil {
		return err
	}
	defer func() { _ = p.server.Close() }()
	client := dynamotest.NewClient(m.table.Endpoint())
	create := func() error { return dynamo.CreateTables(ctx, client, tables) }
	for _, i := range []interruption{
		{"the state table is deleted", m.table.Endpoint(), func() error {
			_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(tables.State)})
			return err
		}, create},
		{"DynamoDB is stopped, connections are refused", m.table.Endpoint(), func() error {
			m.table.Stop()
			return nil
		}, func() error {
			if err := m.table.Restart(ctx); err != nil {
				return err
			}
			return create()
		}},
		{"DynamoDB takes requests and never answers", p.url(), func() error {
			p.silence()
			return nil
		}, func() error {
			p.speak()
			return nil
		}},
	} {
		o, err := m.outage(ctx, i)
		if err != nil {
			return fmt.Errorf("%s: %w", i.what, err)
		}
		r.Outages = append(r.Outages, o)
	}
	return nil
}

// An outageRun is callers that go on while the table goes away and comes back.
type outageRun struct {
	outage
	fleet     *fleet
	allowance allowances

	mu        sync.Mutex
	phase     phase
	returned  time.Time
	recovered []time.Time // of each process
}

// outage takes the table away in the middle of a run.
func (m measurement) outage(ctx context.Context, i interruption) (outage, error) {
	f, err := launch(ctx, m.binary, m.processes, i.endpoint)
	defer f.stop()
	if err != nil {
		return outage{}, err
	}
	o := &outageRun{
		outage:    outage{What: i.what, Answers: map[string]int{}},
		fleet:     f,
		allowance: newAllowances(),
		recovered: make([]time.Time, m.processes),
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for caller := range m.callers {
		all.Go(func() {
			for n := 0; running.Err() == nil; n++ {
				o.call(ctx, caller, n)
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	o.waitUntilUsed()
	if err := i.away(); err != nil {
		return outage{}, err
	}
	o.enter(away)
	time.Sleep(outageLength)
	o.enter(returning)
	if err := i.backAgain(); err != nil {
		return outage{}, err
	}
	o.enter(back)
	time.Sleep(outageLength)
	stop()
	all.Wait()
	return o.conclude(), nil
}

// waitUntilUsed waits for the callers to use up what is to be, but not for ever: a table
// that has just started is slow.
func (o *outageRun) waitUntilUsed() {
	used := false
	for start := time.Now(); !used && time.Since(start) < 5*outageLength; {
		time.Sleep(time.Second)
		o.mu.Lock()
		used = o.allowance.used()
		o.mu.Unlock()
	}
}

// call makes a caller's n-th call: to a limit that denies while the table is away, to one
// that decides locally, to one whose admissions are counted.
func (o *outageRun) call(ctx context.Context, caller, n int) {
	resource, subject := "bucket", fmt.Sprintf("caller-%d-%d", caller, n/50)
	var counted *allowed
	switch n % 3 {
	case 1:
		resource = "local"
	case 2:
		o.mu.Lock()
		counted = o.allowance.next(caller/len(o.fleet.urls)+n/3, o.phase)
		o.mu.Unlock()
		resource, subject = counted.of.Resource, fmt.Sprintf("%s-%s", o.What, counted.subject)
	}
	a, err := o.fleet.check(ctx, caller, resource, subject)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count(a, err)
	counted.count(a, o.phase)
	if process := &o.recovered[caller%len(o.recovered)]; process.IsZero() && o.phase == back && a.Source == string(engine.Store) && a.Allowed {
		*process = time.Now()
	}
}

func (o *outageRun) enter(p phase) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.phase = p
	if p == back {
		o.returned = time.Now()
	}
}

func (o *outageRun) conclude() outage {
	o.RecoveredMS, o.AllRecoveredMS = -1, -1
	slices.SortFunc(o.recovered, time.Time.Compare)
	if last := o.recovered[len(o.recovered)-1]; !last.IsZero() {
		o.AllRecoveredMS = last.Sub(o.returned).Milliseconds()
	}
	for _, first := range o.recovered {
		if !first.IsZero() {
			o.RecoveredMS = first.Sub(o.returned).Milliseconds()
			break
		}
	}
	o.Allowed = o.allowance.conclude()
	return o.outage
}

// count takes an answer into the account.
func (o *outageRun) count(a answer, err error) {
	switch o.phase {
	case there:
		return
	case back:
		o.LongestAfterMS = max(o.LongestAfterMS, a.took.Milliseconds())
		if a.Outcome == "unknown" {
			o.UnansweredAfter++
		}
		return
	case away, returning:
	}
	o.LongestMS = max(o.LongestMS, a.took.Milliseconds())
	if err != nil {
		o.Errors++
		return
	}
	o.Answers[a.said()]++
}
