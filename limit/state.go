package limit

import "slices"

// A Register is one named number a limit keeps in its item.
type Register struct {
	Name  string
	Value int64
}

// A State is what one limit has stored: a few registers and at most one list of
// times. The zero State is a limit never used. States are shared between
// goroutines and with the remembered copies of the engine: never modify one,
// derive the next with [State.After].
type State struct {
	Registers []Register
	// Log is the list of the sliding-window log, of times or counts, oldest first; nil when absent.
	Log []int64
}

// Register returns the value of a register and whether it is there.
func (s State) Register(name string) (value int64, ok bool) {
	for i := range s.Registers {
		if s.Registers[i].Name == name {
			return s.Registers[i].Value, true
		}
	}
	return 0, false
}

// IsZero reports whether nothing is stored.
func (s State) IsZero() bool { return len(s.Registers) == 0 && s.Log == nil }

// GuardKind says what a [Guard] asks for.
type GuardKind uint8

const (
	// RegisterIn asks that the register is there and Min ≤ value ≤ Max.
	RegisterIn GuardKind = iota + 1
	// RegisterInOrAbsent asks the same, or that the register is not there.
	RegisterInOrAbsent
	// SizeIn asks that the log is there and Min ≤ size ≤ Max.
	SizeIn
	// SizeInOrAbsent asks the same, or that the log is not there.
	SizeInOrAbsent
	// ElementsIn asks that each of the N elements of the log from From on is within Min and Max.
	ElementsIn
	// Lacks asks that no element of the log is Min; an absent log has none.
	Lacks
	// LogIs asks that the log is there and has Elements, no others.
	LogIs
)

// A Guard is a range that must hold for a write to be applied. Ranges, not
// versions: two callers whose writes are both right do not conflict.
type Guard struct {
	Kind     GuardKind
	Register string // RegisterIn, RegisterInOrAbsent
	From, N  int    // ElementsIn: the first index, how many
	Min, Max int64
	Elements []int64 // LogIs
}

// ChangeKind says what a [Change] does.
type ChangeKind uint8

const (
	// Set gives a register a value.
	Set ChangeKind = iota + 1
	// Add adds to a register that is there.
	Add
	// AddFrom adds to a register; one that is not there counts as Base.
	AddFrom
	// Drop takes a register away; one that is not there stays away.
	Drop
	// Append puts Value at the end of the log N times; an absent log is empty.
	Append
	// Remove takes the N elements from From on out of the log.
	Remove
	// AddAt adds to the element From of the log, which is there and is not removed.
	AddAt
	// Clear takes all elements out of the log; an absent one is there then. It does not go
	// together with Remove and AddAt.
	Clear
)

// A Change is one step of a write. The changes of one write happen together;
// none sees the effect of another, so that indices of Remove and AddAt are those before.
type Change struct {
	Kind     ChangeKind
	Register string // Set, Add, AddFrom, Drop
	From, N  int    // Remove; Append (N); AddAt (From)
	Value    int64
	Base     int64 // AddFrom
}

// Holds reports whether every guard holds for s: what a store evaluates before it
// applies the changes. An Add to an absent register does not hold either, nor does a Remove
// or AddAt of absent elements.
func (s State) Holds(guards []Guard) bool {
	for i := range guards {
		if !s.holds(&guards[i]) {
			return false
		}
	}
	return true
}

func (s State) holds(g *Guard) bool {
	switch g.Kind {
	case RegisterIn, RegisterInOrAbsent:
		v, ok := s.Register(g.Register)
		if !ok {
			return g.Kind == RegisterInOrAbsent
		}
		return g.Min <= v && v <= g.Max
	case SizeIn, SizeInOrAbsent:
		if s.Log == nil {
			return g.Kind == SizeInOrAbsent
		}
		return g.Min <= int64(len(s.Log)) && int64(len(s.Log)) <= g.Max
	case ElementsIn:
		if g.From < 0 || g.From+g.N > len(s.Log) {
			return false
		}
		for _, v := range s.Log[g.From : g.From+g.N] {
			if v < g.Min || v > g.Max {
				return false
			}
		}
		return true
	case Lacks:
		return !slices.Contains(s.Log, g.Min)
	case LogIs:
		return s.Log != nil && slices.Equal(s.Log, g.Elements)
	}
	return false
}

// After returns the state that the changes make of s.
func (s State) After(changes []Change) State {
	next := State{Registers: slices.Clone(s.Registers), Log: s.Log}
	for i := range changes {
		c := &changes[i]
		switch c.Kind {
		case Set:
			next.Registers = set(next.Registers, c.Register, c.Value)
		case Add:
			old, _ := s.Register(c.Register)
			next.Registers = set(next.Registers, c.Register, old+c.Value)
		case AddFrom:
			old, ok := s.Register(c.Register)
			if !ok {
				old = c.Base
			}
			next.Registers = set(next.Registers, c.Register, old+c.Value)
		case Drop:
			next.Registers = slices.DeleteFunc(next.Registers, func(r Register) bool { return r.Name == c.Register })
		case Append, Remove, AddAt, Clear: // together, below
		}
	}
	next.Log = logAfter(s.Log, changes)
	return next
}

func set(registers []Register, name string, value int64) []Register {
	for i := range registers {
		if registers[i].Name == name {
			registers[i].Value = value
			return registers
		}
	}
	return append(registers, Register{name, value})
}

// logAfter adds first, removes then and appends last, as indices are those of the old list.
func logAfter(log []int64, changes []Change) []int64 {
	appended, touched := 0, false
	for i := range changes {
		switch c := &changes[i]; c.Kind {
		case Append:
			appended += c.N
			touched = touched || c.N > 0
		case Remove, AddAt, Clear:
			touched = true
		case Set, Add, AddFrom, Drop:
		}
	}
	if !touched {
		return log
	}
	next := append(make([]int64, 0, len(log)+appended), log...)
	for i := range changes {
		if c := &changes[i]; c.Kind == AddAt {
			next[c.From] += c.Value
		}
	}
	for i := range changes {
		switch c := &changes[i]; c.Kind {
		case Remove:
			next = slices.Delete(next, c.From, c.From+c.N)
		case Clear:
			next = next[:0]
		case Set, Add, AddFrom, Drop, Append, AddAt:
		}
	}
	for i := range changes {
		if c := &changes[i]; c.Kind == Append {
			for range c.N {
				next = append(next, c.Value)
			}
		}
	}
	return next
}
