package engine

import (
	"time"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

const (
	// A remembered state that refuses is final for the cost it refuses, as admissions
	// only add to it. But a reset or a raised limit elsewhere is not seen, so it is
	// trusted for a twentieth of its retry time, within these bounds.
	minTrust = time.Second
	maxTrust = 10 * time.Second
	// One that is not final is trusted for about as long as asking takes, so that those who
	// come at once ask once.
	openTrust = 50 * time.Millisecond
)

// judge lets memory refuse, and else makes the proposals for the first write.
func (e *Engine) judge(a *answer, q question) {
	if a.ids.repeats() {
		a.outcome, a.source = repeated, Memory
		return
	}
	if a.isOutdated() {
		a.outcome, a.source = outdated, Memory
		return
	}
	if q.now.Before(a.key.hotUntil) {
		a.outcome, a.source = hot, BackOff
		return
	}
	if q.later() {
		e.judgeLater(a, q)
		return
	}
	a.ask = q.ask()
	for i, r := range a.item.Rules {
		v := &a.views[i]
		v.proposal = r.Limit.Propose(v.state, a.ask)
		switch refusal := v.proposal.Refusal; {
		case v.refuses(q.now):
			if r.Mode != quota.Shadow {
				a.outcome, a.source = refused, Memory
			}
		case v.backsOff(q.now) && a.outcome == open:
			v.proposal = limit.Proposal{Refusal: &limit.Refusal{RetryAfter: v.backOff.Sub(q.now)}}
			a.outcome, a.source = refused, BackOff
		case refusal != nil && len(v.proposal.Changes) == 0 || !v.proposal.Sure:
			e.predict(v, r.Limit, q)
		}
	}
}

// refuses reports whether what is remembered refuses for sure.
func (v *view) refuses(now time.Time) bool {
	r := v.proposal.Refusal
	return r != nil && (r.Never || len(v.proposal.Changes) == 0 && v.trusted(now))
}

// backsOff reports whether the limit is not to be asked yet. A reset or a raised limit
// elsewhere is to be seen as soon as by others: it is asked when what is known is too old.
func (v *view) backsOff(now time.Time) bool {
	return now.Before(v.backOff) && now.Sub(v.at) <= maxTrust
}

// trusted reports whether a remembered state that refuses may still do so.
func (v *view) trusted(now time.Time) bool {
	age := now.Sub(v.at)
	if v.proposal.Refusal.Open {
		return !v.at.IsZero() && age <= openTrust
	}
	trust := (v.proposal.Refusal.RetryAfter + age) / 20
	return !v.at.IsZero() && age <= min(max(trust, minTrust), maxTrust)
}
