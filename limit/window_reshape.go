package limit

// The windows of a limit change when its period does. What was used stays used as far
// as that can be said: a count of the old windows does not tell when in the window the
// calls were, so it counts in full in a new window that the old one reaches into. The
// next new window is free of it: who used up 10 an hour and moves to 10 a second waits
// for the second to end.

// reshape takes the counts of other windows into a tally.
func (f window) reshape(s State, stored int64, t tally) tally {
	old, ok := windowsOfShape(stored)
	if !ok {
		t.n = f.quota // of a shape that is not known: the window is used up
		return t
	}
	for _, name := range registers[:f.registers] {
		v, there := s.Register(name)
		if !there {
			continue
		}
		n, end := floorMod(v, old.stride), old.start(floorDiv(v, old.stride)+1)
		switch {
		case end > f.start(t.window):
			t.n += n
		case f.weighs() && end > f.start(t.window-1):
			t.before += n
		}
	}
	t.n, t.before = min(t.n, f.stride-1), min(t.before, f.stride-1)
	return t
}

// convert puts a tally of other windows in the place of their registers, and charges.
// That is written down even when the call is refused: else the next window would
// find the old ones again.
func (f window) convert(seen State, t tally, cost int64) Write {
	stored, _ := seen.Register(shape)
	w := Write{
		Guards: []Guard{{Kind: RegisterIn, Register: shape, Min: stored, Max: stored}},
		Changes: []Change{
			{Kind: Set, Register: f.register(t.window), Value: t.window*f.stride + t.n + cost},
			{Kind: Drop, Register: f.register(t.window + 1)},
			{Kind: Set, Register: shape, Value: f.shape()},
		},
	}
	for _, name := range registers[:f.registers] {
		w.Guards = append(w.Guards, unchanged(seen, name))
	}
	if f.weighs() {
		w.Changes = append(w.Changes, Change{Kind: Set, Register: f.register(t.window - 1), Value: (t.window-1)*f.stride + t.before})
	}
	return w
}

// unchanged guards that a register is as it was seen.
func unchanged(s State, name string) Guard {
	v, ok := s.Register(name)
	if !ok {
		const never = -1 // no count is negative
		return Guard{Kind: RegisterInOrAbsent, Register: name, Min: never, Max: never}
	}
	return Guard{Kind: RegisterIn, Register: name, Min: v, Max: v}
}
