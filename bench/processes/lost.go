package main

import (
	"context"
	"fmt"
)

// lost is a thousand calls whose writes are applied and half of whose answers get
// lost. A call that was not answered is made again, at another process.
type lost struct {
	WithRequestID bool  `json:"with_request_id"`
	Calls         int64 `json:"calls"`
	LostAnswers   int64 `json:"lost_answers"`
	// Unknown is how many answers said that the outcome is not known.
	Unknown int64 `json:"unknown"`
	Charged int64 `json:"charged"`

	last answer
}

func (m measurement) lost(ctx context.Context, r *report) error {
	const capacity, calls = 10_000, 1000
	p, err := newProxy(m.table.Endpoint())
	if err != nil {
		return err
	}
	defer func() { _ = p.server.Close() }()
	f, err := launch(ctx, m.binary, m.processes, p.url())
	defer f.stop()
	if err != nil {
		return err
	}
	for _, withID := range []bool{true, false} {
		l := lost{WithRequestID: withID, Calls: calls}
		subject := fmt.Sprint("lost-", withID)
		before := p.lost.Load()
		p.losing.Store(true)
		for i := range calls {
			if err := l.call(ctx, f, subject, i); err != nil {
				return err
			}
		}
		p.losing.Store(false)
		l.LostAnswers = p.lost.Load() - before
		a, err := f.send(ctx, 0, fmt.Sprintf(`{"tenant":"acme","resource":"lossy","subject":%q,"cost":0}`, subject))
		if err != nil {
			return err
		}
		l.Charged = capacity - a.Left
		r.Lost = append(r.Lost, l)
	}
	return nil
}

// call makes a call until it is answered.
func (l *lost) call(ctx context.Context, f *fleet, subject string, i int) error {
	id := ""
	if l.WithRequestID {
		id = fmt.Sprintf(`,"request_id":"call-%d"`, i)
	}
	const tries = 20
	for try := range tries {
		a, err := f.send(ctx, i+try, fmt.Sprintf(`{"tenant":"acme","resource":"lossy","subject":%q%s}`, subject, id))
		if err != nil {
			return err
		}
		if a.Outcome == "unknown" {
			l.Unknown++
		}
		if a.Allowed {
			return nil
		}
		l.last = a
	}
	return fmt.Errorf("no answer in %d tries: %+v", tries, l.last)
}
