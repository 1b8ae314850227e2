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
type slidingWindowLog struct {
	quota  int64
	period int64 // ms
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
	grow    Branch = iota // there is room
	replace               // the oldest elements are a period old
)

func newSlidingWindowLog(p Policy) (algorithm, time.Duration, int64, error) {
	switch {
	case p.Quota > maxLogQuota:
		return nil, 0, 0, &FieldError{"quota", fmt.Sprintf("an exact log holds at most %d times, not %d; use token_bucket", maxLogQuota, p.Quota)}
	case p.Burst > 0:
		return nil, 0, 0, &FieldError{"burst", "a sliding_window_log has none: remove it, or use token_bucket"}
	case p.Period%time.Millisecond != 0:
		return nil, 0, 0, &FieldError{"period", fmt.Sprintf("of a sliding_window_log is in whole milliseconds, not %s", p.Period)}
	}
	units := (p.Quota + logUnit - 1) / logUnit
	if rate := float64(p.Quota) / p.Period.Seconds() * float64(units); rate > maxLogUnits {
		return nil, 0, 0, &FieldError{"quota", fmt.Sprintf("%s as an exact log writes %.0f units a second, above %d; use token_bucket", p, rate, maxLogUnits)}
	}
	return slidingWindowLog{quota: p.Quota, period: p.Period.Milliseconds()}, p.Period, min(p.Quota, maxLogCost), nil
}

func (l slidingWindowLog) propose(seen State, now time.Time, cost int64) Proposal {
	began, ends := logTime(now)
	free, expired := l.room(seen.Log, began)
	size := int64(len(seen.Log))
	appended := Change{Kind: Append, N: int(cost), Value: ends}
	switch {
	case expired >= cost && free >= 0:
		return l.replace(cost, Guard{Kind: SizeIn, Min: cost, Max: l.quota}, began, appended)
	case free >= cost:
		return Proposal{Branch: grow, Sure: expired == 0 && size > 0, Write: Write{
			Guards:  []Guard{{Kind: SizeInOrAbsent, Max: l.quota - cost}},
			Changes: []Change{appended},
		}}
	case free+expired >= cost: // some room, or too many after the quota was lowered
		oldest := cost - free
		return l.replace(oldest, Guard{Kind: SizeIn, Min: oldest, Max: size}, began, appended)
	}
	last := slices.Max(seen.Log[:cost-free])
	return Proposal{Refusal: &Refusal{RetryAfter: logDuration(last+l.period, now)}}
}

func (l slidingWindowLog) replace(oldest int64, size Guard, began int64, appended Change) Proposal {
	return Proposal{Branch: replace, Write: Write{
		Guards:  []Guard{size, {Kind: ElementsIn, N: int(oldest), Min: math.MinInt64, Max: began - l.period}},
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

// logTime returns the millisecond in which now lies: where it begins and where it ends.
func logTime(now time.Time) (began, ends int64) {
	ns := now.UnixNano() - logEpoch
	began = ns / int64(time.Millisecond)
	if ns < 0 && ns%int64(time.Millisecond) != 0 {
		began--
	}
	ends = began
	if ns%int64(time.Millisecond) != 0 {
		ends++
	}
	return began, ends
}

// logDuration returns the time from now until the millisecond ms begins.
func logDuration(ms int64, now time.Time) time.Duration {
	return time.Duration(ms*int64(time.Millisecond) + logEpoch - now.UnixNano())
}

// forgotten is as many elements as any call can replace, all of them too old to count.
var forgotten = slices.Repeat([]int64{math.MinInt64 / 2}, maxLogCost)

func (l slidingWindowLog) assume(b Branch, _ time.Time) State {
	if b == grow {
		return State{}
	}
	return State{Log: forgotten[:min(l.quota, maxLogCost)]}
}

func (l slidingWindowLog) standing(s State, now time.Time, _ int64) Standing {
	began, _ := logTime(now)
	free, expired := l.room(s.Log, began)
	st := Standing{Remaining: max(0, free+expired)}
	if len(s.Log) > 0 {
		st.ResetAfter = max(0, logDuration(slices.Max(s.Log)+l.period, now))
	}
	if st.Remaining == 0 {
		st.RetryAfter = logDuration(slices.Max(s.Log[:1-free])+l.period, now)
	}
	return st
}

// giveBack takes the call's own elements out again. Elements of the same
// millisecond are alike: it does not matter whose they were.
func (l slidingWindowLog) giveBack(c Charge, seen State, _ time.Time) (Write, bool) {
	_, stamp := logTime(c.At)
	from := slices.Index(seen.Log, stamp)
	if from < 0 {
		return Write{}, false
	}
	n := 0
	for n < int(c.Cost) && from+n < len(seen.Log) && seen.Log[from+n] == stamp {
		n++
	}
	return Write{
		Guards:  []Guard{{Kind: ElementsIn, From: from, N: n, Min: stamp, Max: stamp}},
		Changes: []Change{{Kind: Remove, From: from, N: n}},
	}, true
}
