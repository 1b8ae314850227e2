package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

const (
	// hotRetry is when to come back to a key that the store throttles.
	hotRetry = time.Second
	// contestedRetry is the longest wait told while a charge may still be given back.
	contestedRetry = time.Second
	// A call that lost too many writes may come back after a time between these.
	minContended = 10 * time.Millisecond
	maxContended = 50 * time.Millisecond
)

// decision puts the answers of all items together.
func (e *Engine) decision(answers []answer, q question) Decision {
	d := Decision{
		At: q.now, Allowed: true, Deciding: -1, Granted: q.cost, TTL: q.ttl, Source: Store,
		Verdicts: make([]Verdict, 0, countRules(answers)), answers: answers,
	}
	for i := range answers {
		a := &answers[i]
		d.Writes += a.writes
		d.Unknown = d.Unknown || a.err != nil && a.err.Unknown
		d.add(a)
		for j, r := range a.item.Rules {
			v := e.verdict(a, j, r, q).ofWhole(a.item.Shards)
			v.TenantWide = a.item.Parts == 0
			d.Verdicts = append(d.Verdicts, v)
		}
	}
	if len(answers) > 1 {
		slices.SortStableFunc(d.Verdicts, func(a, b Verdict) int { return cmp.Compare(a.Rule.Order, b.Rule.Order) })
	}
	d.decide()
	return d
}

func countRules(answers []answer) (n int) {
	for i := range answers {
		n += len(answers[i].item.Rules)
	}
	return n
}

// add takes from an answer whether and why it refuses, what it rests on, and for when
// its permits are.
func (d *Decision) add(a *answer) {
	d.Allowed = d.Allowed && a.passes()
	if a.charged() {
		d.Wait, d.Granted, d.TTL = max(d.Wait, a.ask.Wait), min(d.Granted, a.ask.Cost), min(d.TTL, a.ask.Span)
	}
	if a.outcome == repeated {
		d.Repeat, d.Source = true, a.source
	}
	if a.outcome == failed {
		if a.below.degraded != NotDegraded && d.Degraded != DegradedLocal {
			d.Degraded = a.below.degraded
		}
		if d.Reason == "" {
			d.Source = LocalBucket
		}
	}
	if a.passes() || a.outcome == open || d.Reason != "" {
		return
	}
	switch a.outcome {
	case undecided:
		d.Reason, d.Source = Contended, Store
	case hot:
		d.Reason, d.Source = HotKey, a.source
	case failed:
		d.Reason = QuotaUsed
		if a.below.denied {
			d.Reason = StoreError
		}
	default:
		d.Reason, d.Source = QuotaUsed, a.source
	}
}

// verdict is what one rule of an answer says.
func (e *Engine) verdict(a *answer, i int, r *quota.Rule, q question) Verdict {
	switch a.outcome {
	case failed:
		return a.below.verdict(i, r, q.now, q.cost)
	case hot:
		return Verdict{Rule: r, Standing: limit.Standing{RetryAfter: hotRetry}}
	case undecided:
		retry := minContended + time.Duration(e.random()*float64(maxContended-minContended))
		return Verdict{Rule: r, Standing: limit.Standing{RetryAfter: retry}}
	case admitted:
		charged := a.ask.Cost
		if !a.views[i].charged {
			charged = 0
		}
		return a.views[i].verdict(r, q.now, charged)
	default:
		v := a.views[i].verdict(r, q.now, 0)
		if a.contested {
			v.RetryAfter = min(v.RetryAfter, contestedRetry)
		}
		return v
	}
}

// verdict is what the state in a view says to a call that was charged that much.
func (v *view) verdict(r *quota.Rule, now time.Time, charged int64) Verdict {
	out := Verdict{Rule: r, Allowed: true, Standing: r.Limit.Standing(v.state, now, charged)}
	out.RetryAfter = 0
	if refusal := v.proposal.Refusal; refusal != nil {
		out.Allowed, out.Never, out.RetryAfter = false, refusal.Never, refusal.RetryAfter
	}
	return out
}

// decide finds the verdict that decided.
func (d *Decision) decide() {
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Allowed != d.Allowed || v.Rule.Mode == quota.Shadow {
			continue
		}
		if d.Deciding < 0 || d.Allowed && v.share() < d.Verdicts[d.Deciding].share() || !d.Allowed && v.longer(&d.Verdicts[d.Deciding]) {
			d.Deciding = i
		}
		d.Wait = max(d.Wait, v.Wait)
	}
	if !d.Allowed {
		d.Wait, d.Granted, d.TTL = 0, 0, 0
	}
	if d.Deciding >= 0 {
		d.Never, d.RetryAfter = d.Verdicts[d.Deciding].Never, d.Verdicts[d.Deciding].RetryAfter
	}
}

// share is how much of a limit remains, of 1.
func (v *Verdict) share() float64 { return float64(v.Remaining) / float64(v.Rule.Limit.Full()) }

// longer reports whether v keeps the call waiting longer than w.
func (v *Verdict) longer(w *Verdict) bool {
	if v.Never != w.Never {
		return v.Never
	}
	return v.RetryAfter > w.RetryAfter
}
