package limit

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyPolicy draws a policy of any algorithm.
func anyPolicy(t *rapid.T) Policy {
	return anyPolicyOf(t, rapid.SampledFrom(Algorithms()).Draw(t, "algorithm"))
}

func anyPolicyOf(t *rapid.T, algorithm string) Policy {
	p := Policy{
		Algorithm: algorithm,
		Quota:     rapid.Int64Range(1, 20).Draw(t, "quota"),
		Period:    ms(rapid.OneOf(rapid.IntRange(400, 5000), rapid.SampledFrom([]int{60, 75, 100, 1000, 2000})).Draw(t, "period")),
	}
	switch algorithm {
	case "token_bucket", "leaky_bucket":
		p.Burst = rapid.Int64Range(0, 30).Draw(t, "burst")
	case "fixed_window", "sliding_window_counter":
		p.Calendar = rapid.SampledFrom([]Calendar{"", "", "", Week, Month}).Draw(t, "calendar")
		if p.Calendar != "" {
			p.Period = p.Calendar.Longest()
		}
		if p.Calendar == Month {
			p.AnchorDay = rapid.IntRange(0, maxAnchor).Draw(t, "anchor day")
		}
	}
	if p.Algorithm != "concurrency" && p.Quota >= 4 {
		p.SoftPercent = rapid.SampledFrom([]int64{0, 0, 25, 50}).Draw(t, "soft percent")
	}
	if algorithms[algorithm].slack {
		p.Slack = ms(rapid.SampledFrom([]int{0, 0, 20}).Draw(t, "slack"))
	}
	if algorithms[algorithm].parts {
		p.Resolution = anyResolution(t, p, 0, 0, 2, 3, 10, 60)
	}
	return p
}

func anyResolution(t *rapid.T, p Policy, of ...int64) int64 {
	return min(rapid.SampledFrom(of).Draw(t, "resolution"), int64(p.Period/minLength))
}

func isBucket(p Policy) bool { return p.Algorithm == "token_bucket" || p.Algorithm == "leaky_bucket" }

func anyPause(t *rapid.T, p Policy) time.Duration {
	return time.Duration(rapid.Int64Range(0, int64(p.Period)).Draw(t, "pause")) / time.Duration(rapid.SampledFrom([]int{1, 4, 50, 1000}).Draw(t, "haste"))
}

// A caller has a clock of its own and remembers the last state it saw.
type caller struct {
	skew time.Duration
	seen State
}

// call decides as the engine does: propose, and if the guards fail propose again
// from what is there, with one now.
func (c *caller) call(t *rapid.T, l *Limit, stored State, now time.Time, cost int64) (State, bool) {
	return c.ask(t, l, stored, Ask{Now: now, Cost: cost})
}

func (c *caller) ask(t *rapid.T, l *Limit, stored State, a Ask) (State, bool) {
	for range 3 {
		p := l.Propose(c.seen, a)
		if len(p.Changes) == 0 {
			return stored, false
		}
		if stored.Holds(p.Guards) {
			c.seen = stored.After(p.Changes)
			return c.seen, p.Refusal == nil
		}
		c.seen = stored
	}
	t.Fatalf("three writes did not decide: seen %+v", c.seen)
	return stored, false
}

// An admission is one permit: when it was used, in true time, and what its charge left.
type admission struct {
	at     time.Time
	left   State
	charge int // which
}

