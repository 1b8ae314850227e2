package console_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed43908478/penstock/console"
)

// get makes a request of the console, with headers as "Name: value".
func get(t *testing.T, h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// ours are the files of the page and of others' code in it, as they lie in this folder.
func ours(t *testing.T) (names []string) {
	t.Helper()
	for _, folder := range []string{"app", "vendor"} {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if ext := filepath.Ext(name); err == nil && !d.IsDir() && ext != ".md" && !strings.HasPrefix(d.Name(), "LICENSE") {
				names = append(names, filepath.ToSlash(name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func TestEveryFileIsServedAsWhatItIs(t *testing.T) {
	h := console.Handler()
	types := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8"}
	for _, name := range ours(t) {
		path := console.Root + name
		if name == "app/index.html" {
			path = console.Root + "index.html"
		}
		a := get(t, h, "GET", path)
		body := a.Body.String()
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if a.Code != http.StatusOK || body != string(want) || a.Header().Get("Content-Type") != types[filepath.Ext(name)] {
			t.Errorf("GET %s: %d, %s, %d bytes; want %d", path, a.Code, a.Header().Get("Content-Type"), len(body), len(want))
		}
		tag := a.Header().Get("ETag")
		if again := get(t, h, "GET", path, "If-None-Match: "+tag); again.Code != http.StatusNotModified || again.Header().Get("ETag") != tag {
			t.Errorf("GET %s with its ETag %s: %d", path, tag, again.Code)
		}
		if a.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("GET %s: Cache-Control is %q", path, a.Header().Get("Cache-Control"))
		}
	}
}

func TestThePageHasTwoAddresses(t *testing.T) {
	h := console.Handler()
	short, long := get(t, h, "GET", console.Root), get(t, h, "GET", console.Root+"index.html")
	if short.Code != http.StatusOK || short.Body.String() != long.Body.String() {
		t.Errorf("%s is answered %d, and not what index.html is", console.Root, short.Code)
	}
}

func TestNothingElseIsServed(t *testing.T) {
	h := console.Handler()
	for _, path := range []string{"nothing", "app/", "app/index.html", "app/pages/", "vendor/", "vendor/README.md", "vendor/uplot/LICENSE", "testdata/axe-core/axe.min.js", "console.go", "../go.mod"} {
		if a := get(t, h, "GET", console.Root+path); a.Code == http.StatusOK {
			t.Errorf("GET %s is served", path)
		}
	}
	if a := get(t, h, "POST", console.Root); a.Code != http.StatusMethodNotAllowed || a.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST is answered %d, Allow %q", a.Code, a.Header().Get("Allow"))
	}
}

// Errors too, so that no answer below the console's address can be used against it.
func TestEveryAnswerIsStrict(t *testing.T) {
	h := console.Handler()
	for _, c := range []struct{ method, path string }{{"GET", ""}, {"GET", "app/main.js"}, {"GET", "nothing"}, {"PUT", ""}} {
		a := get(t, h, c.method, console.Root+c.path)
		policy := a.Header().Get("Content-Security-Policy")
		for _, directive := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:",
			"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
		} {
			if !strings.Contains(policy+";", directive+";") {
				t.Errorf("%s %s: the policy lacks %s: %s", c.method, c.path, directive, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("the policy is not strict: %s", policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin"} {
			if got := a.Header().Get(name); got != want {
				t.Errorf("%s %s: %s is %q", c.method, c.path, name, got)
			}
		}
	}
}

func TestBrowsersAreSentToTheConsole(t *testing.T) {
	h := console.Welcome(http.NotFoundHandler())
	a := get(t, h, "GET", "/", "Accept: text/html,application/xhtml+xml,*/*;q=0.8")
	if a.Code != http.StatusFound || a.Header().Get("Location") != "console/" {
		t.Errorf("a browser is answered %d, %s", a.Code, a.Header().Get("Location"))
	}
	if a := get(t, h, "GET", "/", "Accept: */*"); a.Code != http.StatusNotFound {
		t.Errorf("a program is answered %d", a.Code)
	}
}

var (
	imported  = regexp.MustCompile(`(?m)from '([^']+)'`)
	elsewhere = regexp.MustCompile(`https?://|//[a-z]+\.[a-z]`)
	inline    = regexp.MustCompile(`<script>|<style|\sstyle="|\son[a-z]+="|javascript:`)
)

// Every module that is imported is there, and our files name no other host and nothing
// that the policy refuses.
func TestModulesNeedNothingButEachOther(t *testing.T) {
	for _, name := range ours(t) {
		if !strings.HasPrefix(name, "app/") {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range imported.FindAllStringSubmatch(string(content), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), found[1])); err != nil || !strings.HasPrefix(found[1], ".") {
				t.Errorf("%s imports %s, which is not there: %v", name, found[1], err)
			}
		}
		if found := elsewhere.FindString(strings.ReplaceAll(string(content), "http://www.w3.org/2000/svg", "")); found != "" {
			t.Errorf("%s names another host: %s", name, found)
		}
		if found := inline.FindString(string(content)); found != "" {
			t.Errorf("%s has inline code or style: %s", name, found)
		}
	}
}
