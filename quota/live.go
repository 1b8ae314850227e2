package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

// A Loader reads the configuration that was saved last. Its methods return when ctx
// ends, and are safe for concurrent use.
type Loader interface {
	// Manifest returns what was saved last, as [Manifest.Encode] made it, with its
	// version; the version is 0 when nothing ever was. It is cheap: every instance asks
	// every 30 seconds.
	Manifest(ctx context.Context) (data []byte, version int64, err error)
	// Part returns a part that a manifest names, as [EncodePlans] or [EncodeTenants]
	// made it. The error is [ErrNoPart] when it is not there, as those of versions
	// before the last are not.
	Part(ctx context.Context, name string) ([]byte, error)
}

// LiveOptions change how a [Live] follows its loader. The zero value is ready to use.
type LiveOptions struct {
	// MaxAge is after how long the version is asked for again; 30 s when 0.
	MaxAge time.Duration
	// MaxWait is how long a caller waits for the answer before it gets what there is; 50 ms when 0.
	MaxWait time.Duration
	// Timeout ends a refresh that is not answered; 5 s when 0.
	Timeout time.Duration
	// WholeUpTo is up to how many tenants all of them are held; 50,000 when 0. Of more, a
	// part is loaded when one of its tenants is asked for, and held from then on.
	WholeUpTo int
	// Logger gets a line for each new version, each outage and each recovery; slog.Default when nil.
	Logger *slog.Logger
	// Now is the wall clock; time.Now when nil.
	Now func() time.Time
}

// retryAfter is when the loader is asked again after it failed, or had nothing yet.
const retryAfter = time.Second

// A Live holds the snapshot that is in force, and follows what is saved. Nothing runs
// between calls: an instance on Lambda is frozen then, and would wake up with work
// half done. A call that finds the snapshot old starts the refresh and waits for it,
// but only so long.
//
// It is safe for concurrent use.
type Live struct {
	loader   Loader // nil: what there is stays
	options  LiveOptions
	current  atomic.Pointer[held]
	failures atomic.Int64
	sections singleflight.Group // loads of sections under way

	mu     sync.Mutex
	flight *flight // nil: none under way
	sought sought
	// What was logged, so that it is not logged again until it changes.
	failing  bool
	rejected int64 // the version that cannot be used; 0: none
}

// held is what a Live holds, and until when without asking.
type held struct {
	snapshot *Snapshot
	checked  time.Time // when it was known to be what was saved last
	since    time.Time // when due was set
	due      time.Time // when to ask again
}

// sought is when a newer revision than this one was looked for, as it was seen at work.
type sought struct {
	revision int64
	at       time.Time
}

// A flight is one refresh under way.
type flight struct {
	started time.Time
	done    chan struct{}
}

// NewStatic returns a Live that always has this snapshot.
func NewStatic(s *Snapshot) *Live {
	l := new(Live)
	l.current.Store(&held{snapshot: s})
	return l
}

// NewLive loads the configuration and returns a Live that follows it. When nothing
// was ever saved, it knows no tenants and keeps looking. The error says what could
// not be read, or with a [Problems] what is wrong with it.
func NewLive(ctx context.Context, loader Loader, options LiveOptions) (*Live, error) {
	options.MaxAge = cmp.Or(options.MaxAge, 30*time.Second)
	options.MaxWait = cmp.Or(options.MaxWait, 50*time.Millisecond)
	options.Timeout = cmp.Or(options.Timeout, 5*time.Second)
	options.WholeUpTo = cmp.Or(options.WholeUpTo, 50_000)
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	if options.Now == nil {
		options.Now = time.Now //nolint:forbidigo // the clock that is handed to everything here
	}
	l := &Live{loader: loader, options: options}
	l.current.Store(&held{snapshot: new(Snapshot)})
	f := &flight{started: l.now(), done: make(chan struct{})}
	l.flight = f
	ctx, cancel := context.WithTimeout(ctx, options.Timeout)
	defer cancel()
	next, _, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	l.land(f, next, 0, nil)
	if next.revision == 0 {
		options.Logger.Warn("configuration: none was saved yet, every tenant is unknown")
	}
	return l, nil
}

// now is the wall clock alone: the monotonic one may stand still while an instance is frozen.
func (l *Live) now() time.Time { return l.options.Now().Round(0) }

// Snapshot returns what is in force. It returns at once unless it is time to ask what
// was saved last; then it waits at most MaxWait, or until ctx ends.
func (l *Live) Snapshot(ctx context.Context) *Snapshot {
	h := l.current.Load()
	if l.loader == nil {
		return h.snapshot
	}
	now := l.now()
	if h.young(now) {
		return h.snapshot
	}
	if f := l.join(ctx, now); f != nil {
		l.await(ctx, f, now)
	}
	return l.current.Load().snapshot
}

// young reports whether there is no need to ask yet. A clock that was set back is one.
func (h *held) young(now time.Time) bool { return now.Before(h.due) && !now.Before(h.since) }