// history plays calls of several callers, with clocks up to 2·skew apart, against
// one stored state and returns the permits that were used. Some calls are for later, some lease
// and use their permits sooner or later, some are settled to what they have used.
func history(t *rapid.T, l *Limit, skew int) []admission {
	callers := make([]caller, rapid.IntRange(1, 4).Draw(t, "callers"))
	for i := range callers {
		callers[i].skew = ms(rapid.IntRange(-skew, skew).Draw(t, "skew"))
	}
	var stored State
	var used []admission
	var charges []Charge
	now := noon
	for range rapid.IntRange(1, 120).Draw(t, "calls") {
		now = now.Add(anyPause(t, l.Policy()))
		c := &callers[rapid.IntRange(0, len(callers)-1).Draw(t, "caller")]
		if len(charges) > 0 && rapid.IntRange(0, 4).Draw(t, "settle") == 0 {
			stored, used = settleAny(t, l, stored, used, charges, now.Add(c.skew))
			continue
		}
		a := anyAsk(t, l, c.seen, now.Add(c.skew))
		var ok bool
		if stored, ok = c.ask(t, l, stored, a); !ok {
			continue
		}
		for range a.Cost {
			when := now.Add(a.Wait + time.Duration(rapid.Int64Range(0, int64(a.Span)).Draw(t, "used after")))
			used = append(used, admission{when, stored, len(charges)})
		}
		charges = append(charges, Charge{Cost: a.Cost, Mark: l.Mark(a, stored)})
	}
	slices.SortStableFunc(used, func(a, b admission) int { return a.at.Compare(b.at) })
	return used
}

func anyAsk(t *rapid.T, l *Limit, seen State, now time.Time) Ask {
	a := Ask{Now: now, Cost: rapid.Int64Range(1, min(5, l.Capacity())).Draw(t, "cost")}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		a.Wait = anyPause(t, l.Policy())
	case 1:
		a.Span = min(l.Span(seen, a), anyPause(t, l.Policy()))
	}
	return a
}

// settleAny gives back permits of a charge that were not used: they never were.
func settleAny(t *rapid.T, l *Limit, stored State, used []admission, charges []Charge, now time.Time) (State, []admission) {
	i := rapid.IntRange(0, len(charges)-1).Draw(t, "charge")
	c := charges[i]
	back := rapid.Int64Range(0, c.Cost).Draw(t, "unused")
	w, ok := l.Settle(c, c.Cost-back, stored, now)
	charges[i].Cost, charges[i].Mark = 0, math.MinInt64 // once only
	if !ok {
		return stored, used
	}
	if !stored.Holds(w.Guards) {
		t.Fatalf("%+v does not apply to %+v, from which it was made", w, stored)
	}
	return stored.After(w.Changes), slices.DeleteFunc(used, func(a admission) bool {
		mine := a.charge == i && back > 0
		if mine {
			back--
		}
		return mine
	})
}

