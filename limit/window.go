package limit

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// window counts calls in windows of the clock or the calendar: fixed_window, and
// sliding_window_counter, which weighs in what the window before had.
//
// The number of a window and its count share a register: n calls in window w are
// w·stride + n, and windows take the registers in turn, two of them, or three where the
// window before matters. So one and the same write is right in a window that nobody
// has begun, in one that has begun and in the one after: guard the window's register to
// be absent or from w·stride to w·stride + quota − cost, count on from w·stride, and drop
// the register that the next window will need. Only what a gap of several windows left
// in it needs another write, which replaces it.
//
// A register of a later window says that another clock is ahead; then the call counts
// in that window. A window that was left never begins anew, whatever the clocks.
//
// Beside the registers stands what windows they count (p): how many there were in an
// hour means something else to a limit of seconds.
type window struct {
	windows
	quota     int64
	registers int64 // that take turns
}

const shape = "p" // register: the shape of the windows counted

var registers = [...]string{"r0", "r1", "r2"}

// The branches of a window.
const (
	begun    Branch = iota // it has begun, or nothing is in its register
	leftover               // its register has a window long past
	reshaped               // windows of another shape were counted
)

func newFixedWindow(p Policy) (made, error) { return newWindow(p, 2, p.Period) }

func newSlidingWindowCounter(p Policy) (made, error) { return newWindow(p, 3, 2*p.Period) }

func newWindow(p Policy, registers int64, memory time.Duration) (made, error) {
	f := window{windows: windowsOf(p), quota: p.soft(p.Quota), registers: registers}
	if f.quota >= f.stride {
		return made{}, &FieldError{"quota", fmt.Sprintf("%s is more than the %d that a window this short can count; use a longer period", p, f.stride-1)}
	}
	return made{f, memory, f.quota}, nil
}

// weighs reports whether the window before matters.
func (f window) weighs() bool { return f.registers > 2 }

func (f window) register(w int64) string { return registers[floorMod(w, f.registers)] }

// A tally is what a state comes to for a call at one time.
type tally struct {
	at        int64
	window    int64 // in which the call counts: its clock's, or a later one that has begun
	n, before int64 // calls in it; in the window before, where that matters
	final     bool  // nobody can count in the window before any more
	usual     int64 // the most in any window there is a count of
	branch    Branch
	sure      bool
}

func (f window) tally(s State, at int64) tally {
	own := f.number(at)
	if stored, ok := s.Register(shape); ok && stored != f.shape() {
		return f.reshape(s, stored, tally{at: at, window: own, branch: reshaped, sure: true})
	}
	newest, most := f.known(s)
	t := tally{at: at, window: max(own, newest), usual: most}
	t.n, t.final = f.count(s, t.window)
	if f.weighs() {
		t.before, _ = f.count(s, t.window-1)
	}
	if _, there := s.Register(f.register(t.window)); there && !t.final {
		t.branch = leftover
		return t
	}
	// Calls since the newest window counted in it or later, and those between it and
	// this one have other registers.
	t.sure = newest > t.window-f.registers
	return t
}

// known returns the latest window that a state has a count of, and the highest count.
func (f window) known(s State) (newest, most int64) {
	newest = math.MinInt64
	for _, name := range registers[:f.registers] {
		if v, ok := s.Register(name); ok {
			newest, most = max(newest, floorDiv(v, f.stride)), max(most, floorMod(v, f.stride))
		}
	}
	return newest, most
}

// count returns how many calls a state has in a window, and whether it has begun.
func (f window) count(s State, w int64) (n int64, ok bool) {
	v, ok := s.Register(f.register(w))
	if !ok || floorDiv(v, f.stride) != w {
		return 0, false
	}
	return floorMod(v, f.stride), true
}

// propose counts in the window that lasts now. Nobody is promised permits of one to come:
// it would begin for those who may still count in this one.
func (f window) propose(seen State, a Ask) Proposal {
	now, cost := a.Now.UnixNano(), a.Cost
	t := f.tally(seen, now)
	t.at = a.from() // what is free of the window before, is free by then
	p := Proposal{Branch: t.branch, Sure: t.sure}
	switch {
	case a.until() >= f.start(t.window+1):
		p.Refusal = &Refusal{RetryAfter: time.Duration(f.start(t.window+1) - now)}
		cost = 0
	case t.n+cost > f.most(t, t.before):
		p.Refusal = &Refusal{RetryAfter: time.Duration(f.passes(t, cost) - now)}
		cost = 0
	}
	switch {
	case t.branch == reshaped:
		p.Write = f.convert(seen, t, cost)
	case p.Refusal == nil:
		p.Write = f.admit(t, cost)
	}
	return p
}

// admit counts in the window, whoever counted in it or the one before meanwhile.
func (f window) admit(t tally, cost int64) Write {
	first := t.window * f.stride
	before := f.guess(t, cost)
	own := Guard{Kind: RegisterInOrAbsent, Register: f.register(t.window), Min: first, Max: first + f.most(t, before) - cost}
	counted := Change{Kind: AddFrom, Register: f.register(t.window), Base: first, Value: cost}
	if t.branch == leftover {
		own.Kind, own.Min, own.Max = RegisterIn, math.MinInt64, first-1
		counted = Change{Kind: Set, Register: f.register(t.window), Value: first + cost}
	}
	w := Write{
		Guards: []Guard{
			own,
			{Kind: RegisterInOrAbsent, Register: f.register(t.window - 1), Min: math.MinInt64, Max: first - f.stride + before},
			{Kind: RegisterInOrAbsent, Register: shape, Min: f.shape(), Max: f.shape()},
		},
		Changes: []Change{
			counted,
			{Kind: Drop, Register: f.register(t.window + 1)},
			{Kind: Set, Register: shape, Value: f.shape()},
		},
	}
	if f.weighs() {
		w.Guards = append(w.Guards, Guard{Kind: RegisterInOrAbsent, Register: f.register(t.window + 1), Min: math.MinInt64, Max: first + f.stride - 1})
	}
	return w
}

