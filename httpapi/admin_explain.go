package httpapi

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
)

// explained is the answer to POST explain: what would become of a check now, and why.
type explained struct {
	quota.Explanation
	At   time.Time `json:"at"`
	Cost int64     `json:"cost"`
	// Allowed is left out when what was counted cannot be known.
	Allowed *bool `json:"allowed,omitempty"`
	// Limit is the one that refuses; of several, the one that keeps the call waiting longest.
	Limit        string           `json:"limit"`
	RetryAfterMS int64            `json:"retry_after_ms"`
	Never        bool             `json:"never,omitzero"`
	Limits       []explainedLimit `json:"limits"`
}

// An explainedLimit is a limit with what it has counted and who made it so.
type explainedLimit struct {
	quota.ExplainedLimit
	// Policy says the limit aloud: "10 per 1s, burst 20".
	Policy string `json:"policy,omitempty"`
	// Count is left out for a limit that does not match, and when it cannot be known.
	Count   *count  `json:"count,omitempty"`
	Changed *change `json:"changed,omitempty"`
}

// A change is who made a plan or a tenant as it is.
type change struct {
	At        time.Time          `json:"at"`
	Who       string             `json:"who"`
	RequestID string             `json:"request_id,omitempty"`
	Action    configstore.Action `json:"action"`
	Object    string             `json:"object"`
	Version   int64              `json:"version"`
}

// explain answers POST explain.
func (a *admin) explain(c *adminCall) (reply, error) {
	asked, err := c.readCheck()
	if err != nil {
		return reply{}, err
	}
	s, e, err := a.explanation(c.Context(), asked.Request)
	if err != nil {
		return reply{}, err
	}
	out := explained{Explanation: e, At: a.now().UTC().Truncate(time.Millisecond), Cost: max(1, asked.cost), Limits: []explainedLimit{}}
	var matched []quota.ExplainedLimit
	for _, l := range e.Limits {
		if l.Matched {
			matched = append(matched, l)
		}
	}
	at, counts, err := a.countsOf(c.Context(), s, e.Tenant, matched, out.Cost)
	if err == nil {
		out.At, out.Allowed = at, new(bool)
		*out.Allowed = true
	} else {
		a.logger.WarnContext(c.Context(), "what was counted cannot be explained", "error", err)
	}
	changes := changesOf{store: a.config, known: map[int64]*change{}}
	for _, l := range e.Limits {
		x := explainedLimit{ExplainedLimit: l, Changed: changes.of(c.Context(), l.Revision)}
		if r := ruleOf(s, e.Tenant, l); r != nil {
			x.Policy = r.Limit.Policy().String()
		}
		if n, ok := counts[l.Name]; ok && l.Matched {
			x.Count = &n
			out.judge(l, n)
		}
		out.Limits = append(out.Limits, x)
	}
	if strings.HasPrefix(c.Header.Get("Accept"), "text/plain") {
		return reply{text: out.text(&asked.Request)}, nil
	}
	return reply{body: out}, nil
}

// judge takes in what one limit says. A shadow refuses nobody.
func (x *explained) judge(l quota.ExplainedLimit, n count) {
	if n.Allowed || l.Mode == quota.Shadow || l.Shadows != "" {
		return
	}
	if *x.Allowed || n.Never && !x.Never || n.Never == x.Never && n.RetryAfterMS > x.RetryAfterMS {
		x.Limit, x.RetryAfterMS, x.Never = l.Name, n.RetryAfterMS, n.Never
	}
	*x.Allowed = false
}

// changesOf finds the changes of revisions, each once.
type changesOf struct {
	store *configstore.Store
	known map[int64]*change
}

// of returns the change of a revision; nil when it is not known, as that of a
// configuration which was never saved, or while the table is away.
func (f changesOf) of(ctx context.Context, revision int64) *change {
	if revision == 0 {
		return nil
	}
	if known, ok := f.known[revision]; ok {
		return known
	}
	f.known[revision] = nil
	if e, ok, err := f.store.Change(ctx, revision); err == nil && ok {
		f.known[revision] = &change{e.At, e.Who, e.RequestID, e.Action, e.Object, e.Version}
	}
	return f.known[revision]
}

// readCheck reads the body of a check.
func (c *adminCall) readCheck() (checkRequest, error) {
	sc := newScratch()
	defer sc.release()
	if err := sc.readBody(c.Request, maxCheckBody); err != nil {
		return checkRequest{}, err
	}
	d := &sc.document
	d.begin(&sc.body)
	if err := d.check(&sc.request, caller{}); err != nil {
		return checkRequest{}, err
	}
	if err := d.end(); err != nil {
		return checkRequest{}, err
	}
	if p := d.invalid(); p != nil {
		return checkRequest{}, p
	}
	return sc.request, nil
}

// text says the explanation in lines.
func (x *explained) text(r *quota.Request) string {
	var b strings.Builder
	b.WriteString(x.verdict(r))
	fmt.Fprintf(&b, "Tenant %s has ", x.Tenant)
	if !x.Known {
		b.WriteString("no entry of its own, and so the default plan ")
	} else {
		b.WriteString("plan ")
	}
	fmt.Fprintf(&b, "%s (version %d of the configuration).\n", x.Plan, x.Version)
	for i := range x.Limits {
		x.Limits[i].text(&b)
	}
	return b.String()
}

// verdict is the first line.
func (x *explained) verdict(r *quota.Request) string {
	what := r.Resource
	if r.Subject != "" {
		what += " by " + r.Subject
	}
	switch {
	case x.Allowed == nil:
		return what + ": what was counted cannot be known at the moment.\n"
	case *x.Allowed:
		return what + ": would pass now.\n"
	case x.Never:
		return fmt.Sprintf("%s: refused by %s, for ever: a cost of %d is more than it can ever hold.\n", what, x.Limit, x.Cost)
	}
	return fmt.Sprintf("%s: refused by %s, passes in %s.\n", what, x.Limit, said(time.Duration(x.RetryAfterMS)*time.Millisecond))
}

func (l *explainedLimit) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %s", l.Name, l.Algorithm)
	if l.Policy != "" {
		b.WriteString(", " + l.Policy)
	}
	if len(l.By) > 0 {
		b.WriteString(", by " + strings.Join(l.By, ", "))
	}
	if l.Mode != "" && l.Mode != quota.Enforce {
		b.WriteString(", mode " + string(l.Mode))
	}
	b.WriteString("\n  from the " + string(l.From))
	if l.Replaces {
		b.WriteString(", in place of the plan's")
	}
	if l.Changed != nil {
		fmt.Fprintf(b, "; %s by %s at %s", l.Changed.Action, l.Changed.Who, l.Changed.At.Format(time.RFC3339))
	}
	b.WriteString("\n  ")
	n := l.Count
	switch {
	case !l.Matched:
		b.WriteString("does not match: " + l.Reason)
	case n == nil:
		b.WriteString("matches; its count cannot be known at the moment")
	default:
		fmt.Fprintf(b, "%d of %d used", n.Used, n.Capacity)
		if n.Over {
			b.WriteString(", over the limit")
		}
		b.WriteString(n.says())
	}
	b.WriteString("\n")
}

func (n *count) says() string {
	switch {
	case n.Allowed:
		return ": passes"
	case n.Never:
		return ": can never pass"
	}
	return fmt.Sprintf(": %d too few, passes in %s", n.Short, said(time.Duration(n.RetryAfterMS)*time.Millisecond))
}
