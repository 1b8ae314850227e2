package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed43908478/penstock/store"
)

const (
	// DefaultBudget bounds how long one decision takes, all its writes and waits included.
	DefaultBudget = 250 * time.Millisecond
	// DefaultRemembered is how many keys are remembered.
	DefaultRemembered = 16_384
	// DefaultInstances is among how many instances a limit is shared out while the
	// store is away, when nobody said how many there are: a tenth each.
	DefaultInstances = 10
)

// Options are what an engine may be told. The zero value is ready to use.
type Options struct {
	// Budget bounds how long a decision takes; 0 means [DefaultBudget].
	Budget time.Duration
	// Remembered is how many keys are remembered; 0 means [DefaultRemembered].
	Remembered int
	// Instances is how many instances there may be; 0 means [DefaultInstances].
	Instances int
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Random returns a number in [0, 1); nil means [rand.Float64].
	Random func() float64
	// Observe is told of every call when it has been decided, by the goroutine that made
	// it; nil is nobody.
	Observe func(Observation)
}

// An Engine decides. Make one with [New]; it is safe for concurrent use.
type Engine struct {
	store  store.Store
	memory *remembered
	trends *trends
	local  *local
	budget time.Duration
	now    func() time.Time
	random func() float64

	observe func(Observation)
}

// New returns an engine over a store.
func New(s store.Store, o Options) *Engine {
	e := newEngine(newBreaker(s), o)
	e.local, e.observe = newLocal(o), o.Observe
	return e
}

// newEngine returns an engine with nothing to fall back to.
func newEngine(s store.Store, o Options) *Engine {
	e := &Engine{store: s, memory: newRemembered(o.Remembered), trends: newTrends(), budget: o.Budget, now: o.Now, random: o.Random}
	if e.budget <= 0 {
		e.budget = DefaultBudget
	}
	if e.now == nil {
		e.now = time.Now //nolint:forbidigo // the default of a clock that can be set
	}
	if e.random == nil {
		e.random = rand.Float64
	}
	return e
}

// Decide answers a call. The error is ctx's: the caller gave up before anything was
// decided; or [ErrOutdated]. A store that fails is no error but a decision, by what each
// limit says for that.
func (e *Engine) Decide(ctx context.Context, c Call) (Decision, error) {
	if e.observe == nil {
		return e.decide(ctx, c)
	}
	began := time.Now() //nolint:forbidigo // how long it took, not when it was
	d, err := e.decide(ctx, c)
	e.observed(c, began, &d, err)
	return d, err
}

func (e *Engine) decide(ctx context.Context, c Call) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	now := e.now() // a decision reads the clock once
	bounded, cancel := context.WithTimeout(ctx, e.budget)
	defer cancel()

	q := question{now: now, cost: c.Cost, id: digest(c), maxWait: c.MaxWait, patience: c.MaxWait, least: c.Least, ttl: c.TTL, anyRevision: c.AnyRevision}
	var answers []answer
	switch {
	case len(c.Items) == 0: // no limit matches
	case c.Cost == 0:
		answers = e.look(bounded, c.Items, q)
	case len(c.Items) == 1:
		answers = []answer{e.ask(bounded, &c.Items[0], q)}
	case q.later():
		answers = e.askAllLater(bounded, c.Items, q)
	default:
		answers = e.askAll(bounded, c.Items, q)
	}
	if slices.ContainsFunc(answers, answer.isOld) {
		return Decision{}, ErrOutdated
	}
	if q.id != 0 {
		e.findRepeat(bounded, answers, q)
	}
	if err := ctx.Err(); err != nil && gaveUp(answers) {
		return Decision{}, err
	}
	return e.decision(answers, q), nil
}