// most returns how many calls the window can have when the one before had that many:
// the quota less what of those, spread evenly, is less than a window ago.
func (f window) most(t tally, before int64) int64 {
	if !f.weighs() {
		return f.quota
	}
	left, length := f.left(t)
	return f.quota - shareUp(before, left, length)
}

// left returns how long a window still lasts, and how long it lasts as a whole.
func (f window) left(t tally) (left, length int64) {
	start, end := f.start(t.window), f.start(t.window+1)
	return min(end-t.at, end-start), end - start
}

// guess returns up to how many calls in the window before a write allows for. While the
// window has not begun others may still count there: as many as in any window that is
// known, and of the room that leaves half is for more of them, half for those who
// begin this one. None has more than the quota, unless that was lowered since.
func (f window) guess(t tally, cost int64) int64 {
	switch {
	case !f.weighs():
		return f.stride - 1 // all there can be
	case t.final:
		return t.before
	}
	room := max(0, f.most(t, t.usual)-cost)
	left, length := f.left(t)
	return max(t.before, share(f.quota-cost-room/2, length, left, f.quota))
}

// passes returns when a call that is refused would pass if nobody else came.
func (f window) passes(t tally, cost int64) int64 {
	end := f.start(t.window + 1)
	room := f.quota - t.n - cost
	switch {
	case !f.weighs():
		return end
	case room >= 0: // the window before keeps it out
		_, length := f.left(t)
		return end - share(room, length, t.before, length)
	}
	after := f.start(t.window + 2)
	return after - share(f.quota-cost, after-end, t.n, after-end)
}

func (f window) assume(b Branch, now time.Time) State {
	w := f.number(now.UnixNano())
	if b == leftover {
		return State{Registers: []Register{{f.register(w), (w - f.registers) * f.stride}, {shape, f.shape()}}}
	}
	if b != reshaped {
		return State{}
	}
	other := int64(time.Hour)
	if f.shape() == other {
		other = int64(time.Minute)
	}
	return State{Registers: []Register{{shape, other}}}
}

func (f window) standing(s State, now time.Time, _ int64) Standing {
	t := f.tally(s, now.UnixNano())
	st := Standing{Remaining: max(0, f.most(t, t.before)-t.n)}
	if st.Remaining == 0 {
		st.RetryAfter = time.Duration(f.passes(t, 1) - t.at)
	}
	switch {
	case t.n > 0 && f.weighs():
		st.ResetAfter = time.Duration(f.start(t.window+2) - t.at)
	case t.n > 0 || t.before > 0:
		st.ResetAfter = time.Duration(f.start(t.window+1) - t.at)
	}
	return st
}

// span is what is left of the window.
func (f window) span(seen State, a Ask) time.Duration {
	t := f.tally(seen, a.Now.UnixNano())
	return time.Duration(max(0, f.start(t.window+1)-1-a.from()))
}

// mark is the window that the charge was counted in.
func (f window) mark(_ Ask, left State) int64 {
	w, _ := f.known(left)
	return w
}

// giveBack counts off, in the window the charge was counted in and while that lasts.
func (f window) giveBack(c Charge, n int64, seen State, now time.Time) (Write, bool) {
	if newest, _ := f.known(seen); max(f.number(now.UnixNano()), newest) > c.Mark {
		return Write{}, false
	}
	first := c.Mark * f.stride
	return Write{
		Guards: []Guard{
			{Kind: RegisterIn, Register: f.register(c.Mark), Min: first + n, Max: first + f.stride - 1},
			{Kind: RegisterIn, Register: shape, Min: f.shape(), Max: f.shape()},
		},
		Changes: []Change{{Kind: Add, Register: f.register(c.Mark), Value: -n}},
	}, true
}

// owe counts in the window, up to what it can count.
func (f window) owe(n int64, seen State, now time.Time) (Write, bool) {
	t := f.tally(seen, now.UnixNano())
	n = min(n, f.stride-1-t.n)
	if n <= 0 {
		return Write{}, false
	}
	if t.branch == reshaped {
		return f.convert(seen, t, n), true
	}
	debtor := f
	debtor.quota = f.stride - 1
	t.before, t.final = 0, true
	w := debtor.admit(t, n)
	w.Guards[1].Max = t.window*f.stride - 1 // whatever the window before had
	return w, true
}

// share returns n·part/whole rounded down, but at most most. Nothing is negative, and
// whole is above 0.
func share(n, part, whole, most int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(part))
	if hi >= uint64(whole) {
		return most
	}
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(min(q, uint64(most)))
}

// shareUp is share rounded up, of a part that is at most the whole.
func shareUp(n, part, whole int64) int64 { return n - share(n, whole-part, whole, n) }
