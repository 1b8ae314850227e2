package limit

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tenths is a log of 5 a second in sub-windows of 100 ms.
var tenths = Policy{Algorithm: "sliding_window_log", Quota: 5, Period: time.Second, Resolution: 10}

func TestLogInPartsCountsWholeSubWindows(t *testing.T) {
	l := timelineOf(t, tenths)
	l.admitted(at(ms(50)), 2, 3, ms(1050))
	l.admitted(at(ms(60)), 1, 2, ms(1040))
	l.admitted(at(ms(510)), 2, 0, ms(1090))
	l.refused(at(ms(990)), 1, ms(110))
	l.refused(at(ms(1099)), 3, ms(1))
	l.refused(at(ms(1099)), 4, ms(501)) // the first three leave, one of the last two has to
	l.admitted(at(ms(1100)), 3, 0, ms(1100))
	l.never(at(ms(1100)), 6)
	l.admitted(at(time.Hour), 5, 0, ms(1100))
	l.leaves(at(time.Hour+ms(1100)), 5, 0)
}

func TestLogInPartsTakesOutWhatIsAPeriodOld(t *testing.T) {
	for _, steps := range []int{1, maxSteps, maxSteps + 1, 10, 11, 1000} {
		l := timelineOf(t, tenths)
		l.admitted(at(0), 1, 4, ms(1100))
		l.admitted(at(ms(100)), 2, 2, ms(1100))
		now := at(ms(100 + 100*steps))
		l.apply(now, 1)
		want := []int64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
		if steps <= 10 {
			want[10-steps] = 2
		}
		if steps < 10 {
			want[9-steps] = 1
		}
		if !slices.Equal(l.state.Log, want) {
			t.Errorf("%d sub-windows later the counts are %v, want %v", steps, l.state.Log, want)
		}
	}
}

// The length is rounded up: a third of a second is not 333,333,333 ns.
func TestSubWindowsAreNeverShorterThanTheirPart(t *testing.T) {
	l := mustNew(t, Policy{Algorithm: "sliding_window_log", Quota: 1, Period: time.Second, Resolution: 3}).algorithm.(subWindowLog)
	if l.length != 333_333_334 {
		t.Errorf("a third of a second is %d ns", l.length)
	}
}

func TestLogInPartsFollowsTheClockThatIsAhead(t *testing.T) {
	l := timelineOf(t, tenths)
	l.admitted(at(ms(250)), 3, 2, ms(1050))
	l.admitted(at(ms(50)), 2, 0, ms(1250)) // counts where the other is
	l.refused(at(ms(50)), 1, ms(1250))
	behind := l.limit.Propose(l.limit.Assume(goesOn, at(ms(150))), Ask{Now: at(ms(150)), Cost: 1})
	l.state = State{}
	l.admitted(at(ms(250)), 3, 2, ms(1050))
	if !l.state.Holds(behind.Guards) {
		t.Errorf("%+v does not apply to %+v, which is ahead", behind, l.state)
	}
}

// A write that was right for what was seen is not applied where it would forget what counts.
func TestLogInPartsGuardsWhatItWasMadeFrom(t *testing.T) {
	play := func(calls ...int) *timeline {
		l := timelineOf(t, tenths)
		for _, sub := range calls {
			l.passes(Ask{Now: at(ms(100 * sub)), Cost: 1})
		}
		return l
	}
	given := play(0, 5)
	given.settles(Charge{Cost: 1, Mark: given.limit.Mark(Ask{}, play(0).state)}, 0, at(ms(500)), true)
	finer := tenths
	finer.Resolution = 20
	for name, c := range map[string]struct {
		seen, stored State
		policy       Policy
		sub          int
	}{
		"something was given back":               {play(0, 5).state, given.state, tenths, 11},
		"the sub-window has not begun":           {mustNew(t, tenths).Assume(goesOn, at(ms(100))), play(0).state, tenths, 1},
		"the newest count still counts":          {play(0).state, play(0, 1).state, tenths, 11},
		"others were there after a long pause":   {play(0).state, play(0, 1).state, tenths, 10},
		"the same counts, a sub-window later":    {play(0, 1, 2, 3, 4).state, play(1, 2, 3, 4, 5).state, finer, 6},
		"counts of a third length":               {play(0).state, play(0).state.After([]Change{{Kind: Set, Register: shape, Value: 1}}), finer, 0},
		"a list of times":                        {play(0).state, State{Log: make([]int64, 11)}, tenths, 0},
		"counts, where times were":               {State{Log: make([]int64, 11)}, State{Registers: play(0).state.Registers, Log: make([]int64, 11)}, tenths, 5},
		"counts, where nothing was":              {State{}, play(0).state, tenths, 0},
		"counts of others that look like theirs": {play(0).state, play(0).state.After([]Change{{Kind: Set, Register: shape, Value: 1}}), tenths, 0},
	} {
		p := mustNew(t, c.policy).Propose(c.seen, Ask{Now: at(ms(100 * c.sub)), Cost: 1})
		if len(p.Changes) == 0 || !c.seen.Holds(p.Guards) {
			t.Errorf("%s: %+v does not apply to %+v", name, p, c.seen)
		}
		if c.stored.Holds(p.Guards) {
			t.Errorf("%s: %+v applies to %+v", name, p, c.stored)
		}
	}
}

