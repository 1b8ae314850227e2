package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The browser and the command, made once for all tests.
var (
	browser  context.Context
	penstock string
)

func TestMain(m *testing.M) {
	status, err := withBrowser(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "console:", err)
		os.Exit(1)
	}
	os.Exit(status)
}

// withBrowser runs tests with a headless Chromium that can reach this machine alone.
func withBrowser(run func() int) (int, error) {
	path, err := chromium()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "penstock-console-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder that stays harms nobody
	penstock = filepath.Join(dir, "penstock")
	if out, err := exec.Command("go", "build", "-o", penstock, "../cmd/penstock").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build ../cmd/penstock: %w\n%s", err, out)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(dir, "profile")),
		// Offline, but for the server under test.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("hide-scrollbars", true),
	)
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	var end context.CancelFunc
	browser, end = chromedp.NewContext(allocator) //nolint:fatcontext // it is not in a loop: it is made once, for all tests
	defer end()
	if err := chromedp.Do(browser, chromedp.Navigate("about:blank")); err != nil {
		return 0, fmt.Errorf("%s cannot be started: %w", path, err)
	}
	return run(), nil
}

func chromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium or Chrome to test in; scripts/preflight.sh test says how to get one")
}

// adminKey is the bootstrap key of all servers.
const adminKey = "the-key-of-the-browser-tests"

// A server is a running penstock serve, in memory, with its example configuration.
type server struct {
	t   *testing.T
	url string
}

var listening = regexp.MustCompile(`msg=listening url=(http://\S+)`)

