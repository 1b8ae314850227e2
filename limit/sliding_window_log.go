package limit

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// slidingWindowLog is the exact sliding window: a first-in-first-out list of at
// most quota times. A new time is appended where there is room, else it replaces
// the oldest, which must be at least a period old. So every time either starts
// one of quota chains or follows another in its chain by a period or more: never
// more than quota in any window of one period.
//
// Guards are on positions. Whoever took the head, the next head is judged by the
// same guard: a lost race is a verdict, not a reason to try again.
//
// Times are milliseconds since 2025, to keep 117 of them within 1 KB. A call
// is written down as the millisecond it ends in and judged by the one it began
// in, so that nothing is lost to rounding: real distances are never below the period.
//
// A concurrency limit is a log too, of when slots become free: a call is written down
// as the time its hold ends at the latest, and no period has to pass after that. Whoever
// is done earlier takes its own time out again.
type slidingWindowLog struct {
	quota  int64
	period int64 // ms
	hold   int64 // ms: concurrency
}

const (
	maxLogQuota = 1000 // elements: 7 write units
	maxLogCost  = 100  // of one call: what an update expression can hold
	// maxLogUnits bounds what a fully used log costs: write units a second.
	maxLogUnits = 500
	logUnit     = 117 // elements within one write unit
)

var logEpoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// The branches of a log.
const (
	grow     Branch = iota // there is room
	replace                // the oldest elements are a period old
	resolved               // sub-windows were counted
	lowered                // as replace, but of more elements than one call can have
)

func newSlidingWindowLog(p Policy) (made, error) {
	if p.Resolution > 0 {
		return newSubWindowLog(p)
	}
	quota, period := p.soft(p.Quota), p.Period+p.Slack
	switch {
	case quota > maxLogQuota:
		return made{}, &FieldError{"quota", fmt.Sprintf("an exact log holds at most %d times, not %d; use resolution: 60", maxLogQuota, quota)}
	case p.Period%time.Millisecond != 0:
		return made{}, &FieldError{"period", fmt.Sprintf("of a sliding_window_log is in whole milliseconds, not %s", p.Period)}
	case p.Slack%time.Millisecond != 0:
		return made{}, &FieldError{"slack", fmt.Sprintf("of a sliding_window_log is in whole milliseconds, not %s", p.Slack)}
	}
	units := (quota + logUnit - 1) / logUnit
	if rate := float64(quota) / p.Period.Seconds() * float64(units); rate > maxLogUnits {
		return made{}, &FieldError{"quota", fmt.Sprintf("%s as an exact log writes %.0f units a second, above %d; use resolution: 60", p, rate, maxLogUnits)}
	}
	return made{slidingWindowLog{quota: quota, period: period.Milliseconds()}, period, min(quota, maxLogCost)}, nil
}

func newConcurrency(p Policy) (made, error) {
	quota := p.soft(p.Quota)
	switch {
	case quota > maxLogQuota:
		return made{}, &FieldError{"quota", fmt.Sprintf("at most %d slots are held at once, not %d", maxLogQuota, quota)}
	case p.Period%time.Millisecond != 0:
		return made{}, &FieldError{"ttl", fmt.Sprintf("is in whole milliseconds, not %s", p.Period)}
	}
	return made{slidingWindowLog{quota: quota, hold: p.Period.Milliseconds()}, p.Period, min(quota, maxLogCost)}, nil
}

func (l slidingWindowLog) propose(seen State, a Ask) Proposal {
	if stored, inParts := seen.Register(shape); inParts {
		times := l.times(seen, stored, a.Now)
		p := l.propose(State{Log: times}, a)
		return Proposal{Branch: resolved, Sure: true, Refusal: p.Refusal, Write: rewritten(seen, times, p.Write)}
	}
	began := logBegan(l.free(a))
	free, expired := l.room(seen.Log, began)
	size := int64(len(seen.Log))
	appended := Change{Kind: Append, N: int(a.Cost), Value: l.stamp(a)}
	switch {
	case expired >= a.Cost && free >= 0:
		return l.replace(a.Cost, Guard{Kind: SizeIn, Min: a.Cost, Max: l.quota}, began, appended)
	case free >= a.Cost:
		return Proposal{Branch: grow, Sure: expired == 0 && size > 0, Write: Write{
			Guards:  l.guards(Guard{Kind: SizeInOrAbsent, Max: l.quota - a.Cost}),
			Changes: []Change{appended},
		}}
	case free+expired >= a.Cost: // some room, or too many after the quota was lowered
		oldest := a.Cost - free
		if oldest <= min(l.quota, maxLogCost) {
			return l.replace(oldest, Guard{Kind: SizeIn, Min: oldest, Max: size}, began, appended)
		}
		// More than the limit's part of a write: it replaces the list, as it was seen.
		next := State{Log: seen.Log[oldest:]}.After([]Change{appended})
		return Proposal{Branch: replace, Write: rewrite(seen, next, l.guards(Guard{Kind: LogIs, Elements: seen.Log}))}
	}
	return Proposal{Refusal: l.refusal(slices.Max(seen.Log[:a.Cost-free]), a.Now)}
}

// guards are those of a list, and that it is one of times. Slots are always.
func (l slidingWindowLog) guards(list ...Guard) []Guard {
	if l.hold > 0 {
		return list
	}
	return append(list, ofTimes)
}

// free is the time by which the times that are replaced must be a period old. Slots are
// not promised ahead: they become free earlier than is written down.
func (l slidingWindowLog) free(a Ask) int64 {
	if l.hold > 0 {
		return a.Now.UnixNano()
	}
	return a.from()
}

