// Package dynamo is the [store.Store] on DynamoDB, and everything else of this
// project that speaks to it: the client, the tables, and the configuration.
//
//	client, err := awsenv.LoadClient(ctx)
//	s := dynamo.New(client, "penstock-state")
//	result, err := s.Apply(ctx, write)
//
// An Apply is one UpdateItem. A busy token bucket of 10 a second, charged 1:
//
//	condition  #1 BETWEEN :1 AND :2 AND #2 = :3
//	update     SET #0 = :0, #1 = #1 + :3
//	names      #0 expires_at, #1 per-user.tb.tat, #2 per-user.tb.t
//	values     :0 1795348800, :1 now, :2 now + 9·10⁸, :3 10⁸
//
// If the condition fails, the refusal carries the item: there is never a read.
package dynamo

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/store"
)

const (
	// DefaultBudget bounds a call unless [WithBudget] says otherwise.
	DefaultBudget = 250 * time.Millisecond

	maxAttempts  = 5
	firstBackoff = 10 * time.Millisecond // doubled each time; the wait is random below it
)

// An Option changes how a store is made.
type Option func(*Store)

// WithBudget sets how long a call may take, all attempts together; default
// [DefaultBudget]. An earlier deadline of the context comes first.
func WithBudget(d time.Duration) Option { return func(s *Store) { s.budget = d } }

// WithObserver sets a function that is told of each Apply and Read when it ends. It
// is called by the goroutine that made the call. DynamoDB is asked for the consumed
// capacity only when there is an observer.
func WithObserver(f func(Observation)) Option { return func(s *Store) { s.observer = f } }

// An Observation is what a call took.
type Observation struct {
	Operation string // "apply" or "read"
	// Attempts is the number of requests made; 0 when the context was over before.
	Attempts int
	// Units is the capacity consumed, in write units of an Apply, in read units of a
	// Read. DynamoDB does not tell it of a write whose condition failed: 0.
	Units    float64
	Applied  bool
	Duration time.Duration
	// Err is nil when the store decided.
	Err *store.Error
}

// A Store keeps items in a table. Make one with [New].
type Store struct {
	client   *dynamodb.Client
	table    string
	budget   time.Duration
	observer func(Observation)
	capacity types.ReturnConsumedCapacity
	clock    *Clock
}

// New returns the store in a table that [CreateTables] made. The client may have any
// settings: a store makes its own attempts.
func New(client *dynamodb.Client, table string, opts ...Option) *Store {
	s := &Store{client: client, table: table, budget: DefaultBudget}
	for _, o := range opts {
		o(s)
	}
	if s.observer != nil {
		s.capacity = types.ReturnConsumedCapacityTotal
	}
	return s
}

// Apply makes one conditional write, as [store.Store] says: one UpdateItem, and
// another only after one that surely was not applied.
func (s *Store) Apply(ctx context.Context, w store.Write) (store.Result, error) {
	e := express(w.Parts, w.ExpiresAt)
	if err := e.check(); err != nil {
		return store.Result{}, &store.Error{Reason: store.Invalid, Err: err}
	}
	in := &dynamodb.UpdateItemInput{
		TableName:                           &s.table,
		Key:                                 itemKey(w.Key),
		ConditionExpression:                 nonEmpty(e.condition.String()),
		UpdateExpression:                    nonEmpty(e.update()),
		ExpressionAttributeNames:            e.attributeNames(),
		ExpressionAttributeValues:           e.attributeValues(),
		ReturnConsumedCapacity:              s.capacity,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	var item map[string]types.AttributeValue
	o := Observation{Operation: "apply"}
	err := s.run(ctx, &o, func(ctx context.Context, once func(*dynamodb.Options)) error {
		out, err := s.client.UpdateItem(ctx, in, once)
		if err == nil {
			item, o.Applied = out.Attributes, true
			o.consumed(out.ConsumedCapacity)
			return nil
		}
		if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
			item = failed.Item
			return nil
		}
		return err
	})
	if err != nil {
		return store.Result{}, err
	}
	found, err := states(item, w.Parts)
	if err != nil {
		return store.Result{}, &store.Error{Reason: store.Invalid, Unknown: o.Applied, Err: err}
	}
	return store.Result{Applied: o.Applied, States: found}, nil
}

