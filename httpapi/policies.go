package httpapi

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
)

// A policy is a limit as answers tell of it: what is the same in all of them,
// rendered once.
type policy struct {
	name    string // of RateLimit: "per-user", as a structured field
	item    string // of RateLimit-Policy: "per-user";q=10;w=1;penstock-burst=20
	members string // of the body: "name":"per-user","algorithm":…
	said    string // to a human: per-user (10 per 1s, burst 20)
	holds   int64  // what remaining counts down from
}

// policies remembers policies by what they are made from, so that a reloaded plan
// finds those of the one before. The zero value is ready to use.
type policies struct {
	mu       sync.RWMutex
	rendered map[policyKey]*policy
}

type policyKey struct {
	name    string
	mode    quota.Mode
	shadows string
	policy  limit.Policy
}

// maxPolicies bounds what is remembered. Beyond it, all is forgotten and comes again.
const maxPolicies = 4096

// of returns the policy of a rule.
func (p *policies) of(r *quota.Rule) *policy {
	key := policyKey{r.Name, r.Mode, r.Shadows, r.Limit.Policy()}
	p.mu.RLock()
	known := p.rendered[key]
	p.mu.RUnlock()
	if known != nil {
		return known
	}
	rendered := render(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rendered == nil || len(p.rendered) >= maxPolicies {
		p.rendered = make(map[policyKey]*policy)
	}
	p.rendered[key] = rendered
	return rendered
}

func render(k policyKey) *policy {
	name, p := k.name, k.policy
	holds := p.Quota
	if p.Burst > 0 {
		holds = p.Burst
	}
	return &policy{
		name:    structured(httpsfv.NewItem(name)),
		item:    structured(policyItem(name, p, holds)),
		members: policyMembers(k, holds),
		said:    name + " (" + p.String() + ")",
		holds:   holds,
	}
}

// policyItem returns the item of RateLimit-Policy. Its window is in whole seconds: a
// shorter one is left out, a longer one rounded up; of a month it is the longest. What is
// held and released has none, and another unit than requests. What a bucket holds, when
// that is not the quota, is a parameter of ours, which others read as a comment.
func policyItem(name string, p limit.Policy, holds int64) httpsfv.Item {
	item := httpsfv.NewItem(name)
	item.Params.Add("q", p.Quota)
	switch {
	case limit.HasSlots(p.Algorithm):
		item.Params.Add("qu", "concurrent-requests")
	case p.Period >= time.Second:
		item.Params.Add("w", ceil(p.Period, time.Second))
	}
	if holds != p.Quota {
		item.Params.Add("penstock-burst", holds)
	}
	return item
}

// structured serialises an item. Names of limits are plain letters, so it cannot fail; if one
// were not, it would be left out of the header rather than break it.
func structured(item httpsfv.Item) string {
	s, err := httpsfv.Marshal(item)
	if err != nil {
		return ""
	}
	return s
}

// policyMembers returns the members of an answer's limit that do not change.
func policyMembers(k policyKey, holds int64) string {
	p := k.policy
	o := object{}
	o.open()
	o.str("name", k.name)
	o.str("algorithm", p.Algorithm)
	o.str("mode", string(cmp.Or(k.mode, quota.Enforce)))
	if k.shadows != "" {
		o.str("shadows", k.shadows)
	}
	o.num("quota", p.Quota)
	if limit.HasSlots(p.Algorithm) {
		o.num("ttl_ms", ceil(p.Period, time.Millisecond))
	} else {
		o.num("period_ms", ceil(p.Period, time.Millisecond))
	}
	if limit.HasBurst(p.Algorithm) {
		o.num("burst", holds)
	}
	return strings.TrimPrefix(string(o.text), "{")
}
