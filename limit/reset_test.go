package limit

import (
	"testing"

	"pgregory.net/rapid"
)

// Whatever a limit has stored, under whatever policy before: after a reset nothing of it counts.
func TestResetLimitIsOneNeverUsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, err := New(anyPolicy(t))
		if err != nil {
			t.Fatal(err)
		}
		other, err := New(anyPolicyOf(t, l.Policy().Algorithm))
		if err != nil {
			t.Fatal(err)
		}
		var stored State
		now, c := noon, caller{}
		for range rapid.IntRange(0, 40).Draw(t, "calls") {
			now = now.Add(anyPause(t, l.Policy()))
			by := l
			if rapid.IntRange(0, 9).Draw(t, "by") == 0 {
				by = other
			}
			stored, _ = c.ask(t, by, stored, anyAsk(t, by, c.seen, now))
		}
		reset := stored.After(l.Reset().Changes)
		if len(reset.Registers) > 0 || len(reset.Log) > 0 {
			t.Fatalf("of %+v is left %+v", stored, reset)
		}
		ask := Ask{Now: now, Cost: l.Capacity()}
		if p := l.Propose(reset, ask); p.Refusal != nil || !reset.Holds(p.Guards) {
			t.Fatalf("after a reset: %+v of %+v", p, reset)
		}
		if got, want := l.Standing(reset, now, 0), l.Standing(State{}, now, 0); got != want {
			t.Fatalf("a reset leaves %+v, want %+v", got, want)
		}
	})
}