// Read returns the newest state of each of the limits, as [store.Store] says: one
// strongly consistent GetItem. It reads the whole item, since only the limits know
// the names of their registers; a part of it would cost as much.
func (s *Store) Read(ctx context.Context, key string, limits []string) ([]limit.State, error) {
	in := &dynamodb.GetItemInput{
		TableName:              &s.table,
		Key:                    itemKey(key),
		ConsistentRead:         aws.Bool(true),
		ReturnConsumedCapacity: s.capacity,
	}
	var item map[string]types.AttributeValue
	o := Observation{Operation: "read"}
	err := s.run(ctx, &o, func(ctx context.Context, once func(*dynamodb.Options)) error {
		out, err := s.client.GetItem(ctx, in, once)
		if err != nil {
			return err
		}
		item = out.Item
		o.consumed(out.ConsumedCapacity)
		return nil
	})
	if err != nil {
		return nil, err
	}
	parts := make([]store.Part, len(limits))
	for i := range limits {
		parts[i].Limit = limits[i]
	}
	found, err := states(item, parts)
	if err != nil {
		return nil, &store.Error{Reason: store.Invalid, Err: err}
	}
	return found, nil
}

// run makes the attempts of a call within its budget. Once the first is on its way
// ctx no longer matters but for its deadline: a write that was sent is seen through.
func (s *Store) run(ctx context.Context, o *Observation, request func(context.Context, func(*dynamodb.Options)) error) error {
	began := time.Now()
	e := s.attempts(ctx, began, o, request)
	if s.observer != nil {
		o.Duration, o.Err = time.Since(began), e
		s.observer(*o)
	}
	if e != nil {
		return e
	}
	return nil
}

func (s *Store) attempts(ctx context.Context, began time.Time, o *Observation, request func(context.Context, func(*dynamodb.Options)) error) *store.Error {
	if err := ctx.Err(); err != nil {
		return &store.Error{Reason: store.Unavailable, Err: err}
	}
	deadline := began.Add(s.budget)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	through, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	for {
		sent := &sending{}
		o.Attempts++
		err := request(through, func(opts *dynamodb.Options) {
			opts.Retryer = aws.NopRetryer{} // the SDK's own would charge twice
			sent.option(opts)
			if s.clock != nil {
				s.clock.option(opts)
			}
		})
		if err == nil {
			return nil
		}
		e := translate(err, sent)
		if o.Operation == "read" {
			e.Unknown = false // nothing was to be written
		}
		if !passing(e) || o.Attempts == maxAttempts || !pause(ctx, backoff(o.Attempts), deadline) {
			return e
		}
	}
}

// passing reports whether another attempt may succeed and cannot count twice. A hot
// key is not helped by more requests.
func passing(e *store.Error) bool {
	return !e.Unknown && (e.Reason == store.Throttled || e.Reason == store.Unavailable)
}

func backoff(attempt int) time.Duration {
	return rand.N(firstBackoff << (attempt - 1)) //nolint:gosec // jitter
}

// pause waits, and reports whether there is time left for another attempt.
func pause(ctx context.Context, d time.Duration, deadline time.Time) bool {
	if !time.Now().Add(d).Before(deadline) {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (o *Observation) consumed(c *types.ConsumedCapacity) {
	if c != nil && c.CapacityUnits != nil {
		o.Units += *c.CapacityUnits
	}
}

func itemKey(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{keyAttribute: &types.AttributeValueMemberS{Value: key}}
}

// nonEmpty is nil for an empty expression, which DynamoDB refuses.
func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
