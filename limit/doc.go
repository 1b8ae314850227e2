// Package limit has the algorithms of rate limiting as pure functions: what was
// last seen, the time and the cost go in; a refusal comes out, or a guarded write.
//
// A decision does not hold for one stored state but for a range of them. "Admit
// alice, one permit" is right whenever her bucket's time lies between now and now
// plus what the bucket holds. So a proposal has no version and needs no lock: its
// guards are ranges, and whoever applies it to a state within them is right,
// whatever happened since the state was seen.
//
// # An example in numbers
//
// A token bucket of 10 per second, burst 5: one permit comes back every 100 ms, the
// full bucket holds 500 ms. Its whole state is one time, the tat: when it is full again.
//
//	12:00:00.000  nothing stored. One permit?  guard: tat absent or before 12:00:00.000
//	                                           change: tat = 12:00:00.100     remaining 4
//	12:00:00.010  four permits?                guard: 12:00:00.010 ≤ tat ≤ 12:00:00.110
//	                                           change: tat += 400 ms
//	                                           tat is 12:00:00.500            remaining 0, full in 490 ms
//	12:00:00.020  one permit?                  it needs tat ≤ 12:00:00.420:
//	                                           refused, retry after 80 ms
//	12:00:00.100  one permit?                  it needs tat ≤ 12:00:00.500:
//	                                           change: tat += 100 ms          remaining 0
//
// A caller at 12:00:00.010 that had not seen the first call proposes from nothing:
// "tat absent or before 12:00:00.010". That does not hold, nothing is written, and the
// failed write shows the state, from which the next proposal is the one above. A
// caller that was ahead of another with the same proposal disturbs nobody: the
// guard is a range, and both are in it.
//
// # Names
//
// A [Policy] is what is allowed; a [Limit] decides for it; a [State] is what is
// stored; a [Proposal] is a [Write] of [Guard]s and [Change]s, or a [Refusal]. An
// algorithm is one file and one line in the registration table of limit.go.
package limit