// stamp is what is written down of a call.
func (l slidingWindowLog) stamp(a Ask) int64 { return logEnds(a.until()) + l.hold }

// refusal is until the time last is a period old. A slot may be released before.
func (l slidingWindowLog) refusal(last int64, now time.Time) *Refusal {
	r := &Refusal{RetryAfter: logDuration(last+l.period, now)}
	if l.hold > 0 {
		r.RetryAfter, r.Open = min(r.RetryAfter, releaseRetry), true
	}
	return r
}

// releaseRetry is when to look for a slot again at the latest.
const releaseRetry = time.Second

func (l slidingWindowLog) replace(oldest int64, size Guard, began int64, appended Change) Proposal {
	return Proposal{Branch: replace, Write: Write{
		Guards:  l.guards(size, Guard{Kind: ElementsIn, N: int(oldest), Min: math.MinInt64, Max: began - l.period}),
		Changes: []Change{{Kind: Remove, N: int(oldest)}, appended},
	}}
}

// room returns how many elements may be added (negative: how many are too many),
// and how many at the head are a period old.
func (l slidingWindowLog) room(log []int64, began int64) (free, expired int64) {
	for expired < int64(len(log)) && log[expired] <= began-l.period {
		expired++
	}
	return l.quota - int64(len(log)), expired
}

// logBegan and logEnds return the millisecond in which a time lies: where it begins and
// where it ends.
func logBegan(ns int64) int64 { return floorDiv(ns-logEpoch, int64(time.Millisecond)) }
func logEnds(ns int64) int64  { return -floorDiv(logEpoch-ns, int64(time.Millisecond)) }

// logDuration returns the time from now until the millisecond ms begins.
func logDuration(ms int64, now time.Time) time.Duration {
	return time.Duration(ms*int64(time.Millisecond) + logEpoch - now.UnixNano())
}

// forgotten is as many elements as any call can replace, all of them too old to count.
var forgotten = slices.Repeat([]int64{math.MinInt64 / 2}, maxLogCost)

func (l slidingWindowLog) assume(b Branch, now time.Time) State {
	switch {
	case b == grow:
		return State{}
	case b == resolved && l.hold == 0: // slots are never counted
		return subWindowLog{parts: maxParts, length: int64(time.Hour)}.assume(goesOn, now)
	case b == lowered:
		return State{Log: slices.Repeat(forgotten[:1], int(l.quota)+1)}
	}
	return State{Log: forgotten[:min(l.quota, maxLogCost)]}
}

func (l slidingWindowLog) standing(s State, now time.Time, _ int64) Standing {
	if stored, inParts := s.Register(shape); inParts {
		s = State{Log: l.times(s, stored, now)}
	}
	free, expired := l.room(s.Log, logBegan(now.UnixNano()))
	st := Standing{Remaining: max(0, free+expired)}
	if len(s.Log) > 0 {
		st.ResetAfter = max(0, logDuration(slices.Max(s.Log)+l.period, now))
	}
	if st.Remaining == 0 {
		st.RetryAfter = l.refusal(slices.Max(s.Log[:1-free]), now).RetryAfter
	}
	return st
}

// span is bounded by what a mark can tell: the times are of the end of the lease. A slot
// is a lease already.
func (l slidingWindowLog) span(State, Ask) time.Duration {
	if l.hold > 0 {
		return 0
	}
	return (1<<markSpan - 2) * time.Millisecond
}

// mark is the time that was written down, and how long before it the permits could be used.
func (l slidingWindowLog) mark(a Ask, _ State) int64 {
	stamp := l.stamp(a)
	return stamp<<markSpan | (stamp - l.hold - logBegan(a.from()))
}

const markSpan = 20 // bits

// giveBack takes the call's own times out again. Times of the same millisecond are alike:
// it does not matter whose they were. While the permits were for later, the times that theirs
// took the place of may still count: then as they counted at the latest.
func (l slidingWindowLog) giveBack(c Charge, n int64, seen State, now time.Time) (Write, bool) {
	stamp, began := c.Mark>>markSpan, logBegan(now.UnixNano())
	first := stamp - c.Mark&(1<<markSpan-1) // when the permits could be used
	from := slices.Index(seen.Log, stamp)
	if _, inParts := seen.Register(shape); inParts || from < 0 || stamp <= began-l.period {
		return Write{}, false
	}
	own := 0
	for own < int(min(n, maxLogCost)) && from+own < len(seen.Log) && seen.Log[from+own] == stamp {
		own++
	}
	w := Write{
		Guards:  l.guards(Guard{Kind: ElementsIn, From: from, N: own, Min: stamp, Max: stamp}),
		Changes: []Change{{Kind: Remove, From: from, N: own}},
	}
	if l.hold == 0 && first > began {
		w.Changes = append(w.Changes, Change{Kind: Append, N: own, Value: first - l.period})
	}
	return w, true
}

// owe writes times down beyond the quota, until there are twice as many, and in one call
// no more than a write can hold.
func (l slidingWindowLog) owe(n int64, seen State, now time.Time) (Write, bool) {
	if stored, inParts := seen.Register(shape); inParts {
		times := l.times(seen, stored, now)
		w, ok := l.owe(n, State{Log: times}, now)
		return rewritten(seen, times, w), ok
	}
	n = min(n, maxLogCost, 2*l.quota-int64(len(seen.Log)))
	if n <= 0 || l.hold > 0 {
		return Write{}, false
	}
	return Write{
		Guards:  l.guards(Guard{Kind: SizeInOrAbsent, Max: 2*l.quota - n}),
		Changes: []Change{{Kind: Append, N: int(n), Value: logEnds(now.UnixNano())}},
	}, true
}
