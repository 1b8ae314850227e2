// Package activity is a short memory of what was decided: what the console draws.
//
//	a := activity.New()
//	a.Add(time.Now(), "acme", "per-user", true)
//	a.Recent("acme", time.Now(), 360) // the last hour, by limit
package activity

import (
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// Step is how long the counts of an activity are apart.
	Step = 10 * time.Second
	// Steps is of how many steps there is a memory: an hour.
	Steps = 360
	// maxSeries bounds the memory; the series used least lately goes.
	maxSeries = 2000
)

// An Activity remembers how many calls were allowed and refused lately, by tenant and
// by the limit that decided. It is of this process alone, and ends with it.
type Activity struct {
	mu     sync.Mutex
	series *lru.LRU[seriesKey, *series]
}

type seriesKey struct{ tenant, limit string }

// A series is a ring of steps.
type series struct {
	newest           int64 // number of the newest step
	allowed, refused [Steps]uint32
}

// New returns an activity of nothing yet.
func New() *Activity {
	s, err := lru.NewLRU[seriesKey, *series](maxSeries, nil)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &Activity{series: s}
}

// Add counts a call that the limit decided, "" when none did.
func (a *Activity) Add(at time.Time, tenant, limit string, allowed bool) {
	step := at.UnixNano() / int64(Step)
	a.mu.Lock()
	defer a.mu.Unlock()
	k := seriesKey{tenant, limit}
	s, ok := a.series.Get(k)
	if !ok {
		s = &series{newest: step}
		a.series.Add(k, s)
	}
	s.advance(step)
	if step <= s.newest-Steps {
		return
	}
	if allowed {
		s.allowed[step%Steps]++
	} else {
		s.refused[step%Steps]++
	}
}

// advance makes room for a step that is newer.
func (s *series) advance(step int64) {
	for n := max(s.newest+1, step-Steps+1); n <= step; n++ {
		s.allowed[n%Steps], s.refused[n%Steps] = 0, 0
	}
	s.newest = max(s.newest, step)
}

// Counts are how many calls one limit decided in each step, the oldest first. Limit is ""
// for the calls that no limit decided.
type Counts struct {
	Limit   string   `json:"limit"`
	Allowed []uint32 `json:"allowed"`
	Refused []uint32 `json:"refused"`
}

// Recent returns what was decided for a tenant in so many steps until now, by limit.
func (a *Activity) Recent(tenant string, now time.Time, steps int) []Counts {
	last := now.UnixNano() / int64(Step)
	steps = min(max(steps, 1), Steps)
	a.mu.Lock()
	defer a.mu.Unlock()
	found := []Counts{}
	for _, k := range a.series.Keys() {
		if k.tenant != tenant {
			continue
		}
		s, _ := a.series.Peek(k)
		s.advance(last)
		found = append(found, s.counts(k.limit, last, steps))
	}
	slices.SortFunc(found, func(a, b Counts) int { return strings.Compare(a.Limit, b.Limit) })
	return found
}

// counts are those of the steps up to last. Of steps that are forgotten there are none.
func (s *series) counts(limit string, last int64, steps int) Counts {
	c := Counts{Limit: limit, Allowed: make([]uint32, steps), Refused: make([]uint32, steps)}
	for i := range steps {
		if n := last - int64(steps-1-i); n > s.newest-Steps {
			c.Allowed[i], c.Refused[i] = s.allowed[n%Steps], s.refused[n%Steps]
		}
	}
	return c
}