// Outdated says that a newer revision than this one was seen at work. If this is still
// the one in force, the next caller asks for the newest, and waits for it as ever.
// Where that found nothing newer, as after a restore, it is asked for again a second later.
func (l *Live) Outdated(revision int64) {
	if l.loader == nil {
		return
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.current.Load()
	inVain := l.sought.revision == revision && now.Sub(l.sought.at).Abs() < retryAfter
	if h.snapshot.revision != revision || inVain {
		return
	}
	l.sought = sought{revision, now}
	l.current.Store(&held{snapshot: h.snapshot, checked: h.checked, since: h.since})
}

// join returns the refresh under way, or starts one; nil when another has just ended.
func (l *Live) join(ctx context.Context, now time.Time) *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current.Load().young(now) {
		return nil
	}
	// A flight beyond its timeout was frozen with the instance. It will end by itself.
	if f := l.flight; f != nil && now.Sub(f.started) <= l.options.Timeout {
		return f
	}
	l.flight = &flight{started: now, done: make(chan struct{})}
	go l.refresh(context.WithoutCancel(ctx), l.flight)
	return l.flight
}

// await waits until MaxWait after the flight started: who comes later finds it slow, and does not wait.
func (l *Live) await(ctx context.Context, f *flight, now time.Time) {
	left := f.started.Add(l.options.MaxWait).Sub(now)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(min(left, l.options.MaxWait))
	defer timer.Stop()
	select {
	case <-f.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (l *Live) refresh(ctx context.Context, f *flight) {
	defer close(f.done)
	ctx, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	next, version, err := l.load(ctx)
	l.land(f, next, version, err)
}

var (
	// errRejected marks a configuration that was read, but cannot be used by this version.
	errRejected = errors.New("cannot be used")
	// errGone is no reason to turn every tenant away: what was in force stays.
	errGone = errors.New("nothing is saved any more")
)

// load returns the snapshot of what was saved last, which may be the one held. With
// an error comes the version that it is about, when that is known.
func (l *Live) load(ctx context.Context) (*Snapshot, int64, error) {
	held := l.current.Load().snapshot
	for seen := int64(0); ; {
		data, version, err := l.loader.Manifest(ctx)
		switch {
		case err != nil:
			return nil, 0, fmt.Errorf("read the version of the saved configuration: %w", err)
		case version == held.revision:
			return held, version, nil
		case version == 0:
			return nil, 0, errGone
		case version == l.known():
			return nil, version, errRejected
		}
		next, err := l.build(ctx, held, data)
		switch {
		case err == nil:
			next.revision = version
			return next, version, nil
		case errors.Is(err, errRejected):
			return nil, version, fmt.Errorf("version %d of the configuration %w", version, err)
		case !errors.Is(err, ErrNoPart) || version == seen:
			return nil, version, fmt.Errorf("load version %d of the saved configuration: %w", version, err)
		}
		seen = version // two changes meanwhile have deleted the part: there is a newer version to load
	}
}

// known returns the version that is known to be of no use.
func (l *Live) known() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rejected
}

// land ends a flight: what it found is held, or what was held stays, and the next one is due.
func (l *Live) land(f *flight, next *Snapshot, version int64, err error) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flight != f {
		return // frozen, and another has started
	}
	l.flight = nil
	h := l.current.Load()
	switch {
	case err == nil:
		l.current.Store(&held{snapshot: next, checked: now, since: now, due: now.Add(l.interval(next))})
		l.arrived(h.snapshot, next)
	case errors.Is(err, errRejected):
		l.current.Store(&held{snapshot: h.snapshot, checked: h.checked, since: now, due: now.Add(l.options.MaxAge)})
		l.reject(version, err)
	default:
		l.current.Store(&held{snapshot: h.snapshot, checked: h.checked, since: now, due: now.Add(retryAfter)})
		l.fail(h, err)
	}
}

// interval is how long to hold a snapshot without asking. While nothing was ever
// saved, the first configuration is awaited and looked for more often.
func (l *Live) interval(s *Snapshot) time.Duration {
	if s.revision == 0 {
		return min(retryAfter, l.options.MaxAge)
	}
	return l.options.MaxAge
}

func (l *Live) arrived(before, now *Snapshot) {
	log := l.options.Logger.With("revision", now.revision)
	if l.failing || l.rejected != 0 {
		log.Info("configuration: refreshed again")
	}
	l.failing, l.rejected = false, 0
	switch {
	case now.revision == before.revision:
	case now.sameAs(before):
		log.Debug("configuration: in force, it is the same") // a key was made, for example
	default:
		log.Info("configuration: in force", "tenants", now.Tenants(), "plans", now.Plans())
	}
}

func (l *Live) reject(version int64, err error) {
	l.failures.Add(1)
	if l.rejected != version {
		l.options.Logger.Error("configuration: new version is kept out, the one before stays in force", "version", version, "error", err)
	}
	l.failing, l.rejected = false, version
}

func (l *Live) fail(h *held, err error) {
	l.failures.Add(1)
	if !l.failing {
		l.options.Logger.Warn("configuration: cannot be refreshed, a stale one stays in force", "revision", h.snapshot.revision, "error", err)
	}
	l.failing = true
}

// Age is how long ago the snapshot was known to be what was saved last. It stays
// below MaxAge while calls come and all is well; 0 for a static one.
func (l *Live) Age() time.Duration {
	if l.loader == nil {
		return 0
	}
	return max(0, l.now().Sub(l.current.Load().checked))
}

// Failures is how often a refresh failed, or found what cannot be used.
func (l *Live) Failures() int64 { return l.failures.Load() }
