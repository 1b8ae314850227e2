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
// # Windows
//
// A fixed window of 5 a second counts the seconds of the clock. The second that begins
// at 12:00:00 is window 1,795,348,800, say w; with n calls its register has w·2²⁸ + n:
//
//	12:00:00.250  nothing stored. Two permits? guard: r0 absent or w·2²⁸ ≤ r0 ≤ w·2²⁸ + 3, r1 absent or < w·2²⁸
//	                                           change: r0 = (r0, else w·2²⁸) + 2, r1 dropped
//	                                                                          remaining 3, all back in 750 ms
//	12:00:00.300  four permits?                r0 is w·2²⁸ + 2, above w·2²⁸ + 1:
//	                                           refused, retry after 700 ms
//	12:00:01.000  five permits?                guard: r1 absent or (w+1)·2²⁸ ≤ r1 ≤ (w+1)·2²⁸ + 0, r0 absent or < (w+1)·2²⁸
//	                                           change: r1 = (r1, else (w+1)·2²⁸) + 5, r0 dropped
//
// None of them had to know whether its window had begun. At 12:00:03 r1 may still have
// w+1, which that guard does not let pass: a second write replaces it.
//
// Windows of a duration begin at its multiples since 1970 in UTC, so that those of 24h
// are days; those of the calendar are weeks from Monday, and months. No window has more
// than the quota. As one may be used at its end and the next at its beginning, a period
// that does not begin with a window can have twice the quota, as with any fixed window.
// With clocks that differ by up to 2ε, a call within ε of an end may count on its other
// side: in true time the quota holds from ε after the beginning until ε before the end.
//
// A sliding_window_counter weighs in the window before: after a quarter of the window, three
// quarters of what the one before had are taken off the quota, rounded up. That is
// exact if the calls came evenly. However they came, a stretch of time y has at most
// quota + quota·(y + 2ε)/period, and so never more than the quota at once.
//
// # Intervals
//
// An interval_refill gives its quota again whole, once in an interval, and its interval begins
// with the first call after the last one ended. With 10 a minute:
//
//	12:00:07  nothing stored. Four permits?    guard: start absent or ≤ 11:59:07
//	                                           change: start = 12:00:07, n = 4    remaining 6
//	12:00:50  six permits?                     guard: start > 11:59:50, n ≤ 4
//	                                           change: n += 6                     remaining 0
//	12:01:00  one permit?                      n is 10: refused, retry after 7 s
//	12:01:07  ten permits?                     guard: start ≤ 12:00:07: a new interval, whole again
//
// Never more than the quota in an interval; as with a fixed window, the end of one and the
// beginning of the next together can have twice as much.
//
// # Sub-windows
//
// A sliding_window_log is a list of times, and exact, but a list of 1,000 times is as long as one
// should be. With a resolution it counts in that many parts of the period instead. Of 100 a
// second with a resolution of 10 the list has the counts of the current tenth of a second and
// of the ten before it. The tenth that begins at 12:00:00 is 17,953,488,000, say w:
//
//	12:00:00.040  nothing stored. 60 permits?  guard: list absent or empty
//	                                           change: i = w, list = 0 … 0 60, sum = 60
//	                                                                          remaining 40
//	12:00:00.090  30 permits?                  guard: i ≥ w, sum ≤ 70
//	                                           change: list[10] += 30, sum += 30
//	                                                                          remaining 10
//	12:00:00.250  20 permits?                  sum is 90, above 80:
//	                                           refused, retry after 850 ms
//	12:00:00.250  10 permits?                  guard: i = w, list[0] = 0, list[1] = 0, sum ≤ 90
//	                                           change: i = w + 2, list[0] and list[1] removed,
//	                                           0 and 10 appended, sum += 10   remaining 0
//	12:00:01.100  50 permits?                  tenth w is gone, and its 90:
//	                                           guard: i = w + 2, list as it was seen
//	                                           change: i = w + 11, list = 0 10 0 … 0 50, sum = 60
//
// A call counts until its sub-window is a period old: for a period at least, so that never
// more than the quota pass in any window of that length, and for one part longer at most, so
// that at least 10/11 of the quota can be used, 60/61 with a resolution of 60. With clocks that
// differ by up to 2ε the quota holds in any window of period − 2ε.
//
// # Later permits
//
// A call may ask for permits of a later time, and a lease for permits that are used until
// one. The bucket of the first example again, at 12:00:00.500 as nothing is left of its 5:
//
//	one permit in 100 ms?    guard: 12:00:00.600 ≤ tat ≤ 12:00:01.000     change: tat += 100 ms
//	                                tat is 12:00:01.000, now 12:00:01.100: nobody else passes before 12:00:00.700
//	a lease of 2 for 200 ms? at 12:00:02.000, when it is full. It is charged as of its end:
//	                         guard: tat absent or before 12:00:02.200     change: tat = 12:00:02.400
//	                         2 of the 5 are leased, 2 more are the room for what comes back while it lasts
//
// What was charged can be settled: [Limit.Settle] gives back what was not used, as far as it still
// keeps anyone out, or owes what was used above.
//
// A concurrency limit of 2, each held for 30 s at most, is a log of when its holds end:
//
//	12:00:00  a slot?      guard: size absent or ≤ 1                change: append 12:00:30
//	12:00:10  a slot?      the same                                 change: append 12:00:40
//	12:00:20  a slot?      refused: look again in a second, someone may be done
//	12:00:25  the second is done                                    change: remove 12:00:40
//	12:00:30  two slots?   12:00:30 has passed and is replaced, and there is room for one
//
// # Names
//
// A [Policy] is what is allowed; a [Limit] decides for it; a [State] is what is
// stored; a [Proposal] is a [Write] of [Guard]s and [Change]s, or a [Refusal]. An
// algorithm is one file and one line in the registration table of limit.go.
package limit
