package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/seed43908478/penstock/activity"
	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/configstore/bolt"
	configmemory "github.com/seed43908478/penstock/configstore/memory"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/httpapi"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/metrics"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/receipt"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/memory"
)

// startTime is how long the state table may take for the first writes.
const startTime = 5 * time.Second

// shutdownTime is how long requests under way may take when the process is asked to stop.
const shutdownTime = 10 * time.Second

type serveOptions struct {
	config       string
	addr         string
	store        string
	data         string
	createTables bool
	auth         string
	verbose      bool
}

func newServe() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the whole system in one process",
		Long: "Run the whole system in one process.\n\n" +
			"Plans and tenants come from --config, else from ./penstock.yaml, else from a built-in example with the\n" +
			"tenants acme and globex. With --data they and the keys are kept in a folder, with --store dynamodb in the\n" +
			"config table: a file is applied to it at start, as penstock apply would; the example only when nothing is\n" +
			"kept yet. What limits have counted is kept with --store dynamodb only.\n\n" +
			"Environment: the usual AWS_… variables, AWS_ENDPOINT_URL_DYNAMODB for an emulator; PENSTOCK_STATE_TABLE\n" +
			"(penstock-state), PENSTOCK_CONFIG_TABLE (penstock-config); PENSTOCK_SECRET signs keys and receipts\n" +
			"(when unset, made at start, or once in the folder of --data); PENSTOCK_ADMIN_KEY is a key that may\n" +
			"administer, at /admin/v1/ (when unset, made at start and printed);\n" +
			"PENSTOCK_MAX_INSTANCES shares limits out while the table is away (10 when unset).",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serve(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.config, "config", "", "plans and tenants (default ./penstock.yaml, else a built-in example)")
	f.StringVar(&o.addr, "addr", "127.0.0.1:8080", "address to listen on")
	f.StringVar(&o.store, "store", "memory", "where state is kept: memory or dynamodb")
	f.StringVar(&o.data, "data", "", "with memory: folder in which plans, tenants and keys are kept (default: they end with the process)")
	f.BoolVar(&o.createTables, "create-tables", false, "with dynamodb: create the tables that are missing")
	f.StringVar(&o.auth, "auth", "", "who may check: open or keys (default open on a loopback address; else keys must be said)")
	f.BoolVar(&o.verbose, "verbose", false, "log every request")
	return c
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no argument %q", c.CommandPath(), args[0])}
	}
	return nil
}

// A backend is what a server decides on: where state is kept and what the plans are.
type backend struct {
	store  store.Store
	plans  *quota.Live
	config *configstore.Store
	secret secret
	clock  *dynamo.Clock // what decisions take for the time; nil: this machine's
	about  []any         // for the log
	close  func() error
}

func serve(ctx context.Context, o serveOptions) error {
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	slog.SetDefault(log) // of what follows the configuration
	auth, err := whoMayCall(o.auth, o.addr)
	if err != nil {
		return err
	}
	instances, err := maxInstances()
	if err != nil {
		return err
	}
	b, err := newBackend(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if err := b.close(); err != nil {
			log.Error("the data folder could not be closed", "error", err)
		}
	}()
	if b.secret.made && (auth == httpapi.AuthKeys || o.store != storeMemory) {
		log.Warn("PENSTOCK_SECRET is not set: keys and receipts are signed with a secret made for this process and end with it")
	}
	if auth == httpapi.AuthKeys && o.store == storeMemory {
		if err := printKey(ctx, b.config, b.secret); err != nil {
			return err
		}
	}
	verifier := apikey.NewVerifier(b.secret.value, b.config, apikey.VerifierOptions{})
	lately := activity.New()
	decider, measured := newDecider(b, instances, lately)
	checks := httpapi.New(httpapi.Options{
		Decider:  decider,
		Plans:    b.plans,
		Auth:     auth,
		Verifier: verifier,
		Receipts: receipt.New(b.secret.value),
		Logger:   log,
	})
	handler, err := withAdmin(checks, b, decider, verifier, lately, log)
	if err != nil {
		return err
	}
	handler.Handle("GET /metrics", measured)
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	log.Info("listening", append([]any{"url", "http://" + listener.Addr().String(), "auth", string(auth)}, b.about...)...)
	return serveUntilDone(ctx, log, listener, handler)
}

// newDecider returns the engine, and the metrics of what it decides.
func newDecider(b *backend, instances int, lately *activity.Activity) (*engine.Engine, http.Handler) {
	var e *engine.Engine
	o := metrics.Options{
		Activity:      lately,
		Named:         func(tenant string) bool { return b.plans.Snapshot(context.Background()).Named(tenant) },
		StoreAway:     func() bool { return e.StoreAway() },
		PlansAge:      b.plans.Age,
		PlansFailures: b.plans.Failures,
	}
	if b.clock != nil {
		o.ClockOffset, o.ClockCorrections = b.clock.Offset, b.clock.Corrections
	}
	recorder := metrics.New(o)
	options := engine.Options{Instances: instances, Observe: recorder.Observe}
	if b.clock != nil {
		options.Now = b.clock.Now
	}
	e = engine.New(b.store, options)
	return e, recorder.Handler()
}

// serveUntilDone serves until ctx ends, and then lets the requests under way end.
func serveUntilDone(ctx context.Context, log *slog.Logger, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping")
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return fmt.Errorf("some requests did not end within %s: %w", shutdownTime, err)
	}
	return nil
}

