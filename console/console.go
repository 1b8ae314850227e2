// Package console is the page for those who administer: tenants, plans and keys, what
// limits let through and refuse, and why. It is a folder of files in the binary, which the
// browser runs as they are; what it shows and changes goes through the addresses of
// httpapi's admin handler, on the same origin.
//
//	mux := http.NewServeMux()
//	mux.Handle("/admin/v1/", httpapi.NewAdmin(options))
//	mux.Handle(console.Root, console.Handler())
//	mux.Handle("GET /{$}", console.Welcome(checks)) // browsers are sent to the console
//
// The page asks for a key with the scope admin, keeps it in the browser's session storage
// and nowhere else, and loads nothing from other hosts: its Content-Security-Policy has
// neither inline code nor another origin.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// Root is where the console is.
const Root = "/console/"

//go:embed app vendor/*/*.js vendor/*/*.css
var files embed.FS

// index is the page itself.
const index = "app/index.html"

// policy is what the browser may do on the page's behalf. Scripts are files of ours, and
// connections go to our own origin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// A file is one of the console, ready to be sent.
type file struct {
	content     []byte
	contentType string
	etag        string
}

// Handler serves the console below [Root]. It is safe for concurrent use.
//
// Every file has its content's hash as ETag and Cache-Control: no-cache. A browser asks each
// time and is told 304, so that a new version is never mixed with files of an old one.
func Handler() http.Handler {
	all := readAll()
	mux := http.NewServeMux()
	for name, f := range all {
		if name != index {
			mux.Handle("GET "+Root+name, f)
			continue
		}
		mux.Handle("GET "+Root+"{$}", f)
		mux.Handle("GET "+Root+"index.html", f) // API Gateway's {proxy+} stands for one character at least
	}
	mux.HandleFunc(Root, func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "The console takes GET and HEAD only.", http.StatusMethodNotAllowed)
			return
		}
		http.Error(w, "There is nothing at this address; the console is at "+Root+".", http.StatusNotFound)
	})
	return mux
}

// Welcome sends browsers, which ask for HTML, to the console, and everybody else to otherwise.
func Welcome(otherwise http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), "text/html") {
			otherwise.ServeHTTP(w, r)
			return
		}
		// Relative, because an API's stage may come before the path, which is not known here.
		w.Header().Set("Location", strings.TrimPrefix(Root, "/"))
		w.Header().Set("Vary", "Accept")
		w.WriteHeader(http.StatusFound)
	})
}

// readAll returns the files by name. It panics when one cannot be served: that shows in the first test.
func readAll() map[string]file {
	all := map[string]file{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		contentType, ok := types[path.Ext(name)]
		if !ok {
			return fmt.Errorf("%s has no type", name)
		}
		sum := sha256.Sum256(content)
		all[name] = file{content, contentType, `"` + hex.EncodeToString(sum[:16]) + `"`}
		return nil
	})
	if err != nil {
		panic("console: " + err.Error())
	}
	return all
}

// types are those of the files by their ending: not by the machine's tables, which may
// have one for .js that browsers do not run.
var types = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// ServeHTTP sends the file, or 304 when the browser has it.
func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	secure(h)
	h.Set("Content-Type", f.contentType)
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}

// secure sets what every answer has, errors too.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}
