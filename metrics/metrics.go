// Package metrics makes metrics of what the engine observes, for Prometheus.
//
//	recorder := metrics.New(metrics.Options{Named: snapshot.Named})
//	e := engine.New(store, engine.Options{Observe: recorder.Observe})
//	http.Handle("GET /metrics", recorder.Handler())
//
// The label tenant has the tenants that are configured by name, the first
// [MaxTenants] of them that call; all others are "other". So whoever invents tenants
// does not make series.
package metrics

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed43908478/penstock/activity"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
)

// MaxTenants is how many tenants have series of their own.
const MaxTenants = 1000

// other is the tenant of those that have no series of their own.
const other = "other"

// Options say what there is to tell beside decisions. A nil function is left out.
type Options struct {
	// Named reports whether a tenant is configured by name; nil is that none is.
	Named func(tenant string) bool
	// Activity, if there is one, is told of decisions too.
	Activity *activity.Activity
	// StoreAway reports whether the store is taken to be away.
	StoreAway func() bool
	// PlansAge is how long ago the plans in force were known to be the newest.
	PlansAge func() time.Duration
	// PlansFailures is how often the plans could not be refreshed.
	PlansFailures func() int64
	// ClockOffset is by how much the clock is corrected, ClockCorrections how often it was.
	ClockOffset      func() time.Duration
	ClockCorrections func() int64
}

// A Recorder makes metrics of observations. Make one with [New]; it is safe for
// concurrent use.
type Recorder struct {
	registry *prometheus.Registry
	activity *activity.Activity
	named    func(string) bool

	requests  *prometheus.CounterVec
	decisions *prometheus.CounterVec
	remaining *prometheus.GaugeVec
	latency   *prometheus.HistogramVec
	errors    *prometheus.CounterVec
	writes    prometheus.Histogram

	mu      sync.RWMutex
	tenants map[string]bool // with series of their own
}

// New returns a recorder of nothing yet.
func New(o Options) *Recorder {
	r := &Recorder{
		registry: prometheus.NewRegistry(),
		activity: o.Activity,
		named:    o.Named,
		tenants:  map[string]bool{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rate_limiter_requests_total", Help: "Calls that were decided, by tenant and whether they were allowed.",
		}, []string{"tenant", "allowed"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rate_limiter_decisions_total",
			Help: "Calls that were decided, by what the decision rests on, why it refused, how far it is degraded, and whether the outcome of a write is unknown.",
		}, []string{"source", "reason", "degraded", "outcome"}),
		remaining: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rate_limiter_tokens_remaining", Help: "Permits that a tenant's own limits had left when last asked. Limits by subject or another part are not here.",
		}, []string{"tenant", "limit"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rate_limiter_latency_seconds", Help: "How long decisions took, by what they rest on.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1},
		}, []string{"source"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rate_limiter_errors_total", Help: "Calls that the store did not decide, by what came instead: local, open, denied, none (the caller gave up), outdated (decided again).",
		}, []string{"kind"}),
		writes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rate_limiter_writes", Help: "Conditional writes of a decision.", Buckets: []float64{0, 1, 2, 3, 4, 8, 16},
		}),
	}
	r.registry.MustRegister(
		r.requests, r.decisions, r.remaining, r.latency, r.errors, r.writes,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	r.registerState(o)
	return r
}

// registerState registers what is asked for when the metrics are.
func (r *Recorder) registerState(o Options) {
	gauge := func(name, help string, value func() float64) {
		r.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	counter := func(name, help string, value func() int64) {
		r.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	if o.StoreAway != nil {
		gauge("rate_limiter_store_away", "1 while the store is taken to be away: its circuit is open.", func() float64 {
			if o.StoreAway() {
				return 1
			}
			return 0
		})
	}
	if o.PlansAge != nil {
		gauge("rate_limiter_plans_age_seconds", "How long ago the plans in force were known to be the newest.", func() float64 { return o.PlansAge().Seconds() })
	}
	if o.PlansFailures != nil {
		counter("rate_limiter_plans_failures_total", "Refreshes of the plans that failed, or found what cannot be used.", o.PlansFailures)
	}
	if o.ClockOffset != nil {
		gauge("rate_limiter_clock_offset_seconds", "By how much this machine's clock is corrected.", func() float64 { return o.ClockOffset().Seconds() })
	}
	if o.ClockCorrections != nil {
		counter("rate_limiter_clock_corrections_total", "How often the clock was corrected.", o.ClockCorrections)
	}
}

// Handler answers GET /metrics in the formats of Prometheus.
func (r *Recorder) Handler() http.Handler {
	return promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{Registry: r.registry})
}

// Observe counts one call.
func (r *Recorder) Observe(o engine.Observation) {
	d := o.Decision
	if d == nil {
		kind := "none"
		if errors.Is(o.Err, engine.ErrOutdated) {
			kind = "outdated"
		}
		r.errors.WithLabelValues(kind).Inc()
		return
	}
	if o.Cost == 0 {
		return // somebody looked
	}
	tenant := r.tenant(o.Tenant)
	r.requests.WithLabelValues(tenant, strconv.FormatBool(d.Allowed)).Inc()
	outcome := "known"
	if d.Unknown {
		outcome = "unknown"
	}
	r.decisions.WithLabelValues(string(d.Source), string(d.Reason), string(d.Degraded), outcome).Inc()
	r.latency.WithLabelValues(string(d.Source)).Observe(o.Took.Seconds())
	r.writes.Observe(float64(d.Writes))
	r.countErrors(d)
	limit := ""
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if i == d.Deciding {
			limit = v.Rule.Name
		}
		if v.TenantWide && tenant != other && v.Rule.Mode == quota.Enforce {
			r.remaining.WithLabelValues(tenant, v.Rule.Name).Set(float64(v.Remaining))
		}
	}
	if r.activity != nil {
		r.activity.Add(d.At, tenant, limit, d.Allowed)
	}
}

func (r *Recorder) countErrors(d *engine.Decision) {
	switch {
	case d.Reason == engine.StoreError:
		r.errors.WithLabelValues("denied").Inc()
	case d.Degraded != engine.NotDegraded:
		r.errors.WithLabelValues(string(d.Degraded)).Inc()
	}
}

// tenant is the label of a tenant.
func (r *Recorder) tenant(name string) string {
	r.mu.RLock()
	known, full := r.tenants[name], len(r.tenants) >= MaxTenants
	r.mu.RUnlock()
	switch {
	case known:
		return name
	case full, r.named == nil, !r.named(name):
		return other
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tenants) >= MaxTenants {
		return other
	}
	r.tenants[name] = true
	return name
}
