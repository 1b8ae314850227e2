package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// onTerminal runs a command on a terminal of so many columns, where somebody types when asked.
func (s *shop) onTerminal(columns uint16, typed string, args ...string) (code int, shown string) {
	s.t.Helper()
	cmd := process(s.t, s.env, args...)
	screen, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: columns})
	if err != nil {
		s.t.Fatal(err)
	}
	defer screen.Close()
	var all []byte
	for part := make([]byte, 4096); ; {
		n, err := screen.Read(part)
		if err != nil { // so it ends when the terminal is closed
			break
		}
		all = append(all, part[:n]...)
		if typed != "" && bytes.Contains(all, []byte("[y/N] ")) {
			if _, err := io.WriteString(screen, typed); err != nil {
				s.t.Fatal(err)
			}
			typed = ""
		}
	}
	_ = cmd.Wait() // the exit code says it
	return cmd.ProcessState.ExitCode(), strings.ReplaceAll(string(all), "\r\n", "\n")
}

func TestDeletingIsConfirmed(t *testing.T) {
	s := open(t)
	code, shown := s.onTerminal(100, "n\n", "tenants", "delete", "acme")
	if code != exitFailed || !strings.Contains(shown, "This deletes tenant acme, and revokes its keys. Go on? [y/N] ") || !strings.Contains(shown, "penstock: nothing was done") {
		t.Errorf("%d: %s", code, shown)
	}
	if code, shown := s.onTerminal(100, "\x03", "tenants", "delete", "acme"); code != exitFailed || !strings.Contains(shown, "penstock: nothing was done") {
		t.Errorf("Ctrl-C: %d: %s", code, shown)
	}
	s.ok("tenants", "get", "acme")
	if code, shown := s.onTerminal(100, "y\n", "tenants", "delete", "acme"); code != 0 || !strings.HasSuffix(shown, "tenants/acme: deleted\n") {
		t.Errorf("%d: %s", code, shown)
	}
	s.fails(exitNotFound, "There is no tenant", "tenants", "get", "acme")

	file := write(t, "{}")
	if code, shown := s.onTerminal(100, "\n", "apply", file); code != exitFailed || !strings.Contains(shown, "This deletes 2 plans and 1 tenant") {
		t.Errorf("%d: %s", code, shown)
	}
	if code, shown := s.onTerminal(100, "yes\n", "apply", file); code != 0 || !strings.Contains(shown, "0 plans, 0 tenants: applied as") {
		t.Errorf("%d: %s", code, shown)
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	s := open(t)
	s.env = append(s.env, "NO_COLOR=1")
	_, shown := s.onTerminal(40, "", "plans", "list")
	want := `PLAN  LIMITS
free  4       per-user 10 per 1s by sub…
pro   4       per-user 100 per 1s by su…
`
	if shown != want {
		t.Errorf("prints\n%s\nwant\n%s", shown, want)
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	s := open(t)
	const bold = "\x1b[1mTENANT\x1b[0m"
	if _, shown := s.onTerminal(80, "", "tenants", "list"); !strings.Contains(shown, bold) {
		t.Errorf("%q", shown)
	}
	if shown := s.ok("tenants", "list"); strings.Contains(shown, "\x1b") {
		t.Errorf("not on a terminal: %q", shown)
	}
	s.env = append(s.env, "NO_COLOR=1")
	if _, shown := s.onTerminal(80, "", "tenants", "list"); strings.Contains(shown, "\x1b") {
		t.Errorf("with NO_COLOR: %q", shown)
	}
}

// What takes long says that it is going on.
func TestApplyingShowsThatItWorks(t *testing.T) {
	s := open(t)
	s.between(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			time.Sleep(patience + 400*time.Millisecond)
		}
		return false
	})
	code, shown := s.onTerminal(100, "", "apply", "--yes", write(t, changedConfig))
	if code != 0 || !strings.Contains(shown, "applying 2 plans, 1 tenant") || !strings.HasSuffix(shown, "applied as version "+lastWord(shown)) {
		t.Errorf("%d: %q", code, shown)
	}
}

func lastWord(s string) string { return s[strings.LastIndex(s, " ")+1:] }

// A name cannot move the cursor of who reads it.
func TestPrintable(t *testing.T) {
	if got := printable("a\x1b[2Jb\nc"); got != "a\ufffd[2Jb\ufffdc" {
		t.Errorf("%q", got)
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		widths []int
		most   int
		want   []int
	}{
		{[]int{4, 6}, 80, []int{4, 6}},
		{[]int{4, 60, 20}, 60, []int{4, 32, 20}},
		{[]int{40, 40}, 42, []int{20, 20}},
		{[]int{40, 40}, 5, []int{8, 8}},
	} {
		got := append([]int{}, c.widths...)
		if fit(got, c.most); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v in %d is %v, want %v", c.widths, c.most, got, c.want)
		}
	}
}