// worst returns the most admissions in any window of that length.
func worst(admitted []admission, window time.Duration) (most int64) {
	for i, from := range admitted {
		n := int64(0)
		for _, a := range admitted[i:] {
			if a.at.Sub(from.at) < window {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestNeverMoreThanTheBoundInAnyWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		p := l.Policy()
		quota, period := p.soft(p.Quota), p.Period+p.Slack
		skew := rapid.SampledFrom([]int{0, 75}).Draw(t, "skew")
		clocks := ms(2 * skew)
		used := history(t, l, skew)
		within := func(window time.Duration, bound int64) {
			if n := worst(used, window); n > bound {
				t.Fatalf("%d used within %s, at most %d can be (%s)", n, window, bound, p)
			}
		}
		switch p.Algorithm {
		case "sliding_window_log":
			within(period-clocks, quota)
		case "concurrency":
			within(period-clocks, quota) // slots that are not released are held for the period
		case "fixed_window":
			inAnyOf(t, counted(l, used), quota)
			inAnyOf(t, insideTheWindow(l, used, clocks/2), quota)
			within(shortest(p)-clocks, 2*quota)
		case "sliding_window_counter":
			inAnyOf(t, counted(l, used), quota)
			for _, window := range []time.Duration{1, p.Period / 3, p.Period, 5 * p.Period} {
				within(window, quota+quota*int64(window+clocks)/int64(shortest(p)))
			}
		case "interval_refill":
			inAnyOf(t, inIntervals(used), quota)
			within(period-clocks, 2*quota)
		default:
			t1 := (period + time.Duration(p.Quota) - 1) / time.Duration(p.Quota)
			for _, window := range []time.Duration{1, p.Period / 3, p.Period, 5 * p.Period} {
				within(window, l.Capacity()+int64((window+clocks)/t1))
			}
		}
	})
}

// shortest is the length of a policy's shortest window.
func shortest(p Policy) time.Duration {
	if p.Calendar == Month {
		return 28 * day
	}
	return p.Period
}

func inAnyOf(t *rapid.T, windows map[int64]int64, quota int64) {
	for w, n := range windows {
		if n > quota {
			t.Fatalf("%d admitted in window %d, quota %d", n, w, quota)
		}
	}
}

// counted returns what was admitted in each window, as it was written down.
func counted(l *Limit, admitted []admission) map[int64]int64 {
	windows := map[int64]int64{}
	for _, a := range admitted {
		w, _ := l.algorithm.(window).known(a.left)
		windows[w]++
	}
	return windows
}

// inIntervals returns what was admitted in each interval, by when that began.
func inIntervals(admitted []admission) map[int64]int64 {
	intervals := map[int64]int64{}
	for _, a := range admitted {
		began, _ := a.left.Register(start)
		intervals[began]++
	}
	return intervals
}

// insideTheWindow returns what was admitted in each window in true time, without the
// time at its ends in which a clock may have shown another.
func insideTheWindow(l *Limit, admitted []admission, skew time.Duration) map[int64]int64 {
	windows := map[int64]int64{}
	f := l.algorithm.(window)
	for _, a := range admitted {
		w := f.number(a.at.UnixNano())
		if a.at.Sub(time.Unix(0, f.start(w))) >= skew && time.Unix(0, f.start(w+1)).Sub(a.at) > skew {
			windows[w]++
		}
	}
	return windows
}

// anyState draws a state that calls can lead to, of callers with clocks up to 150 ms apart.
func anyState(t *rapid.T, l *Limit) (State, time.Time) {
	var c caller
	var stored State
	now := noon
	for range rapid.IntRange(0, 40).Draw(t, "calls before") {
		now = now.Add(anyPause(t, l.Policy()))
		skewed := now.Add(ms(rapid.IntRange(-75, 75).Draw(t, "skew before")))
		stored, _ = c.call(t, l, stored, skewed, rapid.Int64Range(1, l.Capacity()).Draw(t, "cost before"))
	}
	return stored, now.Add(anyPause(t, l.Policy()))
}

func TestProposalAppliesToTheStateItWasMadeFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		s, now := anyState(t, l)
		changed := mustNew(t, anyPolicyOf(t, l.Policy().Algorithm)) // the policy may have changed since
		now = now.Add(-anyPause(t, changed.Policy()))
		p := changed.Propose(s, anyAsk(t, changed, s, now))
		if len(p.Changes) > 0 && !s.Holds(p.Guards) {
			t.Fatalf("%+v does not apply to %+v", p, s)
		}
		if p.Refusal == nil && len(p.Changes) == 0 {
			t.Fatal("neither a write nor a refusal")
		}
	})
}

// Whoever proposes from an old state is as right as who saw the newest, or is not
// applied: also when others have changed the policy meanwhile.
func TestProposalIsRightForEveryStateItAppliesTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		seen, now := anyState(t, l)
		writer := l
		if rapid.Bool().Draw(t, "changed") {
			writer = mustNew(t, anyPolicyOf(t, l.Policy().Algorithm))
		}
		stored, others := seen, caller{seen: seen}
		for range rapid.IntRange(0, 10).Draw(t, "calls since") {
			now = now.Add(anyPause(t, l.Policy()))
			skewed := now.Add(ms(rapid.IntRange(-75, 75).Draw(t, "skew since")))
			stored, _ = others.call(t, writer, stored, skewed, rapid.Int64Range(1, writer.Capacity()).Draw(t, "cost since"))
		}
		a := anyAsk(t, l, seen, now)
		p := l.Propose(seen, a)
		if p.Refusal != nil || !stored.Holds(p.Guards) {
			return
		}
		best := l.Propose(stored, a)
		if best.Refusal != nil {
			t.Fatalf("%+v applies to %+v, where %+v is to be refused", p, stored, a)
		}
		got, want := l.Standing(stored.After(p.Changes), now, 0), l.Standing(stored.After(best.Changes), now, 0)
		exact := l.Policy().Algorithm == "sliding_window_log" && l.Policy().Resolution == 0
		if !exact && got != want { // an exact log may grow where it could replace
			t.Fatalf("%+v leaves of %+v: %+v, want %+v", p, stored, got, want)
		}
	})
}

func TestRetryAfterIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		s, now := anyState(t, l)
		cost := rapid.Int64Range(1, l.Capacity()).Draw(t, "cost")
		refusal := l.Propose(s, Ask{Now: now, Cost: cost}).Refusal
		if refusal == nil {
			return
		}
		at := now.Add(refusal.RetryAfter)
		if l.Propose(s, Ask{Now: at.Add(-1), Cost: cost}).Refusal == nil {
			t.Fatalf("admitted a tick before %s", refusal.RetryAfter)
		}
		if refusal.Open {
			return // a slot may be released before, so it is not waited out
		}
		if again := l.Propose(s, Ask{Now: at, Cost: cost}).Refusal; again != nil {
			t.Fatalf("still refused at %s, for %s more", refusal.RetryAfter, again.RetryAfter)
		}
	})
}

func TestStandingAgreesWithWhatIsAdmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		s, now := anyState(t, l)
		st := l.standing(s, now, 0)
		if st.Remaining > 0 && l.Propose(s, Ask{Now: now, Cost: min(st.Remaining, l.Capacity())}).Refusal != nil {
			t.Fatalf("%d remain and are refused", st.Remaining)
		}
		if st.Remaining < l.Capacity() && l.Propose(s, Ask{Now: now, Cost: st.Remaining + 1}).Refusal == nil {
			t.Fatalf("%d remain and one more is admitted", st.Remaining)
		}
		one := l.Propose(s, Ask{Now: now, Cost: 1}).Refusal
		if (one == nil) != (st.RetryAfter == 0) || one != nil && one.RetryAfter != st.RetryAfter {
			t.Fatalf("retry after %s, but one permit says %+v", st.RetryAfter, one)
		}
		if full := l.standing(s, now.Add(st.ResetAfter), 0); full.ResetAfter != 0 || full.Remaining < l.Capacity() {
			t.Fatalf("after its reset in %s there is %+v", st.ResetAfter, full)
		}
	})
}

// A bucket's refusal holds whatever the clocks. A log that callers with different
// clocks wrote is not quite in order, and a clock that is ahead begins the next window,
// or interval, in which we count too: there it holds among clocks not ahead of ours.
func TestRememberedRefusalIsNeverContradicted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		ahead := 150
		if !isBucket(l.Policy()) {
			ahead = 0
		}
		s, now := anyState(t, l)
		cost := rapid.Int64Range(1, l.Capacity()).Draw(t, "cost")
		if l.Propose(s, Ask{Now: now, Cost: cost}).Refusal == nil {
			return
		}
		others := caller{seen: s}
		stored := s
		for range rapid.IntRange(1, 20).Draw(t, "admissions since") {
			skewed := now.Add(ms(rapid.IntRange(-150, ahead).Draw(t, "skew")))
			stored, _ = others.call(t, l, stored, skewed, rapid.Int64Range(1, l.Capacity()).Draw(t, "cost since"))
			if l.Propose(stored, Ask{Now: now, Cost: cost}).Refusal == nil {
				t.Fatalf("refused from %+v, admitted from %+v", s, stored)
			}
		}
	})
}

func TestAssumedBranchIsTheOneProposed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		now := noon.Add(anyPause(t, l.Policy()))
		cost := rapid.Int64Range(1, l.Capacity()).Draw(t, "cost")
		for _, b := range []Branch{0, 1} {
			if p := l.Propose(l.Assume(b, now), Ask{Now: now, Cost: cost}); p.Refusal != nil || p.Branch != b {
				t.Fatalf("assumed branch %d, proposed %+v", b, p)
			}
		}
	})
}

