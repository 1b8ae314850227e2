package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const runVariable = "PENSTOCK_TEST_RUN"

// The test binary is the command too, so that tests run real processes.
func TestMain(m *testing.M) {
	if os.Getenv(runVariable) != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

const adminKeyOfTests = "the key of the first administrator"

// process is penstock with an environment of its own.
func process(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{runVariable + "=1", "HOME=" + cmd.Dir, "TERM=xterm", "TZ=UTC"}, env...)
	return cmd
}

// A shop is a running penstock serve, and who works there.
type shop struct {
	t   *testing.T
	url string
	env []string
}

// open starts penstock serve with the built-in example; with a configuration, with that.
func open(t *testing.T, config ...string) *shop {
	t.Helper()
	args := []string{"serve", "--addr", "127.0.0.1:0"}
	if len(config) > 0 {
		args = append(args, "--config", write(t, config[0]))
	}
	cmd := process(t, []string{"PENSTOCK_ADMIN_KEY=" + adminKeyOfTests}, args...)
	log := &logged{found: make(chan string, 1)}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is told to end below
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	s := &shop{t: t}
	select {
	case s.url = <-log.found:
	case <-ended:
		t.Fatalf("penstock serve has ended:\n%s", log.String())
	case <-time.After(30 * time.Second):
		t.Fatalf("penstock serve does not listen:\n%s", log.String())
	}
	s.env = []string{"PENSTOCK_URL=" + s.url, "PENSTOCK_ADMIN_KEY=" + adminKeyOfTests}
	return s
}

// logged is a log, and the address that is in it.
type logged struct {
	mu    sync.Mutex
	text  bytes.Buffer
	found chan string
}

var listening = regexp.MustCompile(`msg=listening url=(http://\S+)`)

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := listening.FindSubmatch(p); found != nil {
		l.found <- string(found[1])
	}
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// write makes a file.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A result is what a command did.
type result struct {
	code        int
	out, stderr string
}

// run runs a command with nothing on standard input.
func (s *shop) run(args ...string) result { return s.with("", args...) }

// with runs a command in this process, with something on standard input.
func (s *shop) with(stdin string, args ...string) result {
	s.t.Helper()
	for _, name := range []string{"PENSTOCK_URL", "PENSTOCK_KEY", "PENSTOCK_ADMIN_KEY"} {
		s.t.Setenv(name, "")
	}
	for _, variable := range s.env {
		name, value, _ := strings.Cut(variable, "=")
		s.t.Setenv(name, value)
	}
	var out, stderr bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&stderr)
	return result{execute(s.t.Context(), root), out.String(), stderr.String()}
}

// finish runs a process.
func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Error(err)
		return result{}
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// prints runs a command that must succeed, and what it prints must be just this.
func (s *shop) prints(want string, args ...string) {
	s.t.Helper()
	if got := s.ok(args...); anyTime(got) != want {
		s.t.Errorf("penstock %s prints\n%s\nwant\n%s", strings.Join(args, " "), anyTime(got), want)
	}
}

// ok runs a command that must succeed, and returns what it prints.
func (s *shop) ok(args ...string) string {
	s.t.Helper()
	r := s.run(args...)
	if r.code != 0 {
		s.t.Fatalf("penstock %s: exit code %d: %s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.out
}

// fails runs a command that must end with a code and say something.
func (s *shop) fails(code int, says string, args ...string) {
	s.t.Helper()
	s.run(args...).want(s.t, code, says)
}

func (r result) want(t *testing.T, code int, says string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.stderr, says) {
		t.Errorf("exit code %d, and says\n%s\nwant %d and %q", r.code, r.stderr, code, says)
	}
}

var (
	anyDate    = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z`)
	anyVersion = regexp.MustCompile(`\b\d{13}\b`)
	anyLength  = regexp.MustCompile(`\b(\d+h)?\d+m\d+(\.\d+)?s\b|\b\d+\.\d+s\b`)
	columns    = regexp.MustCompile(`(\S) {2,}`)
	anybody    = regexp.MustCompile(`by \S+@\S+`)
)

// anyTime blanks what differs from run to run.
func anyTime(s string) string {
	s = anyVersion.ReplaceAllString(anyDate.ReplaceAllString(s, "TIME"), "VERSION")
	if long := anyLength.ReplaceAllString(s, "DURATION"); long != s {
		s = columns.ReplaceAllString(long, "$1  ") // how wide they are depends on it
	}
	return anybody.ReplaceAllString(s, "by SOMEBODY")
}