func TestALeaseOfAnExactLogIsNotForgotten(t *testing.T) {
	exact := tenths
	exact.Resolution = 0
	l := timelineOf(t, exact)
	l.passes(Ask{Now: at(0), Cost: 2})
	l.passes(Ask{Now: at(0), Cost: 2, Span: 10 * time.Second})
	l.limit = mustNew(t, tenths)
	l.passes(Ask{Now: at(ms(10)), Cost: 1})
	l.keptOut(Ask{Now: at(ms(10)), Cost: 1}, 10*time.Second+ms(90)) // all count until the lease has ended
	l.keptOut(Ask{Now: at(ms(10)), Cost: 3}, 11*time.Second+ms(90))
}

func TestLogInPartsBooksAndLeasesWithinASubWindow(t *testing.T) {
	l := timelineOf(t, tenths)
	if got := l.limit.Span(l.state, Ask{Now: at(ms(30)), Cost: 1}); got != ms(70)-1 {
		t.Errorf("a lease may last %s", got)
	}
	l.keptOut(Ask{Now: at(ms(30)), Cost: 1, Span: ms(70)}, ms(70))
	l.keptOut(Ask{Now: at(ms(30)), Cost: 1, Wait: ms(70)}, ms(70))
	l.passes(Ask{Now: at(ms(30)), Cost: 1, Wait: ms(30), Span: ms(39)})
}

func TestLogInPartsSettles(t *testing.T) {
	l := timelineOf(t, tenths)
	first, second := l.passes(Ask{Now: at(0), Cost: 3}), l.passes(Ask{Now: at(ms(100)), Cost: 2})
	l.settles(first, 1, at(ms(1050)), true)
	l.leaves(at(ms(1050)), 2, ms(150))
	l.settles(second, 4, at(ms(1050)), true) // two more are owed
	l.keptOut(Ask{Now: at(ms(1050)), Cost: 1}, ms(50))
	l.settles(second, 0, at(ms(1199)), true)
	l.settles(second, 0, at(ms(1199)), false) // not there any more
	late := l.passes(Ask{Now: at(ms(1199)), Cost: 2})
	l.settles(late, 0, at(ms(2200)), false)
}

func TestOwingEndsAtTwiceTheQuota(t *testing.T) {
	l := timelineOf(t, tenths)
	c := l.passes(Ask{Now: at(0), Cost: 5})
	l.settles(c, 1_000_000, at(0), true)
	l.settles(c, 6, at(0), false)
	if sum, _ := l.state.Register(inUse); sum != 10 {
		t.Errorf("%d are in use", sum)
	}
}

func TestLogInPartsHasRoomForTheLargestQuota(t *testing.T) {
	l := timelineOf(t, Policy{Algorithm: "sliding_window_log", Quota: maxQuota, Period: time.Hour, Resolution: 60})
	l.admitted(at(0), maxQuota, 0, 61*time.Minute)
	l.refused(at(0), 1, 61*time.Minute)
}

// Who used up 10 an hour and moves to 10 a second waits for that second and its part.
func TestLogInPartsTakesANewPeriodAtOnce(t *testing.T) {
	hour, second := tenths, tenths
	hour.Period = time.Hour
	l := timelineOf(t, hour)
	l.admitted(at(0), 5, 0, 66*time.Minute)
	l.limit = mustNew(t, second)
	l.refused(at(time.Minute), 1, ms(1100))
	l.admitted(at(time.Minute+ms(1100)), 1, 4, ms(1100))
	l.limit = mustNew(t, hour)
	l.admitted(at(time.Minute+ms(1100)), 4, 0, 65*time.Minute-ms(1100))
}

func TestExactLogBecomesOneInParts(t *testing.T) {
	exact := tenths
	exact.Resolution = 0
	l := timelineOf(t, exact)
	l.admitted(at(ms(30)), 3, 2, time.Second)
	l.admitted(at(ms(210)), 1, 1, time.Second)
	l.limit = mustNew(t, tenths)
	l.admitted(at(ms(640)), 1, 0, ms(1060))
	l.refused(at(ms(640)), 1, ms(460)) // the three leave with their sub-window
	l.refused(at(ms(640)), 4, ms(660))
}

