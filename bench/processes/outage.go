package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// An outage is what callers see while the table is away.
type outage struct {
	What string `json:"what"`
	// Answers are counted by status, reason and rung: "503 store_error".
	Answers map[string]int `json:"answers"`
	Errors  int            `json:"errors"` // calls without an answer
	// LongestMS is the longest any call took while the table was away, LongestAfterMS
	// when it was back: a DynamoDB Local that has just started is slow.
	LongestMS      int64 `json:"longest_ms"`
	LongestAfterMS int64 `json:"longest_after_ms"`
	// RecoveredMS is how long after the table was back the store decided again.
	RecoveredMS int64 `json:"recovered_ms"`
}

const outageLength = 3 * time.Second

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
	names := dynamo.Tables{State: "penstock-state", Config: "penstock-config"}
	create := func() error { return dynamo.CreateTables(ctx, client, names) }
	for _, i := range []interruption{
		{"the state table is deleted", m.table.Endpoint(), func() error {
			_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(names.State)})
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

// outage takes the table away in the middle of a run.
func (m measurement) outage(ctx context.Context, i interruption) (outage, error) {
	o := outage{What: i.what, Answers: map[string]int{}}
	f, err := launch(ctx, m.binary, m.processes, i.endpoint)
	defer f.stop()
	if err != nil {
		return o, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var away, returned, recovered time.Time
	var all sync.WaitGroup
	for caller := range m.callers {
		all.Go(func() {
			for n := 0; running.Err() == nil; n++ {
				resource := []string{"bucket", "local"}[n%2]
				a, err := f.check(ctx, caller, resource, fmt.Sprintf("caller-%d-%d", caller, n/50))
				mu.Lock()
				o.count(a, err, !away.IsZero() && returned.IsZero(), !returned.IsZero())
				if recovered.IsZero() && !returned.IsZero() && a.Source == "store" && a.Allowed {
					recovered = time.Now()
				}
				mu.Unlock()
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	time.Sleep(time.Second)
	if err := i.away(); err != nil {
		return o, err
	}
	mark(&mu, &away)
	time.Sleep(outageLength)
	if err := i.backAgain(); err != nil { // calls made until then count as during the outage
		return o, err
	}
	mark(&mu, &returned)
	time.Sleep(outageLength)
	stop()
	all.Wait()
	o.RecoveredMS = recovered.Sub(returned).Milliseconds()
	if recovered.IsZero() {
		o.RecoveredMS = -1
	}
	return o, nil
}

func mark(mu *sync.Mutex, t *time.Time) {
	mu.Lock()
	defer mu.Unlock()
	*t = time.Now()
}

// count takes an answer into the account.
func (o *outage) count(a answer, err error, during, after bool) {
	switch {
	case after:
		o.LongestAfterMS = max(o.LongestAfterMS, a.took.Milliseconds())
		return
	case !during:
		return
	}
	o.LongestMS = max(o.LongestMS, a.took.Milliseconds())
	switch {
	case err != nil:
		o.Errors++
	default:
		said := slices.DeleteFunc([]string{strconv.Itoa(a.status), a.Title, a.Reason, a.Source, a.Degraded, a.Outcome}, func(s string) bool { return s == "" })
		o.Answers[strings.Join(said, " ")]++
	}
}
