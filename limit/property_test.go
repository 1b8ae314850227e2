package limit

import (
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
		Period:    ms(rapid.OneOf(rapid.IntRange(400, 5000), rapid.SampledFrom([]int{50, 60, 100, 1000, 2000})).Draw(t, "period")),
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
	return p
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
	for range 3 {
		p := l.Propose(c.seen, now, cost)
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

// An admission is one permit: when it was admitted, in true time, and what that left.
type admission struct {
	at   time.Time
	left State
}

// history plays calls of several callers, with clocks up to 2·skew apart, against
// one stored state and returns what was admitted.
func history(t *rapid.T, l *Limit, skew int) []admission {
	callers := make([]caller, rapid.IntRange(1, 4).Draw(t, "callers"))
	for i := range callers {
		callers[i].skew = ms(rapid.IntRange(-skew, skew).Draw(t, "skew"))
	}
	var stored State
	var admitted []admission
	now := noon
	for range rapid.IntRange(1, 120).Draw(t, "calls") {
		now = now.Add(anyPause(t, l.Policy()))
		c := &callers[rapid.IntRange(0, len(callers)-1).Draw(t, "caller")]
		cost := rapid.Int64Range(1, min(5, l.Capacity())).Draw(t, "cost")
		var ok bool
		if stored, ok = c.call(t, l, stored, now.Add(c.skew), cost); ok {
			admitted = append(admitted, slices.Repeat([]admission{{now, stored}}, int(cost))...)
		}
	}
	return admitted
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
		skew := rapid.SampledFrom([]int{0, 75}).Draw(t, "skew")
		clocks := ms(2 * skew)
		admitted := history(t, l, skew)
		within := func(window time.Duration, bound int64) {
			if n := worst(admitted, window); n > bound {
				t.Fatalf("%d admitted within %s, at most %d can be (%s)", n, window, bound, p)
			}
		}
		switch p.Algorithm {
		case "sliding_window_log":
			within(p.Period-clocks, p.Quota)
		case "fixed_window":
			inAnyOf(t, counted(l, admitted), p.Quota)
			inAnyOf(t, insideTheWindow(l, admitted, clocks/2), p.Quota)
			within(shortest(p)-clocks, 2*p.Quota)
		case "sliding_window_counter":
			inAnyOf(t, counted(l, admitted), p.Quota)
			for _, window := range []time.Duration{1, p.Period / 3, p.Period, 5 * p.Period} {
				within(window, p.Quota+p.Quota*int64(window+clocks)/int64(shortest(p)))
			}
		case "interval_refill":
			inAnyOf(t, inIntervals(admitted), p.Quota)
			within(p.Period-clocks, 2*p.Quota)
		default:
			t1 := (p.Period + time.Duration(p.Quota) - 1) / time.Duration(p.Quota)
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
		p := changed.Propose(s, now, rapid.Int64Range(1, changed.Capacity()).Draw(t, "cost"))
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
		cost := rapid.Int64Range(1, l.Capacity()).Draw(t, "cost")
		p := l.Propose(seen, now, cost)
		if p.Refusal != nil || !stored.Holds(p.Guards) {
			return
		}
		best := l.Propose(stored, now, cost)
		if best.Refusal != nil {
			t.Fatalf("%+v applies to %+v, where %d are to be refused", p, stored, cost)
		}
		got, want := l.Standing(stored.After(p.Changes), now, 0), l.Standing(stored.After(best.Changes), now, 0)
		if l.Policy().Algorithm != "sliding_window_log" && got != want { // a log may grow where it could replace
			t.Fatalf("%+v leaves of %+v: %+v, want %+v", p, stored, got, want)
		}
	})
}

func TestRetryAfterIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		s, now := anyState(t, l)
		cost := rapid.Int64Range(1, l.Capacity()).Draw(t, "cost")
		refusal := l.Propose(s, now, cost).Refusal
		if refusal == nil {
			return
		}
		at := now.Add(refusal.RetryAfter)
		if l.Propose(s, at.Add(-1), cost).Refusal == nil {
			t.Fatalf("admitted a tick before %s", refusal.RetryAfter)
		}
		if again := l.Propose(s, at, cost).Refusal; again != nil {
			t.Fatalf("still refused at %s, for %s more", refusal.RetryAfter, again.RetryAfter)
		}
	})
}

func TestStandingAgreesWithWhatIsAdmitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := mustNew(t, anyPolicy(t))
		s, now := anyState(t, l)
		st := l.Standing(s, now, 0)
		if st.Remaining > 0 && l.Propose(s, now, min(st.Remaining, l.Capacity())).Refusal != nil {
			t.Fatalf("%d remain and are refused", st.Remaining)
		}
		if st.Remaining < l.Capacity() && l.Propose(s, now, st.Remaining+1).Refusal == nil {
			t.Fatalf("%d remain and one more is admitted", st.Remaining)
		}
		one := l.Propose(s, now, 1).Refusal
		if (one == nil) != (st.RetryAfter == 0) || one != nil && one.RetryAfter != st.RetryAfter {
			t.Fatalf("retry after %s, but one permit says %+v", st.RetryAfter, one)
		}
		if full := l.Standing(s, now.Add(st.ResetAfter), 0); full.ResetAfter != 0 || full.Remaining < l.Capacity() {
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
		if l.Propose(s, now, cost).Refusal == nil {
			return
		}
		others := caller{seen: s}
		stored := s
		for range rapid.IntRange(1, 20).Draw(t, "admissions since") {
			skewed := now.Add(ms(rapid.IntRange(-150, ahead).Draw(t, "skew")))
			stored, _ = others.call(t, l, stored, skewed, rapid.Int64Range(1, l.Capacity()).Draw(t, "cost since"))
			if l.Propose(stored, now, cost).Refusal == nil {
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
			if p := l.Propose(l.Assume(b, now), now, cost); p.Refusal != nil || p.Branch != b {
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
		p := l.Propose(s, now, cost)
		if p.Refusal != nil || !p.Sure {
			return
		}
		others := caller{seen: s}
		for range rapid.IntRange(1, 10).Draw(t, "admissions since") {
			since := time.Duration(rapid.Int64Range(0, int64(now.Sub(seen))).Draw(t, "since"))
			s, _ = others.call(t, l, s, seen.Add(since), 1)
			if later := l.Propose(s, now, cost); later.Refusal == nil && later.Branch != p.Branch {
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
		p := l.Propose(before, now, cost)
		if p.Refusal != nil {
			return
		}
		// without is the world in which the charge never was, with the one where it is given back.
		with := before.After(p.Changes)
		charge := Charge{At: now, Cost: cost, Left: with}
		a, b := caller{seen: with}, caller{seen: before}
		without := before
		for range rapid.IntRange(0, 10).Draw(t, "calls between") {
			now = now.Add(anyPause(t, l.Policy()))
			if l.Policy().Algorithm == "interval_refill" && now.Sub(charge.At) >= l.Policy().Period {
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
		if w, ok := l.GiveBack(charge, with, now); ok {
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
		before := changed.Standing(s, now, 0)
		p := changed.Propose(s, now, cost)
		if admitted := p.Refusal == nil; admitted != (cost <= before.Remaining) {
			t.Fatalf("%d remain, and %d are admitted: %t", before.Remaining, cost, admitted)
		}
		s = s.After(p.Changes)
		if p.Refusal == nil {
			if left := changed.Standing(s, now, 0).Remaining; left != before.Remaining-cost {
				t.Fatalf("%d remained, %d after %d", before.Remaining, left, cost)
			}
			return
		}
		at := now.Add(p.Refusal.RetryAfter)
		if changed.Propose(s, at.Add(-1), cost).Refusal == nil || changed.Propose(s, at, cost).Refusal != nil {
			t.Fatalf("told to come back in %s, which is not exact", p.Refusal.RetryAfter)
		}
	})
}