func TestLogInPartsBecomesExact(t *testing.T) {
	l := timelineOf(t, tenths)
	l.admitted(at(ms(30)), 3, 2, ms(1070))
	l.admitted(at(ms(210)), 2, 0, ms(1090))
	exact := tenths
	exact.Quota, exact.Resolution = 4, 0
	l.limit = mustNew(t, exact)
	l.refused(at(ms(220)), 1, ms(880)) // of the three, which count until their sub-window ends, two
	if want := []int64{100, 100, 100, 220, 220}; !slices.Equal(sinceNoon(l.state.Log), want) {
		t.Errorf("the list is %v, want %v", sinceNoon(l.state.Log), want)
	}
	l.admitted(at(ms(1100)), 2, 0, time.Second)
}

func sinceNoon(log []int64) (times []int64) {
	for _, t := range log {
		times = append(times, t-logBegan(noon.UnixNano()))
	}
	return times
}

// Nobody can store that; who did is refused for a period, and then it is gone.
func TestCountsOfAnUnknownShapeAreUsedUp(t *testing.T) {
	for _, s := range []State{
		{Registers: []Register{{shape, -1}}, Log: []int64{1}},
		{Registers: []Register{{shape, 0}, {newest, 5}}, Log: []int64{1}},
		{Registers: []Register{{shape, 1<<40 | 60}, {newest, 5}}, Log: []int64{1, 2}},
	} {
		for _, resolution := range []int64{0, 10} {
			p := tenths
			p.Resolution = resolution
			l := timelineOf(t, p)
			l.state = s
			if l.apply(at(0), 1).Refusal == nil {
				t.Errorf("%+v passes", s)
			}
			l.apply(at(ms(1100)), 5)
			l.leaves(at(ms(1100)), 0, l.limit.Memory())
		}
	}
}

// Busy all the time, a log in parts lets through the quota in a period and a part.
func TestLogInPartsUsesNearlyAllOfItsQuota(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicyOf(t, "sliding_window_log")
		p.Resolution, p.SoftPercent = anyResolution(t, p, 2, 3, 10, 60), 0
		l := mustNew(t, p)
		const rounds = 20
		var stored State
		var c caller
		admitted, now := int64(0), noon
		for end := noon.Add(rounds * l.Memory()); now.Before(end); now = now.Add(l.Memory() / time.Duration(p.Resolution+1) / 2) {
			for range p.Quota {
				var ok bool
				if stored, ok = c.call(t, l, stored, now, 1); ok {
					admitted++
				}
			}
		}
		if admitted < rounds*p.Quota {
			t.Fatalf("%d admitted in %d times %s, want %d", admitted, rounds, l.Memory(), rounds*p.Quota)
		}
	})
}

// Whatever an operator makes of a log, and however often: who is admitted finds, with
// himself, no more than the quota of then in the period of then.
func TestNeverMoreThanTheQuotaAcrossChangesOfALog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stored State
		var used []time.Time
		callers := make([]caller, 3)
		now := noon
		for range rapid.IntRange(1, 8).Draw(t, "policies") {
			l := mustNew(t, anyPolicyOf(t, "sliding_window_log"))
			p := l.Policy()
			for range rapid.IntRange(1, 30).Draw(t, "calls") {
				now = now.Add(anyPause(t, p))
				// What a shorter period has forgotten, a longer one after it cannot know.
				used = slices.DeleteFunc(used, func(at time.Time) bool { return !at.After(now.Add(-p.Period - p.Slack)) })
				a := Ask{Now: now, Cost: rapid.Int64Range(1, l.Capacity()).Draw(t, "cost")}
				var ok bool
				if stored, ok = callers[rapid.IntRange(0, 2).Draw(t, "caller")].ask(t, l, stored, a); !ok {
					continue
				}
				for range a.Cost {
					used = append(used, now)
				}
				if n := int64(len(used)); n > p.soft(p.Quota) {
					t.Fatalf("%d used within %s (%s)", n, p.Period+p.Slack, p)
				}
			}
		}
	})
}

// The example of the package comment.
func TestSubWindowsOfTheExample(t *testing.T) {
	l := timelineOf(t, Policy{Algorithm: "sliding_window_log", Quota: 100, Period: time.Second, Resolution: 10})
	l.admitted(at(ms(40)), 60, 40, ms(1060))
	l.admitted(at(ms(90)), 30, 10, ms(1010))
	l.refused(at(ms(250)), 20, ms(850))
	l.admitted(at(ms(250)), 10, 0, ms(1050))
	l.admitted(at(ms(1100)), 50, 40, ms(1100))
	if want := []int64{0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 50}; !slices.Equal(l.state.Log, want) {
		t.Errorf("%v, want %v", l.state.Log, want)
	}
}
