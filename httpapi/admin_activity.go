package httpapi

import (
	"fmt"
	"strconv"
	"time"

	"github.com/seed43908478/penstock/activity"
)

// getActivity answers GET activity: how many calls were allowed and refused lately.
func (a *admin) getActivity(c *adminCall) (reply, error) {
	q, err := c.query()
	if err != nil {
		return reply{}, err
	}
	tenant, steps := q.text("tenant"), q.minutes()*int(time.Minute/activity.Step)
	if tenant == "" {
		q.faults = append(q.faults, fault{"tenant", "is required: whose calls, as in ?tenant=acme"})
	}
	if err := q.end(); err != nil {
		return reply{}, err
	}
	if a.activity == nil {
		return reply{}, &problem{kind: notFound, detail: "Activity is known to the process that decides: penstock serve. On AWS it is in CloudWatch."}
	}
	now := a.now()
	return reply{body: struct {
		StepMS int64             `json:"step_ms"`
		To     time.Time         `json:"to"`
		Series []activity.Counts `json:"series"`
	}{activity.Step.Milliseconds(), now.UTC().Truncate(activity.Step).Add(activity.Step), a.activity.Recent(tenant, now, steps)}}, nil
}

// minutes returns how far back to tell, an hour at most.
func (q *query) minutes() int {
	const most = int(activity.Step * activity.Steps / time.Minute)
	given := q.values.Has("minutes")
	text := q.text("minutes")
	if !given {
		return most
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		q.faults = append(q.faults, fault{"minutes", fmt.Sprintf("must be from 1 to %d", most)})
		return most
	}
	return n
}
