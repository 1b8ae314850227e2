package httpapi

import (
	"embed"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// The description of all endpoints, and the page that shows it.
var (
	//go:embed openapi.yaml
	openapiYAML []byte
	//go:embed docs
	docsFiles embed.FS
)

// asJSON is the description as JSON, when it was asked for. It is no sync.OnceValue: that would
// be made at start, and link the description into programs that never serve it.
var asJSON struct {
	sync.Once
	text []byte
}

func openapiJSON() []byte {
	asJSON.Do(func() {
		var document any
		err := yaml.Unmarshal(openapiYAML, &document)
		if err == nil {
			asJSON.text, err = json.Marshal(document, json.Deterministic(true), jsontext.EscapeForHTML(false))
		}
		if err != nil {
			panic(err) // the file is in the binary, and the tests read it
		}
	})
	return asJSON.text
}

// docsPolicy lets the page load what comes from here and nothing else. Scripts are files:
// one that got into the page does not run. The viewer writes styles into the page.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// HandleDocs has a mux answer with the description, which nobody needs a key for:
//
//	GET /openapi.yaml    the description, OpenAPI 3.1
//	GET /openapi.json    the same as JSON
//	GET /docs            a page that shows it, and lets calls be tried
//	GET /docs/{file}     what the page needs; all of it is in the binary
//
// A nil logger is slog.Default(). The check function goes without: the page is a megabyte.
func HandleDocs(mux *http.ServeMux, logger *slog.Logger) {
	if logger == nil {
		logger = slog.Default()
	}
	s := &server{logger: logger}
	h := &edge{server: s, routes: s.mux(docsRoutes)}
	for _, r := range docsRoutes {
		mux.Handle(r.path, h)
	}
}

// docsRoutes are all there are.
var docsRoutes = []route{
	{"GET", "/openapi.yaml", (*server).openapiYAML},
	{"GET", "/openapi.json", (*server).openapiJSON},
	{"GET", "/docs", (*server).docs},
	{"GET", "/docs/{file}", (*server).docsFile},
}

// docsTypes are what the files are, by their endings.
var docsTypes = map[string][]string{
	".html": {"text/html; charset=utf-8"},
	".css":  {"text/css; charset=utf-8"},
	".js":   {"text/javascript; charset=utf-8"},
	".txt":  {"text/plain; charset=utf-8"},
}

var (
	yamlType = []string{"application/yaml"}
	anHour   = []string{"public, max-age=3600"}
)

func (s *server) openapiYAML(w http.ResponseWriter, _ *http.Request) {
	respond(w, http.StatusOK, yamlType, openapiYAML)
}

func (s *server) openapiJSON(w http.ResponseWriter, _ *http.Request) {
	respond(w, http.StatusOK, jsonType, openapiJSON())
}

func (s *server) docs(w http.ResponseWriter, r *http.Request) {
	w.Header()["Content-Security-Policy"] = []string{docsPolicy}
	s.file(w, r, "docs.html", noStore)
}

func (s *server) docsFile(w http.ResponseWriter, r *http.Request) {
	s.file(w, r, r.PathValue("file"), anHour)
}

func (s *server) file(w http.ResponseWriter, r *http.Request, name string, keep []string) {
	data, err := fs.ReadFile(docsFiles, "docs/"+name)
	contentType := docsTypes[path.Ext(name)]
	if err != nil || contentType == nil {
		s.fail(w, r, &problem{kind: notFound, detail: "There is no such file; the page is at /docs."})
		return
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = contentType, keep, noSniff
	_, _ = w.Write(data) // a caller who has gone is told nothing
}
