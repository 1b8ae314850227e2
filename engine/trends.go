package engine

import (
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/seed43908478/penstock/limit"
)

// trends predicts the branch of a proposal when what is remembered does not tell:
// a moving average per limit of which was right. A wrong guess costs one more
// write, never a wrong answer.
type trends struct {
	limits *lru.Cache[*limit.Limit, *trend]
}

// trend is the share of cases in which branch 1 was right, in 1/65536.
type trend struct{ share atomic.Int32 }

const (
	maxTrends = 4096
	one       = 1 << 16
	// weight: each case counts a sixteenth, so that some ten cases turn a prediction.
	weight = 16
)

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

// expected returns the branch to try first.
func (t *trend) expected() limit.Branch {
	if t.share.Load() > one/2 {
		return 1
	}
	return 0
}

// was counts which branch was right. Lost updates of concurrent callers do not matter.
func (t *trend) was(b limit.Branch) {
	share := t.share.Load()
	target := int32(0)
	if b == 1 {
		target = one
	}
	t.share.Store(share + (target-share)/weight)
}

// predict replaces a proposal whose branch the remembered state does not tell.
func (e *Engine) predict(v *view, l *limit.Limit, now time.Time, cost int64) {
	v.unsure = true
	b := e.trends.of(l).expected()
	if v.proposal.Refusal != nil || v.proposal.Branch != b {
		v.proposal = l.Propose(l.Assume(b, now), now, cost)
	}
}

// learn takes from an admission which branch was right where it had to be predicted.
func (e *Engine) learn(a *answer) {
	if a.outcome != admitted {
		return
	}
	for i, r := range a.item.Rules {
		if v := &a.views[i]; v.unsure && v.proposal.Branch <= 1 {
			e.trends.of(r.Limit).was(v.proposal.Branch)
		}
	}
}