// serve starts a server on a free port.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), penstock, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "PENSTOCK_ADMIN_KEY=" + adminKey}
	var said output
	cmd.Stderr, cmd.Stdout = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", said.String())
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
	})
	for range 800 {
		if found := listening.FindStringSubmatch(said.String()); found != nil {
			return &server{t, found[1]}
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("the server does not listen:\n%s", said.String())
	return nil
}

// An output is what a process has said so far.
type output struct {
	mu   sync.Mutex
	said bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}

// call makes a request as another administrator would, beside the browser.
func (s *server) call(method, path, body string, header ...string) (status int, answer string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if strings.HasPrefix(path, "/admin/") {
		r.Header.Set("Authorization", "Bearer "+adminKey)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// A tab is a page of the console in a browser profile of its own.
type tab struct {
	*server
	ctx context.Context

	mu       sync.Mutex
	problems []string // what must not happen in any test
	allowed  map[int]bool
}

// open opens the console in a new tab, nobody signed in. Whatever the browser complains of
// fails the test: errors, violations of the policy, calls to other hosts, and answers of 400
// or more but those that are expected.
func (s *server) open(expected ...int) *tab {
	s.t.Helper()
	p := &tab{server: s, allowed: map[int]bool{}}
	for _, status := range expected {
		p.allowed[status] = true
	}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.watch))
	s.t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	s.t.Cleanup(stop)
	p.ctx = ctx
	p.do(chromedp.EmulateViewport(1280, 860))
	command(p, network.Enable, network.EnableParams{})
	command(p, log.Enable, cdp.Empty{})
	command(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI));`,
	})
	s.t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			s.t.Error("the browser complains: " + problem)
		}
	})
	p.do(chromedp.Navigate(s.url + "/"))
	p.sees("Sign in")
	return p
}

// watch notes what must not happen.
func (p *tab) watch(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.complain("exception: " + e.ExceptionDetails.Text + " " + e.ExceptionDetails.Exception.Description)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var said []string
			for _, a := range e.Args {
				said = append(said, string(a.Value)+a.Description)
			}
			p.complain("console: " + strings.Join(said, " "))
		}
	case *log.EventEntryAdded:
		// The network's are judged by their status below.
		if e.Entry.Source != log.EntrySourceNetwork && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
			p.complain(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, p.url+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			p.complain("it calls another host: " + e.Request.URL)
		}
	case *network.EventResponseReceived:
		if status := int(e.Response.Status); status >= 400 && !p.allowed[status] {
			p.complain(fmt.Sprintf("%s is answered %d", e.Response.URL, status))
		}
	}
}

func (p *tab) complain(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, what)
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatalf("%v; the page:\n%s", err, p.text())
	}
}

// command sends a command of the DevTools protocol.
func command[P, R any](p *tab, c cdp.Command[P, R], params P) R {
	p.t.Helper()
	r, err := chromedp.Call(p.ctx, c, params)
	if err != nil {
		p.t.Fatalf("%s: %v; the page:\n%s", c.Method, err, p.text())
	}
	return r
}

// eval evaluates an expression in the page; a promise is waited for.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v; the page:\n%s", expression, err, p.text())
	}
	return v
}

// run runs statements in the page.
func (p *tab) run(statements string) {
	p.t.Helper()
	eval[bool](p, `(async () => { `+statements+`; return true; })()`)
}

// text is what can be read on the page.
func (p *tab) text() string {
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// until waits for an expression to be true.
func (p *tab) until(what, expression string) {
	p.t.Helper()
	const every, patience = 40 * time.Millisecond, 20 * time.Second // two cores may be busy with other tests
	for range patience / every {
		if eval[bool](p, `!!(`+expression+`)`) {
			return
		}
		time.Sleep(every)
	}
	p.t.Fatalf("after %s not yet: %s; the page:\n%s", patience, what, p.text())
}

// sees waits for a text to be on the page.
func (p *tab) sees(text string) {
	p.t.Helper()
	p.until("sees "+text, `document.body.innerText.includes(`+quoted(text)+`)`)
}

// doesNotSee waits for a text to be gone.
func (p *tab) doesNotSee(text string) {
	p.t.Helper()
	p.until("does not see "+text, `!document.body.innerText.includes(`+quoted(text)+`)`)
}

// hears waits for a screen reader to be told.
func (p *tab) hears(text string) {
	p.t.Helper()
	p.until("hears "+text, `document.getElementById('announcements').textContent.includes(`+quoted(text)+`)`)
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// within is where somebody looks: an open dialog, if there is one.
const within = `([...document.querySelectorAll('dialog[open]')].at(-1) || document)`

// finding returns an expression for the element of these kinds with an accessible name.
func finding(kinds, name string) string {
	return `[...` + within + `.querySelectorAll('` + kinds + `')].find((e) => (e.ariaLabel || e.innerText || '').trim() === ` + quoted(name) + ` && e.checkVisibility())`
}

// click clicks a button, a link or a summary by its name.
func (p *tab) click(name string) {
	p.t.Helper()
	expression := finding("button, a, summary", name)
	p.until("there is "+name+" to click", `(e => e && !e.disabled)(`+expression+`)`)
	at := eval[[]float64](p, `(e => { e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })(`+expression+`)`)
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// control returns an expression for the control with a label, the nth when there are several.
func control(label string, nth int) string {
	return `[...` + within + `.querySelectorAll('label')].filter((l) => l.innerText.trim() === ` + quoted(label) + ` && l.control.checkVisibility()).map((l) => l.control)[` + fmt.Sprint(nth) + `]`
}

// fill types into the control with a label, in place of what is there.
func (p *tab) fill(label, text string) {
	p.t.Helper()
	p.fillNth(label, 0, text)
}

func (p *tab) fillNth(label string, nth int, text string) {
	p.t.Helper()
	at := control(label, nth)
	p.until("there is a control "+label, at)
	p.run(`const e = ` + at + `; e.focus(); e.select()`)
	if text == "" {
		p.do(chromedp.KeyEvent(kb.Delete))
		return
	}
	command(p, input.InsertText, input.InsertTextParams{Text: text})
}

// choose chooses an option by its value.
func (p *tab) choose(label, value string) {
	p.t.Helper()
	at := control(label, 0)
	p.until("there is a choice "+label+" with "+value, `(s => s && [...s.options].some((o) => o.value === `+quoted(value)+`))(`+at+`)`)
	p.run(`const s = ` + at + `; s.value = ` + quoted(value) + `; s.dispatchEvent(new Event('change', {bubbles: true}))`)
}

// problem is what is said to be wrong beside the control with a label; "" when nothing is.
func problem(label string) string {
	return `(c => c.getAttribute('aria-invalid') === 'true' && c.closest('.field').querySelector('.problems').innerText || '')(` + control(label, 0) + `)`
}

// press presses keys as one does on a keyboard.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.do(chromedp.KeyEvent(key))
	}
}

// visit goes to a page by its address: "#/plans".
func (p *tab) visit(hash string) {
	p.t.Helper()
	p.run(`location.hash = ` + quoted(hash))
}

// signIn signs in with the bootstrap key.
func (p *tab) signIn() {
	p.t.Helper()
	p.fill("Admin key", adminKey)
	p.click("Sign in")
	p.sees("Signed in as\nbootstrap key")
}

// signedIn opens the console and signs in.
func (s *server) signedIn(expected ...int) *tab {
	s.t.Helper()
	p := s.open(expected...)
	p.signIn()
	return p
}

// path is where the browser is.
func (p *tab) path() string {
	p.t.Helper()
	u, err := url.Parse(eval[string](p, `location.href`))
	if err != nil {
		p.t.Fatal(err)
	}
	return u.Path
}
