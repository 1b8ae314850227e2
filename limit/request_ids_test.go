package limit

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRequestIDsRememberTheLast(t *testing.T) {
	r := RequestIDs{Remembered: 3}
	var s State
	for id := int64(1); id <= 5; id++ {
		p := r.Propose(s, id)
		if !s.Holds(p.Guards) {
			t.Fatalf("%d: %+v does not apply to %v", id, p, s.Log)
		}
		s = s.After(p.Changes)
	}
	if !slices.Equal(s.Log, []int64{3, 4, 5}) {
		t.Fatalf("%v", s.Log)
	}
	for id, want := range map[int64]bool{2: false, 3: true, 5: true} {
		if r.Knows(s, id) != want {
			t.Errorf("knows %d: %v", id, !want)
		}
	}
	if p := r.Propose(s, 4); s.Holds(p.Guards) {
		t.Error("an id that is there was charged again")
	}
}

func TestFewerRequestIDsAreRemembered(t *testing.T) {
	s := State{Log: []int64{1, 2, 3, 4, 5}}
	p := RequestIDs{Remembered: 2}.Propose(s, 6)
	if !s.Holds(p.Guards) {
		t.Fatalf("%+v does not apply", p)
	}
	if s = s.After(p.Changes); !slices.Equal(s.Log, []int64{5, 6}) {
		t.Fatalf("%v", s.Log)
	}
}

// Whatever callers saw, an id that is there is not appended again, and no more than
// are remembered are kept.
func TestRequestIDsHoldForEveryStateTheyApplyTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := RequestIDs{Remembered: rapid.IntRange(1, 5).Draw(t, "remembered")}
		ids := func(label string) State {
			s := State{Log: rapid.SliceOfNDistinct(rapid.Int64Range(0, 9), 0, r.Remembered, rapid.ID[int64]).Draw(t, label)}
			if len(s.Log) == 0 {
				return State{}
			}
			return s
		}
		seen, stored := ids("seen"), ids("stored")
		id := rapid.Int64Range(0, 9).Draw(t, "id")
		p := r.Propose(seen, id)
		if !stored.Holds(p.Guards) {
			return
		}
		after := stored.After(p.Changes)
		if r.Knows(stored, id) || !r.Knows(after, id) || len(after.Log) > r.Remembered {
			t.Fatalf("%v became %v by %+v", stored.Log, after.Log, p)
		}
	})
}

// However many there are too many, a write takes out a few: those that stay are the newest.
func TestMuchFewerRequestIDsAreRemembered(t *testing.T) {
	r := RequestIDs{Remembered: 2}
	var s State
	for id := range int64(100) {
		s.Log = append(s.Log, id)
	}
	for id := int64(100); id < 120; id++ {
		p := r.Propose(s, id)
		if len(p.Changes) != 2 || p.Changes[0].N > maxIDsOut || !s.Holds(p.Guards) {
			t.Fatalf("%+v", p)
		}
		s = s.After(p.Changes)
		if !slices.Equal(s.Log[len(s.Log)-2:], []int64{id - 1, id}) {
			t.Fatalf("%v after %d", s.Log, id)
		}
	}
	if len(s.Log) != r.Remembered {
		t.Errorf("%d ids in the end", len(s.Log))
	}
}
