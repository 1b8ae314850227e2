package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// intervals are calls in bursts from all processes to a limit that refills whole, once
// in an interval. When an interval began stands in the table; how many it admitted is
// counted by the callers.
type intervals struct {
	PeriodMS int64 `json:"period_ms"`
	Quota    int64 `json:"quota"`
	Calls    int   `json:"calls"`
	// Errors are calls that got neither 200 nor 429, by what they got.
	Errors map[string]int `json:"errors"`
	// Unplaced is how many were admitted and cannot be said to be of one interval.
	Unplaced  int         `json:"unplaced"`
	Intervals []*interval `json:"intervals"`

	period time.Duration
	calls  []timed
}

// An interval is one of them.
type interval struct {
	// Rested is whether nobody called for a quarter of the period after the one before.
	Rested   bool  `json:"rested"`
	Admitted int64 `json:"admitted"`
	InTable  int64 `json:"in_table"` // as the table counts
	// GapMS is from the end of the interval before to the beginning of this one, which is
	// its first admission; FirstCallMS from there to when the first call was sent.
	GapMS       float64 `json:"gap_ms"`
	FirstCallMS float64 `json:"first_call_ms"`
	// Refused counts, by source, the calls sent in between that were refused although nothing was used.
	Refused map[string]int `json:"refused_in_the_gap,omitempty"`
	// UsedUpMS is from the beginning to the answer of the last that was admitted.
	UsedUpMS float64 `json:"used_up_ms"`

	began time.Time
}

// timed is a call and when it was under way.
type timed struct {
	answer
	sent, answered time.Time
	err            error
}

const intervalQuota = 10

func (m measurement) intervals(ctx context.Context, r *report) error {
	f, err := launch(ctx, m.binary, m.processes, m.table.Endpoint())
	defer f.stop()
	if err != nil {
		return err
	}
	registers, err := m.registers("interval", "callers")
	if err != nil {
		return err
	}
	x := intervals{PeriodMS: m.period.Milliseconds(), Quota: intervalQuota, Errors: map[string]int{}, period: m.period}
	for len(x.Intervals) <= m.rounds { // the one after the last shows its end
		x.burst(ctx, m, f)
		began, n, err := registers(ctx)
		if err != nil {
			return err
		}
		x.see(began, n)
		// Every second one is left alone when it is used up, and begins late.
		if len(x.Intervals)%2 == 0 && n >= intervalQuota {
			time.Sleep(time.Until(began.Add(m.period + m.period/4)))
			continue
		}
		time.Sleep(20 * time.Millisecond)
	}
	x.conclude()
	r.Intervals = x
	return nil
}

// registers returns how to read from the table when a subject's interval began, and how
// many it admitted.
func (m measurement) registers(resource, subject string) (read func(context.Context) (time.Time, int64, error), err error) {
	c, err := quota.ParseYAML([]byte(m.config()))
	if err != nil {
		return nil, err
	}
	s, err := c.Compile()
	if err != nil {
		return nil, err
	}
	items, err := s.Match(quota.Request{Tenant: "acme", Resource: resource, Subject: subject})
	if err != nil || len(items) != 1 {
		return nil, fmt.Errorf("%d items, want one: %w", len(items), err)
	}
	table := dynamo.New(dynamotest.NewClient(m.table.Endpoint()), tables.State, dynamo.WithBudget(10*time.Second))
	return func(ctx context.Context) (time.Time, int64, error) {
		states, err := table.Read(ctx, items[0].Key, []string{items[0].Rules[0].ID})
		if err != nil {
			return time.Time{}, 0, err
		}
		began, ok := states[0].Register("start")
		n, _ := states[0].Register("n")
		if !ok {
			return time.Time{}, 0, fmt.Errorf("no interval began: %+v", states[0])
		}
		return time.Unix(0, began), n, nil
	}, nil
}

// burst lets every caller call once, at the same time.
func (x *intervals) burst(ctx context.Context, m measurement, f *fleet) {
	calls := make([]timed, m.callers)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			c := &calls[i]
			c.sent = time.Now()
			c.answer, c.err = f.check(ctx, i, "interval", "callers")
			c.answered = time.Now()
		})
	}
	all.Wait()
	x.calls = append(x.calls, calls...)
}

// see takes what stands in the table into the account.
func (x *intervals) see(began time.Time, n int64) {
	if last := len(x.Intervals) - 1; last < 0 || !x.Intervals[last].began.Equal(began) {
		x.Intervals = append(x.Intervals, &interval{began: began, Rested: last >= 0 && last%2 == 1})
	}
	i := x.Intervals[len(x.Intervals)-1]
	i.InTable = max(i.InTable, n)
}

// conclude places every admitted call into its interval.
func (x *intervals) conclude() {
	for i := range x.calls {
		c := &x.calls[i]
		x.Calls++
		switch {
		case c.err != nil:
			x.Errors["no answer"]++
		case c.status != 200 && c.status != 429:
			x.Errors[c.said()]++
		case !c.Allowed:
		default:
			if in := x.of(c); in != nil {
				in.Admitted++
				in.UsedUpMS = max(in.UsedUpMS, milliseconds(c.answered.Sub(in.began)))
			} else {
				x.Unplaced++
			}
		}
	}
	for i := 1; i < len(x.Intervals); i++ {
		x.gap(x.Intervals[i-1].began.Add(x.period), x.Intervals[i])
	}
	x.Intervals = x.Intervals[:len(x.Intervals)-1]
}

// of returns the interval that admitted a call, nil when that is not clear. It was
// decided between being sent and being answered, so the rest of the interval that the
// answer tells (in ms, rounded up) says when the interval began, as exactly as that.
func (x *intervals) of(c *timed) (found *interval) {
	began := time.Duration(c.Reset)*time.Millisecond - x.period
	for _, i := range x.Intervals {
		if i.began.Before(c.sent.Add(began-time.Millisecond)) || i.began.After(c.answered.Add(began)) {
			continue
		}
		if found != nil {
			return nil
		}
		found = i
	}
	return found
}

// gap looks at what was between the end of an interval and the next.
func (x *intervals) gap(end time.Time, next *interval) {
	next.GapMS = milliseconds(next.began.Sub(end))
	first := next.began
	for i := range x.calls {
		c := &x.calls[i]
		if c.sent.Before(end) || c.sent.After(next.began) {
			continue
		}
		if c.sent.Before(first) {
			first = c.sent
		}
		if c.err == nil && !c.Allowed && (c.answered.Before(next.began) || c.Source == string(engine.BackOff)) {
			if next.Refused == nil {
				next.Refused = map[string]int{}
			}
			next.Refused[c.Source]++
		}
	}
	next.FirstCallMS = milliseconds(first.Sub(end))
}

func milliseconds(d time.Duration) float64 { return float64(d.Round(10*time.Microsecond)) / 1e6 }
