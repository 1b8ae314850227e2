package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/activity"
	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/httpapi"
	"github.com/seed43908478/penstock/metrics"
	"github.com/seed43908478/penstock/receipt"
)

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
		Metrics:  measured,
		Logger:   log,
	})
	handler, err := withAdmin(checks, b, decider, verifier, lately, log)
	if err != nil {
		return err
	}
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
