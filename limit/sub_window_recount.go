package limit

import (
	"slices"
	"time"
)

// The sub-windows of a log change with its period and resolution, and a list of times is
// another thing than one of counts. What was used stays used, and is never said to be older
// than it may be: a count is taken as of the end of its sub-window, or as of now while that
// lasts. One compare-and-swap rewrites the list, also beside a refusal: else calls
// that come later would find more of the old one forgotten than of their own.

// shape is what is stored beside counts, to tell what sub-windows they are of.
func (l subWindowLog) shape() int64 { return l.length<<partsBits | l.parts }

const partsBits = 7 // parts are below 128

// subWindowsOfShape is the inverse of shape. ok is false if the state has not such counts.
func subWindowsOfShape(stored int64, s State) (l subWindowLog, newestOf int64, ok bool) {
	l = subWindowLog{parts: stored & (1<<partsBits - 1), length: stored >> partsBits}
	newestOf, ok = s.Register(newest)
	return l, newestOf, ok && l.length > 0 && len(s.Log) == int(l.parts)+1
}

// countTimes counts the times of an exact list. Those still to come were promised for
// later: the newest of them is counted at its time, and as with a clock that is ahead,
// everybody counts there until then.
func (l subWindowLog) countTimes(s State, c *subCounts) {
	at := func(ms int64) int64 { return l.number(ms*int64(time.Millisecond) + logEpoch) }
	l.recount(c, at(slices.Max(s.Log)))
	for _, t := range s.Log {
		l.put(c, at(t), 1)
	}
}

// countOthers counts the counts of other sub-windows.
func (l subWindowLog) countOthers(s State, stored int64, c *subCounts) {
	old, i, ok := subWindowsOfShape(stored, s)
	if !ok {
		l.recount(c, c.own)
		l.put(c, c.newest, l.quota) // of a shape that is not known: used up
		return
	}
	l.recount(c, l.number(old.start(i)))
	for at, n := range s.Log {
		end := old.start(i-old.parts+int64(at)+1) - 1
		l.put(c, l.number(end), n)
	}
}

// recount begins counting anew, with a newest sub-window that is not before that one.
func (l subWindowLog) recount(c *subCounts, atLeast int64) {
	c.branch = recounted
	c.newest = max(c.own, atLeast)
	c.counts = make([]int64, l.parts+1)
}

// put counts n in a sub-window, unless that is a period old; in the oldest there is, if
// that is later, and in the newest, if that is earlier.
func (l subWindowLog) put(c *subCounts, w, n int64) {
	oldest := c.newest - l.parts
	if w >= c.own-l.parts {
		c.counts[min(max(w, oldest), c.newest)-oldest] += n
	}
}

// times returns the counts of sub-windows as times, oldest first: the newest of them, as many
// as the largest quota. It may be raised again.
func (l slidingWindowLog) times(s State, stored int64, now time.Time) []int64 {
	old, i, ok := subWindowsOfShape(stored, s)
	if !ok {
		return slices.Repeat([]int64{logEnds(now.UnixNano())}, int(l.quota)) // used up
	}
	began, latest := logBegan(now.UnixNano()), logEnds(max(now.UnixNano(), old.start(i)))
	var times []int64
	for back := range old.parts + 1 {
		t := min(logEnds(old.start(i-back+1)-1), latest)
		if t <= began-l.period {
			break
		}
		n := min(s.Log[old.parts-back], maxLogQuota-int64(len(times)))
		times = append(times, slices.Repeat([]int64{t}, int(max(n, 0)))...)
	}
	slices.Reverse(times)
	return times
}

// rewritten is a write to a list of times, made into one of the counts it is in the place of.
func rewritten(seen State, times []int64, w Write) Write {
	list := State{Log: times}
	return rewrite(seen, State{Log: list.After(w.Changes).Log}, asSeen(seen))
}

// rewrite puts a state in the place of another.
func rewrite(seen, next State, guards []Guard) Write {
	w := Write{Guards: guards, Changes: []Change{{Kind: Clear}}}
	for at := 0; at < len(next.Log); {
		n := 1
		for at+n < len(next.Log) && next.Log[at+n] == next.Log[at] {
			n++
		}
		w.Changes = append(w.Changes, Change{Kind: Append, N: n, Value: next.Log[at]})
		at += n
	}
	for _, r := range next.Registers {
		w.Changes = append(w.Changes, Change{Kind: Set, Register: r.Name, Value: r.Value})
	}
	for _, r := range seen.Registers {
		if _, stays := next.Register(r.Name); !stays {
			w.Changes = append(w.Changes, Change{Kind: Drop, Register: r.Name})
		}
	}
	return w
}

// asSeen guards that a list is as it was seen, of times or of counts. The sum of counts follows.
func asSeen(s State) []Guard {
	return []Guard{{Kind: LogIs, Elements: s.Log}, unchanged(s, newest), unchanged(s, shape)}
}

// ofTimes guards that a list is one of times, or absent.
var ofTimes = Guard{Kind: RegisterInOrAbsent, Register: shape, Min: 1, Max: 0}
