package limit

// RequestIDs remembers the ids of the calls that an item charged last, so that a repeat
// of one is an answer and not a second charge. Its state is a log of digests: the
// newest is appended, and when there are as many as are remembered it replaces the oldest.
//
// It takes part in the write that charges, so an id is there if and only if its call
// was charged. Refusals are not remembered.
type RequestIDs struct {
	// Remembered is how many ids are kept, at least 1: an id is recognised while fewer
	// calls with ids were charged since.
	Remembered int
}

// The branches of request ids.
const (
	roomForID   Branch = iota // fewer than are remembered, or none
	oldestIDOut               // as many: the oldest goes
)

// Knows reports whether a state has the id.
func (r RequestIDs) Knows(s State, id int64) bool { return !s.Holds([]Guard{lacks(id)}) }

func lacks(id int64) Guard { return Guard{Kind: Lacks, Min: id, Max: id} }

// Propose proposes to remember an id that seen does not have.
func (r RequestIDs) Propose(seen State, id int64) Proposal {
	size := len(seen.Log)
	appended := Change{Kind: Append, N: 1, Value: id}
	if size < r.Remembered {
		return Proposal{Branch: roomForID, Write: Write{
			Guards:  []Guard{lacks(id), {Kind: SizeInOrAbsent, Max: int64(r.Remembered) - 1}},
			Changes: []Change{appended},
		}}
	}
	// More than are remembered when that was lowered: a few at a time, to fit into a write.
	out := min(size-r.Remembered+1, maxIDsOut)
	return Proposal{Branch: oldestIDOut, Write: Write{
		Guards:  []Guard{lacks(id), {Kind: SizeIn, Min: int64(r.Remembered - 1 + out), Max: int64(size)}},
		Changes: []Change{{Kind: Remove, N: out}, appended},
	}}
}

// maxIDsOut is how many ids one write takes out at most.
const maxIDsOut = 8
