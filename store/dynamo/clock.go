package dynamo

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	// toleratedSkew is the difference to the server up to which a clock is left as it
	// is. Decisions hold whatever clocks show, but who is ahead keeps others waiting.
	toleratedSkew = 2 * time.Second
	// trimmed is up to where a correction is not another one, only known better.
	trimmed = time.Second
	// agreeingAnswers, one after the other, make a difference believed.
	agreeingAnswers = 3
	// compareEvery is how often an answer is compared as long as all is well.
	compareEvery = time.Second
	// maxRoundTrip is how long an answer may take to tell something. A function may
	// have been frozen meanwhile, or its clock set.
	maxRoundTrip = time.Second
)

// A Clock is a machine's clock, corrected while it is more than 2 s off the clock of
// DynamoDB. That is told by the Date of answers: a [Store] with [WithClock] compares one
// in a second, and when one differs each that follows. Three in a row that agree begin,
// change or end a correction, and a warning is logged to [slog.Default].
//
// Make one with [NewClock]. It is safe for concurrent use.
type Clock struct {
	now         func() time.Time
	every       time.Duration
	offset      atomic.Int64 // nanoseconds
	corrections atomic.Int64
	compared    atomic.Int64 // Unix nanoseconds by now; 0: the next answer is compared

	mu     sync.Mutex
	agreed offsets // what the last answers have in common
	run    int     // how many they are
}

// NewClock returns a clock that shows what now does until an answer tells otherwise;
// nil means [time.Now].
func NewClock(now func() time.Time) *Clock {
	if now == nil {
		now = time.Now
	}
	return &Clock{now: now, every: compareEvery}
}

// WithClock has the answers to a store's calls compared with a clock; default none.
func WithClock(c *Clock) Option { return func(s *Store) { s.clock = c } }

// Now returns the time, corrected. It has no monotonic reading, which may stand still
// while a function is frozen and knows nothing of corrections. So it can go back, as
// any wall clock does when it is set.
func (c *Clock) Now() time.Time { return c.wall().Add(c.Offset()) }

// Offset returns what is added to the machine's clock; 0 while it is right.
func (c *Clock) Offset() time.Duration { return time.Duration(c.offset.Load()) }

// Corrections returns how many corrections were begun, or changed by more than 1 s.
func (c *Clock) Corrections() int64 { return c.corrections.Load() }

func (c *Clock) wall() time.Time { return c.now().Round(0) }

// option has the answer of a call compared if it is time to. Calls in between pay for
// one reading of the clock.
func (c *Clock) option(o *dynamodb.Options) {
	if c.due() {
		o.APIOptions = append(o.APIOptions, c.observe)
	}
}

func (c *Clock) due() bool {
	last, now := c.compared.Load(), c.wall().UnixNano()
	if since := now - last; since >= 0 && since < int64(c.every) {
		return false
	}
	return c.compared.CompareAndSwap(last, now) // who was slower leaves it to the other
}

// observe attaches c to the last step before the HTTP client: errors of DynamoDB are
// still answers there, and nothing but the way there and back is between the readings.
func (c *Clock) observe(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("PenstockClock",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
			middleware.DeserializeOutput, middleware.Metadata, error,
		) {
			sent := c.wall()
			out, metadata, err := next.HandleDeserialize(ctx, in)
			if answer, ok := out.RawResponse.(*smithyhttp.Response); ok && answer.Response != nil {
				if date, ok := serverTime(answer.Header); ok {
					c.compare(sent, c.wall(), date)
				}
			}
			return out, metadata, err
		}), middleware.After)
}

// serverTime is the Date of an answer. Nothing can be told by one that comes from a
// cache, or whose zone is another than HTTP's.
func serverTime(h http.Header) (time.Time, bool) {
	date := h.Get("Date")
	if date == "" || h.Get("Age") != "" {
		return time.Time{}, false
	}
	t, err := http.ParseTime(date)
	if err != nil {
		return time.Time{}, false
	}
	zone, _ := t.Zone() // a name that is not known is read as if it were UTC
	return t, zone == "UTC" || zone == "GMT"
}

// compare takes an answer into account.
func (c *Clock) compare(sent, received, date time.Time) {
	if received.Sub(sent) > maxRoundTrip {
		c.compared.Store(0) // the next may tell more
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := possible(sent, received, date)
	c.join(seen)
	if c.run == agreeingAnswers {
		c.set(c.agreed.correction(c.Offset()))
		c.run = 0
	}
	if inForce := c.Offset(); seen.correction(inForce) != inForce {
		c.compared.Store(0)
	}
}

// join adds an answer to those it agrees with, or begins anew with it.
func (c *Clock) join(seen offsets) {
	both := offsets{max(c.agreed.least, seen.least), min(c.agreed.most, seen.most)}
	if c.run == 0 || both.least > both.most {
		c.agreed, c.run = seen, 1
		return
	}
	c.agreed = both
	c.run++
}

// set puts a correction in force and says so, unless it is trimmed only.
func (c *Clock) set(offset time.Duration) {
	old := c.Offset()
	c.offset.Store(int64(offset))
	switch {
	case old == offset:
	case offset == 0:
		slog.Warn("the clock agrees with DynamoDB's again: it is no longer corrected", "offset", offset, "before", old)
	case old == 0:
		c.corrections.Add(1)
		slog.Warn("the clock differs from DynamoDB's: it is corrected, but should be set", "offset", offset)
	case (offset - old).Abs() > trimmed:
		c.corrections.Add(1)
		slog.Warn("the clock differs from DynamoDB's by another time: the correction is changed", "offset", offset, "before", old)
	}
}

// offsets are those that may be between our clock and the server's: added to ours,
// each gives a time that is possible.
type offsets struct{ least, most time.Duration }

// possible is what an answer tells. The server wrote the second of its time, rounded
// down, somewhere between our two readings.
func possible(sent, received, date time.Time) offsets {
	return offsets{date.Sub(received), date.Add(time.Second).Sub(sent)}
}

// difference is how far off an offset is for certain; 0 if it is possible.
func (o offsets) difference(offset time.Duration) time.Duration {
	return max(o.least-offset, offset-o.most, 0)
}

func (o offsets) middle() time.Duration { return o.least + (o.most-o.least)/2 }

// correction returns the offset to use where one is in force.
func (o offsets) correction(inForce time.Duration) time.Duration {
	tolerated := time.Duration(0) // a correction goes on until there may be no difference at all
	if inForce == 0 {
		tolerated = toleratedSkew
	}
	switch {
	case o.difference(0) <= tolerated:
		return 0
	case o.difference(inForce) > trimmed:
		return o.middle()
	}
	return min(max(inForce, o.least), o.most) // the nearest that is possible: never further off than before
}