// whoMayCall is what --auth says; without it only this machine may call without a key.
func whoMayCall(auth, addr string) (httpapi.Auth, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", usageError{fmt.Errorf("--addr %q: %w", addr, err)}
	}
	switch httpapi.Auth(auth) {
	case httpapi.AuthKeys, httpapi.AuthOpen:
		return httpapi.Auth(auth), nil
	case "":
	default:
		return "", usageError{fmt.Errorf("--auth is open or keys, not %q", auth)}
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return httpapi.AuthOpen, nil
	}
	return "", usageError{fmt.Errorf("%s can be reached from other machines: add --auth keys to ask callers for a key", addr)}
}

// maxInstances is PENSTOCK_MAX_INSTANCES; 0 when it is not set.
func maxInstances() (int, error) {
	s := os.Getenv("PENSTOCK_MAX_INSTANCES")
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("PENSTOCK_MAX_INSTANCES is the number of instances there may be, at least 1, not %q", s)
	}
	return n, nil
}

const (
	storeMemory = "memory"
	storeDynamo = "dynamodb"
)

func newBackend(ctx context.Context, o serveOptions) (*backend, error) {
	switch o.store {
	case storeMemory:
		return newMemory(ctx, o)
	case storeDynamo:
		return newDynamoDB(ctx, o)
	}
	return nil, usageError{fmt.Errorf("--store is memory or dynamodb, not %q", o.store)}
}

// localAge is how old the configuration may be that is asked for in this process: what
// is changed through it is in force at once.
const localAge = 50 * time.Millisecond

func newMemory(ctx context.Context, o serveOptions) (b *backend, err error) {
	if o.createTables {
		return nil, usageError{errors.New("--create-tables goes with --store dynamodb")}
	}
	b = &backend{store: memory.New(), close: func() error { return nil }}
	var items configstore.Items = configmemory.New()
	kept := "nothing, see --data"
	if o.data != "" {
		file, err := bolt.Open(o.data)
		if err != nil {
			return nil, err
		}
		items, kept, b.close = file, o.data, file.Close
		defer func() {
			if b == nil {
				_ = file.Close() // what went wrong before says more
			}
		}()
	}
	if b.secret, err = findSecret(o.data); err != nil {
		return nil, err
	}
	b.config = configstore.New(items, configstore.Options{})
	from, err := configure(ctx, b.config, o.config)
	if err != nil {
		return nil, err
	}
	if b.plans, err = quota.NewLive(ctx, b.config, quota.LiveOptions{MaxAge: localAge, WholeUpTo: math.MaxInt}); err != nil {
		return nil, err
	}
	b.about = []any{"store", storeMemory, "config", from, "kept", kept}
	return b, nil
}

func newDynamoDB(ctx context.Context, o serveOptions) (*backend, error) {
	if o.data != "" {
		return nil, usageError{errors.New("--data goes with --store memory: with dynamodb all is kept in the tables")}
	}
	client, err := aws(ctx)
	if err != nil {
		return nil, err
	}
	signing, err := findSecret("")
	if err != nil {
		return nil, err
	}
	names := tables()
	if o.createTables {
		if err := createTables(ctx, client, names); err != nil {
			return nil, err
		}
	}
	config := configstore.New(dynamo.NewConfigTable(client, names.Config), configstore.Options{})
	from, err := configure(ctx, config, o.config)
	if err != nil {
		return nil, err
	}
	live, err := quota.NewLive(ctx, config, quota.LiveOptions{})
	if err != nil {
		return nil, fmt.Errorf("the plans of table %s: %w", names.Config, err)
	}
	clock := dynamo.NewClock(nil)
	state := dynamo.New(client, names.State, dynamo.WithBudget(startTime), dynamo.WithClock(clock))
	if err := tryOut(ctx, state); err != nil {
		return nil, fmt.Errorf("table %s: %w", names.State, err)
	}
	return &backend{
		store: dynamo.New(client, names.State, dynamo.WithClock(clock)), clock: clock,
		plans: live, config: config, secret: signing,
		about: []any{"store", storeDynamo, "tables", names.State + ", " + names.Config, "config", from},
		close: func() error { return nil },
	}, nil
}

// tryOut makes some writes, several at once, to keys of their own that expire. A table
// that cannot be written is found out before the first caller comes, who then finds
// open connections, a server that has done this before, and a clock that was compared.
func tryOut(ctx context.Context, s store.Store) error {
	const atOnce, each = 16, 8
	bucket, err := limit.New(limit.Policy{Algorithm: "token_bucket", Quota: 1, Period: time.Second, Burst: 2 * each})
	if err != nil {
		return err
	}
	start := time.Now()
	var all errgroup.Group
	for i := range atOnce {
		key := fmt.Sprintf("penstock|start|%d", i)
		all.Go(func() error {
			var seen limit.State
			for range each {
				p := bucket.Propose(seen, limit.Ask{Now: time.Now(), Cost: 1})
				r, err := s.Apply(ctx, store.Write{Key: key, Parts: []store.Part{{Limit: "start.tb", Write: p.Write}}, ExpiresAt: start.Add(time.Hour)})
				if err != nil {
					return err
				}
				seen = r.States[0]
			}
			return nil
		})
	}
	return all.Wait()
}

// configure applies a configuration file, or the example where nothing is kept yet.
func configure(ctx context.Context, store *configstore.Store, path string) (from string, err error) {
	c, from, err := findConfig(path)
	if err != nil {
		return "", err
	}
	if from == "" {
		version, err := store.Version(ctx)
		if err != nil {
			return "", err
		}
		if version > 0 {
			return fmt.Sprintf("as it was kept, version %d", version), nil
		}
		from = "built-in example"
	}
	a, err := applyConfig(ctx, store, c)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, version %d", from, a.Version), nil
}
