package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// plans is how a changed quota arrives at all processes, and what happens without the
// table that has the configuration.
type plans struct {
	// ArrivedMS is, for each process, from the answer to the change to its first check by the new quota,
	// where every process has a subject of its own, and nobody tells it of the change.
	ArrivedMS []float64 `json:"arrived_ms"`
	// SharedMS is the same where all have the same subject: its item says that there is a newer configuration.
	SharedMS []float64 `json:"arrived_at_a_shared_key_ms"`
	// Without the configuration's table: checks by status, and what a change is told.
	Checks  map[string]int `json:"checks_without_the_table"`
	Refused string         `json:"a_change_without_the_table"`
}

const adminKey = "a key for measurements only"

func (m measurement) plans(ctx context.Context, r *report) error {
	f, err := launch(ctx, m.binary, m.processes, m.table.Endpoint())
	defer f.stop()
	if err != nil {
		return err
	}
	x := plans{Checks: map[string]int{}}
	if x.ArrivedMS, err = f.arrives(ctx, 7, func(process int) string { return fmt.Sprint("process-", process) }); err != nil {
		return err
	}
	if x.SharedMS, err = f.arrives(ctx, 8, func(int) string { return "shared" }); err != nil {
		return err
	}
	if _, err := dynamotest.NewClient(m.table.Endpoint()).DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &tables.Config}); err != nil {
		return err
	}
	for start, i := time.Now(), 0; time.Since(start) < 40*time.Second; i++ { // longer than plans are believed without asking
		a, err := f.check(ctx, i, "bucket", fmt.Sprint("without-", i))
		if err != nil {
			return err
		}
		x.Checks[a.said()]++
		time.Sleep(10 * time.Millisecond)
	}
	_, x.Refused, err = f.change(ctx, 9)
	r.Plans = x
	return err
}

// arrives changes a quota and tells when each process had it.
func (f *fleet) arrives(ctx context.Context, quota int, subject func(process int) string) ([]float64, error) {
	for i := range f.urls { // they have the old one
		if _, err := f.quota(ctx, i, subject(i)); err != nil {
			return nil, err
		}
	}
	status, said, err := f.change(ctx, quota)
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("the change: %s: %w", said, err)
	}
	changed := time.Now()
	arrived, failed := make([]float64, len(f.urls)), make([]error, len(f.urls))
	var all sync.WaitGroup
	for i := range f.urls {
		all.Go(func() {
			for time.Since(changed) < time.Minute {
				q, err := f.quota(ctx, i, subject(i))
				if err != nil || q == quota {
					arrived[i], failed[i] = milliseconds(time.Since(changed)), err
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			failed[i] = fmt.Errorf("process %d did not have it within a minute", i)
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return arrived, nil
}

// change gives acme another quota.
func (f *fleet) change(ctx context.Context, quota int) (status int, said string, err error) {
	body := fmt.Sprintf(`{"plan":"measured","limits":[{"name":"changing","match":{"resource":"changing"},"by":["subject"],"algorithm":"token_bucket","quota":%d,"period":"1s"}]}`, quota)
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, f.urls[0]+"/admin/v1/tenants/acme", bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+adminKey)
	r.Header.Set("If-Match", "*")
	resp, err := f.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var problem struct {
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}
	err = json.NewDecoder(resp.Body).Decode(&problem)
	return resp.StatusCode, fmt.Sprint(resp.StatusCode, " ", problem.Title, ": ", problem.Detail), err
}

// quota asks the i-th process by which quota it decides; 0 while it has no such limit.
func (f *fleet) quota(ctx context.Context, i int, subject string) (int, error) {
	a, err := f.check(ctx, i, "changing", subject)
	if err != nil || len(a.Limits) == 0 {
		return 0, err
	}
	return a.Limits[0].Quota, nil
}
