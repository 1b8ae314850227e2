// Package runtimeapi runs a Lambda function's bootstrap as Lambda does: as a process that
// fetches its events from the Runtime API and posts its answers there. So the binary that
// is deployed can be tested, with no container and no account.
//
//	env, err := runtimeapi.Start(runtimeapi.Config{Bootstrap: path, Env: []string{"TABLE=x"}})
//	…
//	defer env.Stop()
//	answer, err := env.Invoke(ctx, event)
//
// An [Environment] is one execution environment: it handles one event at a time, as long
// as AWS_LAMBDA_MAX_CONCURRENCY is not set. Unlike Lambda it is not frozen between events,
// and extensions have no API here.
package runtimeapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// A Config says what to run.
type Config struct {
	// Bootstrap is the executable's path.
	Bootstrap string
	// Env is the environment, as "NAME=value", beyond what Lambda sets itself. The
	// process inherits nothing.
	Env []string
	// Timeout is how long one event may take; the process is killed then. 0 is 10 s.
	Timeout time.Duration
}

// An Environment is a running bootstrap and the Runtime API that it talks to.
type Environment struct {
	cmd      *exec.Cmd
	server   *http.Server
	log      buffer
	timeout  time.Duration
	started  time.Time
	queue    chan *invocation
	ready    chan struct{} // closed at the first request for an event
	exited   chan struct{} // closed when the process has ended
	firstAsk sync.Once
	initTime time.Duration // set before ready is closed
	exit     error         // set before exited is closed

	mu       sync.Mutex
	running  map[string]*invocation
	accepted int
	answered int
	failed   int
}

// An invocation is an event on its way.
type invocation struct {
	id    string
	event []byte
	done  chan outcome // has room for one
}

// An outcome is what became of an event.
type outcome struct {
	answer []byte
	err    error
}

// Start starts the bootstrap. It does not wait until that is ready.
func Start(cfg Config) (*Environment, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("runtime API: %w", err)
	}
	e := &Environment{
		timeout: cfg.Timeout,
		queue:   make(chan *invocation),
		ready:   make(chan struct{}),
		exited:  make(chan struct{}),
		running: make(map[string]*invocation),
	}
	if e.timeout == 0 {
		e.timeout = 10 * time.Second
	}
	e.server = &http.Server{Handler: e.api(), ReadHeaderTimeout: time.Second}
	// The process outlives no Environment, and is ended by Stop alone: no context.
	e.cmd = exec.Command(cfg.Bootstrap)
	e.cmd.Dir = filepath.Dir(cfg.Bootstrap)
	e.cmd.Env = append(lambdaEnv(listener.Addr().String(), e.cmd.Dir), cfg.Env...)
	e.cmd.Stdout, e.cmd.Stderr = &e.log, &e.log
	e.started = time.Now()
	go e.server.Serve(listener) //nolint:errcheck // it ends when Stop closes it
	if err := e.cmd.Start(); err != nil {
		_ = e.server.Close() // the other error says more
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	go func() {
		e.exit = e.cmd.Wait()
		close(e.exited)
	}()
	return e, nil
}

// lambdaEnv is what Lambda sets, as far as functions look at it.
func lambdaEnv(api, root string) []string {
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + api,
		"AWS_LAMBDA_FUNCTION_NAME=penstock-check",
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_FORMAT=JSON",
		"AWS_EXECUTION_ENV=AWS_Lambda_provided.al2023",
		"AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
		"AWS_SECRET_ACCESS_KEY=secret",
		"AWS_SESSION_TOKEN=token",
		"LAMBDA_TASK_ROOT=" + root,
		"_HANDLER=bootstrap",
		"LANG=en_US.UTF-8",
		"TZ=:UTC",
		"PATH=/usr/local/bin:/usr/bin:/bin",
	}
}

// Ready waits until the bootstrap asks for its first event and returns how long that took
// from its start: the init phase of a cold start.
func (e *Environment) Ready(ctx context.Context) (time.Duration, error) {
	select {
	case <-e.ready:
		return e.initTime, nil
	case <-e.exited:
		return 0, e.exitError()
	case <-ctx.Done():
		return 0, fmt.Errorf("the bootstrap is not ready: %w; its log:\n%s", ctx.Err(), e.Log())
	}
}

// ErrTimedOut is an event that took longer than it may. The process was killed for it.
var ErrTimedOut = errors.New("task timed out")

// Invoke has the bootstrap handle an event and returns its answer. An error that the
// function returned is a [*FunctionError]; the others say that there was no answer.
func (e *Environment) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	inv := e.accept(event)
	defer e.forget(inv)
	select {
	case e.queue <- inv:
	case <-e.exited:
		return nil, e.exitError()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	deadline := time.NewTimer(e.timeout)
	defer deadline.Stop()
	select {
	case out := <-inv.done:
		return out.answer, out.err
	case <-e.exited:
		return nil, e.lastWord(inv)
	case <-deadline.C:
		e.Stop()
		return nil, fmt.Errorf("%w after %s; its log:\n%s", ErrTimedOut, e.timeout, e.Log())
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lastWord is why an event has no answer when the process ended: what the function said
// of it before (a panic is reported, then the process exits), or that it ended.
func (e *Environment) lastWord(inv *invocation) error {
	select {
	case out := <-inv.done:
		if out.err != nil {
			return out.err
		}
	default:
	}
	return e.exitError()
}

// exitError says that the process ended, and what it wrote.
func (e *Environment) exitError() error {
	how := "exit status 0"
	if e.exit != nil {
		how = e.exit.Error()
	}
	return fmt.Errorf("the bootstrap has exited: %s; its log:\n%s", how, e.Log())
}

// Answered returns how many events were answered, those with an error too.
func (e *Environment) Answered() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.answered
}

// Failed returns how many events ended in an error that the function returned.
func (e *Environment) Failed() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}

// Log returns what the process has written so far.
func (e *Environment) Log() string { return e.log.String() }

// Stop kills the process, as Lambda does with SIGKILL, and waits for its end. It may be
// called again.
func (e *Environment) Stop() {
	_ = e.cmd.Process.Kill() // it may have ended already
	<-e.exited
	_ = e.server.Close() // nobody talks to it any more
}

// A buffer is written by the process and read by others meanwhile.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends p.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns what was written.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
