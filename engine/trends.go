package engine

import (
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/seed43908478/penstock/limit"
)

// trends predicts the branch of a proposal when what is remembered does not tell, by
// what was right lately for that limit. A wrong guess costs one more write, never a
// wrong answer.
type trends struct {
	limits *lru.Cache[*limit.Limit, *trend]
}

// A trend has moving averages apart, as keys that were never seen and keys that were
// seen long ago behave differently.
type trend struct {
	// unseen is how often branch 1 was right for a key of which nothing is remembered.
	unseen share
	// changed is how often another branch was right than the one a remembered state told,
	// for each that it can tell.
	changed [2]share
}

// A share is a moving average of yes and no. It begins at no.
type share struct{ of65536 atomic.Int32 }

// Each case counts a quarter: on Lambda an instance sees few, so three must turn a guess.
const shareWeight = 4

func (s *share) likely() bool { return s.of65536.Load() > 1<<15 }

// count takes a case into the average. Lost updates of concurrent callers do not matter.
func (s *share) count(yes bool) {
	target := int32(0)
	if yes {
		target = 1 << 16
	}
	now := s.of65536.Load()
	s.of65536.Store(now + (target-now)/shareWeight)
}

// maxTrends is of how many limits there are trends.
const maxTrends = 4096

func newTrends() *trends {
	limits, err := lru.New[*limit.Limit, *trend](maxTrends)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &trends{limits: limits}
}

func (t *trends) of(l *limit.Limit) *trend {
	if tr, ok := t.limits.Get(l); ok {
		return tr
	}
	tr := &trend{}
	if before, ok, _ := t.limits.PeekOrAdd(l, tr); ok {
		return before
	}
	return tr
}

// predict replaces a proposal whose branch the remembered state does not tell. One
// that was refused by a state too old to be trusted is made anew in any case.
func (e *Engine) predict(v *view, l *limit.Limit, q question) {
	refusedOnce := v.proposal.Refusal != nil
	v.unsure, v.unseen, v.told = true, refusedOnce || v.at.IsZero(), v.proposal.Branch
	t := e.trends.of(l)
	expected := v.told
	switch {
	case v.unseen && t.unseen.likely():
		expected = 1
	case v.unseen:
		expected = 0
	case t.changed[v.told].likely():
		expected = 1 - v.told
	}
	if refusedOnce || expected != v.told {
		v.proposal = l.Propose(l.Assume(expected, q.now), q.ask())
	}
}

// learn takes from an admission which branch was right where it had to be predicted.
func (e *Engine) learn(a *answer) {
	if a.outcome != admitted {
		return
	}
	for i, r := range a.item.Rules {
		v := &a.views[i]
		right := v.proposal.Branch
		switch {
		case !v.unsure || right > 1:
		case v.unseen:
			e.trends.of(r.Limit).unseen.count(right == 1)
		default:
			e.trends.of(r.Limit).changed[v.told].count(right != v.told)
		}
	}
}
