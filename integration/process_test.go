package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// command is the penstock command, run in an empty folder with nothing of this process's
// environment. awsEnv is what it needs to reach an emulator.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := built.penstock()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}, env...)
	return cmd
}

// awsEnv is the usual AWS environment, made up.
var awsEnv = []string{"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local"}

// A server is a running penstock serve.
type server struct {
	cmd    *exec.Cmd
	url    string
	stdout output
	stderr output
	ended  chan error
}

// listening is what the server says when it can be called.
var listening = regexp.MustCompile(`msg=listening url=(http://\S+)`)

// serve starts penstock serve on a free port and waits until it can be called.
func serve(t *testing.T, env []string, args ...string) *server {
	t.Helper()
	s := &server{ended: make(chan error, 1)}
	if !strings.Contains(strings.Join(args, " "), "--addr") {
		args = append(args, "--addr", "127.0.0.1:0")
	}
	s.cmd = command(t, env, append([]string{"serve"}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	eventually(t, func() bool {
		if found := listening.FindStringSubmatch(s.stderr.String()); found != nil {
			s.url = found[1]
		}
		select {
		case err := <-s.ended:
			t.Fatalf("penstock serve has ended: %v\n%s", err, s.stderr.String())
		default:
		}
		return s.url != ""
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", s.stderr.String())
		}
	})
	return s
}

// stop asks the server to end, as a supervisor does, and returns how it did.
func (s *server) stop(t *testing.T) error {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("it did not end within 10 s")
		return nil
	}
}

// check makes a check.
func (s *server) check(t *testing.T, key string, ask object) answer {
	t.Helper()
	a, err := s.try(t.Context(), key, ask)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// try is check for goroutines other than the test's.
func (s *server) try(ctx context.Context, key string, ask object) (answer, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return answer{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/check", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: response.StatusCode, header: map[string]string{}}
	for name := range response.Header {
		a.header[strings.ToLower(name)] = response.Header.Get(name)
	}
	return a, json.Unmarshal(data, &a.body)
}

// fails runs a command that must not start, and returns its exit code and what it says.
func fails(t *testing.T, env []string, args ...string) (code int, says string) {
	t.Helper()
	out, err := command(t, env, args...).CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("penstock %s ended with %v, want a failure; it said:\n%s", strings.Join(args, " "), err, out)
	}
	return exit.ExitCode(), string(out)
}

// An output is written by a process and read by the test meanwhile.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