func TestWhatIsSureIsTakenByNoOtherBranch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		s, seen := anyState(t, l)
		now := seen.Add(4 * anyPause(t, l.Policy()))
		cost := rapid.Int64Range(1, l.Capacity()).Draw(t, "cost")
		p := l.Propose(s, Ask{Now: now, Cost: cost})
		if p.Refusal != nil || !p.Sure {
			return
		}
		others := caller{seen: s}
		for range rapid.IntRange(1, 10).Draw(t, "admissions since") {
			since := time.Duration(rapid.Int64Range(0, int64(now.Sub(seen))).Draw(t, "since"))
			s, _ = others.call(t, l, s, seen.Add(since), 1)
			if later := l.Propose(s, Ask{Now: now, Cost: cost}); later.Refusal == nil && later.Branch != p.Branch {
				t.Fatalf("sure of branch %d, then it was %d", p.Branch, later.Branch)
			}
		}
	})
}

func TestGivingBackLetsNobodyInThatTheChargeHadNotKeptOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		before, now := anyState(t, l)
		cost := rapid.Int64Range(1, l.Capacity()).Draw(t, "cost")
		p := l.Propose(before, Ask{Now: now, Cost: cost})
		if p.Refusal != nil {
			return
		}
		// without is the world in which the charge never was, with the one where it is given back.
		with := before.After(p.Changes)
		charge := Charge{Cost: cost, Mark: l.Mark(Ask{Now: now, Cost: cost}, with)}
		charged := now
		a, b := caller{seen: with}, caller{seen: before}
		without := before
		for range rapid.IntRange(0, 10).Draw(t, "calls between") {
			now = now.Add(anyPause(t, l.Policy()))
			if l.Policy().Algorithm == "interval_refill" && now.Sub(charged) >= l.Policy().Period {
				return // without the charge the interval may have begun later, and last
			}
			var ok bool
			n := rapid.Int64Range(1, l.Capacity()).Draw(t, "cost between")
			if with, ok = a.call(t, l, with, now, n); ok {
				if without, ok = b.call(t, l, without, now, n); !ok {
					t.Fatal("a charge let somebody in")
				}
			}
		}
		if w, ok := l.Settle(charge, 0, with, now); ok {
			if !with.Holds(w.Guards) {
				t.Fatalf("%+v does not apply to %+v", w, with)
			}
			with = with.After(w.Changes)
		}
		got, want := l.Standing(with, now, 0), l.Standing(without, now, 0)
		if got.Remaining > want.Remaining {
			t.Fatalf("%d remain, had there been no charge %d", got.Remaining, want.Remaining)
		}
	})
}

// Where the change of a policy needs a write beside a refusal, the refusal is exact
// once that is made; and no more pass at once than a limit of the new policy leaves
// that was charged what the old one had in use.
func TestChangedPolicyTakesEffectAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		s, now := anyState(t, l)
		changed := mustNew(t, anyPolicyOf(t, l.Policy().Algorithm))
		cost := rapid.Int64Range(1, changed.Capacity()).Draw(t, "cost")
		before := changed.standing(s, now, 0)
		p := changed.Propose(s, Ask{Now: now, Cost: cost})
		if admitted := p.Refusal == nil; admitted != (cost <= before.Remaining) {
			t.Fatalf("%d remain, and %d are admitted: %t", before.Remaining, cost, admitted)
		}
		s = s.After(p.Changes)
		if p.Refusal == nil {
			if left := changed.standing(s, now, 0).Remaining; left != before.Remaining-cost {
				t.Fatalf("%d remained, %d after %d", before.Remaining, left, cost)
			}
			return
		}
		if p.Refusal.Open {
			return
		}
		at := now.Add(p.Refusal.RetryAfter)
		if changed.Propose(s, Ask{Now: at.Add(-1), Cost: cost}).Refusal == nil || changed.Propose(s, Ask{Now: at, Cost: cost}).Refusal != nil {
			t.Fatalf("told to come back in %s, which is not exact", p.Refusal.RetryAfter)
		}
	})
}
