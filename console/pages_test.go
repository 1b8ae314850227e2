package console_test

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The pictures of the documentation are made by:
//
//	go test ./console -run TestPagesAreAccessible -screenshots ../docs/screenshots -lively 5m
var (
	screenshots = flag.String("screenshots", "", "folder to which screenshots of the pages are written")
	lively      = flag.Duration("lively", 0, "for how long calls are made first, so that charts have something to show")
)

// A shown page is one in a state worth looking at.
type shown struct {
	name string
	// goTo goes there and waits until all of it is there.
	goTo func(p *tab)
	// picture is how high a picture of it the documentation has; 0 is none.
	picture int64
}

var shownPages = []shown{
	{"tenants", func(p *tab) { p.visit("#/tenants"); p.sees("globex") }, 720},
	{"new-tenant", func(p *tab) { p.visit("#/tenants"); p.click("New tenant"); p.choose("Plan", "pro") }, 0},
	{"no-tenants", func(p *tab) { p.visit("#/tenants"); p.fill("Search", "nobody"); p.sees("No tenant matches.") }, 0},
	{"tenant-usage", func(p *tab) {
		for i := range 85 {
			resource := map[bool]string{true: "POST /exports", false: "GET /search"}[i < 5]
			p.call("POST", "/v1/check", fmt.Sprintf(`{"tenant":"acme","resource":"%s","subject":"user:%d","attributes":{"ip":"203.0.113.9"}}`, resource, i))
		}
		p.visit("#/tenants/acme")
		p.fill("Subject", "user:42")
		p.fill("Attribute ip", "203.0.113.9")
		p.sees("of 20")
		p.sees("of 100")
		p.choose("Time", "5")
		p.until("the chart is drawn", `document.querySelector('.chart canvas')`)
	}, 900},
	{"tenant-limits", func(p *tab) { p.visit("#/tenants/acme/limits"); p.sees("No changes.") }, 720},
	{"tenant-keys", func(p *tab) { p.visit("#/tenants/acme/keys"); p.sees("active") }, 720},
	{"tenant-audit", func(p *tab) { p.visit("#/tenants/acme/audit"); p.sees("replace") }, 0},
	{"new-key", func(p *tab) {
		p.visit("#/tenants/globex/keys")
		p.click("New key")
		p.click("Create")
		p.sees("shown this once")
	}, 0},
	{"plans", func(p *tab) { p.visit("#/plans"); p.sees("Default plan") }, 720},
	{"plan", func(p *tab) {
		p.visit("#/plans/free")
		p.sees("No changes.")
		p.fill("Quota", "0")
		p.until("it is wrong", problem("Quota"))
	}, 720},
	{"plan-json", func(p *tab) { p.visit("#/plans/pro"); p.click("JSON"); p.sees("No changes.") }, 0},
	{"review", func(p *tab) {
		p.visit("#/plans/free")
		p.fill("Quota", "15")
		p.sees("Valid, not saved yet.")
		p.click("Review and save")
		p.sees("unchanged")
	}, 720},
	{"new-plan", func(p *tab) { p.visit("#/new-plan"); p.sees("Give it a name first.") }, 0},
	{"service-keys", func(p *tab) { p.visit("#/keys"); p.sees("check:any") }, 0},
	{"explain", func(p *tab) {
		for range 6 {
			p.call("POST", "/v1/check", `{"tenant":"acme","resource":"POST /exports","subject":"user:42"}`)
		}
		p.visit("#/explain?tenant=acme&resource=POST%20%2Fexports&subject=user%3A42")
		p.fill("Subject", "user:42")
		p.press(kb.Enter)
		p.sees("Refused by exports")
	}, 820},
	{"try-it", func(p *tab) {
		p.visit("#/try?tenant=initech&resource=POST%20%2Fexports&subject=user%3A42")
		p.click("Send until refused")
		p.sees("refused by exports")
	}, 900},
	{"audit", func(p *tab) { p.visit("#/audit"); p.click("Version " + replaced(p)); p.sees(`"quota": 2500`) }, 720},
	{"no-page", func(p *tab) { p.visit("#/nowhere"); p.sees("There is no such page.") }, 0},
	{"no-tenant", func(p *tab) { p.visit("#/tenants/nobody"); p.sees("There is no tenant") }, 0},
}

// replaced is the version of the newest change that replaced something.
func replaced(p *tab) string {
	p.sees("replace")
	return eval[string](p, `[...document.querySelectorAll('tr')].find((r) => r.innerText.includes('replace')).querySelector('summary').innerText.replace('Version ', '')`)
}

// busy is a server that has seen some life.
func busy(t *testing.T) *server {
	t.Helper()
	s := serve(t)
	// Changed and changed back, so that it was not the process that did it, in the machine's name.
	_, config := s.call("GET", "/admin/v1/config", "")
	for _, c := range []string{strings.ReplaceAll(config, `"period":"day"`, `"period":"hour"`), config} {
		s.call("PUT", "/admin/v1/config", c, "If-Match: *")
	}
	s.call("POST", "/admin/v1/tenants/acme/keys", `{"name":"production","scopes":["check:own"],"expires_in":"2160h"}`)
	_, made := s.call("POST", "/admin/v1/tenants/acme/keys", `{"name":"old laptop","scopes":["check:own"]}`)
	s.call("DELETE", "/admin/v1/tenants/acme/keys/"+member(t, made, "id"), "")
	s.call("POST", "/admin/v1/keys", `{"name":"gateway","scopes":["check:any"]}`)
	for _, name := range []string{"hooli", "initech", "massive-dynamic", "pied-piper", "soylent", "stark-industries", "umbrella", "wayne-enterprises"} {
		s.call("PUT", "/admin/v1/tenants/"+name, `{"plan":"`+map[bool]string{true: "pro", false: "free"}[len(name)%2 == 0]+`"}`)
	}
	s.call("PUT", "/admin/v1/tenants/acme", `{"plan":"free","limits":[{"name":"daily","algorithm":"token_bucket","quota":2500,"period":"day"}]}`, "If-Match: *")
	for i := range 400 {
		resource := "GET /search"
		if i%40 == 0 {
			resource = "POST /exports"
		}
		s.call("POST", "/v1/check", fmt.Sprintf(`{"tenant":"acme","resource":"%s","subject":"user:%d","attributes":{"ip":"203.0.113.9"}}`, resource, 38+i%6))
	}
	live(s, *lively)
	return s
}

// live makes calls for so long, more at some times than at others.
func live(s *server, during time.Duration) {
	s.t.Helper()
	const often = 250 * time.Millisecond
	for began := time.Now(); time.Since(began) < during; time.Sleep(often) {
		seconds := time.Since(began).Seconds()
		for range int(2 + math.Sin(seconds/23) + 2*math.Sin(seconds/71)*math.Sin(seconds/7)) {
			s.call("POST", "/v1/check", `{"tenant":"acme","resource":"GET /search","subject":"user:42","attributes":{"ip":"198.51.100.7"}}`)
		}
		s.call("POST", "/v1/check", `{"tenant":"acme","resource":"GET /items","subject":"user:43"}`)
	}
}

// appearance sets what the page is told of the reader's preferences.
func (p *tab) appearance(scheme string) {
	p.t.Helper()
	command(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// audit runs axe on the page as it is.
func (p *tab) audit(where, axe string) {
	p.t.Helper()
	if !eval[bool](p, `!!window.axe`) {
		p.run(axe)
	}
	for _, found := range eval[[]string](p, `axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) =>
		v.impact + ' ' + v.id + ': ' + v.help + '\n' + v.nodes.map((n) => '    ' + n.target.join(' ') + ' ' + n.failureSummary.replaceAll('\n', ' ')).join('\n')))`) {
		p.t.Errorf("%s: %s", where, found)
	}
}

// Every page, in light and dark: no violation of any rule of axe, and wide and narrow no
// content beyond the page.
func TestPagesAreAccessible(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join("testdata", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	s := busy(t)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			s := &server{t, s.url}
			p := s.open(400, 404, 429)
			p.appearance(scheme)
			p.audit("sign-in", string(axe))
			p.picture("sign-in", scheme)
			p.signIn()
			for _, page := range shownPages {
				t.Run(page.name, func(t *testing.T) {
					p := &tab{server: &server{t, s.url}, ctx: p.ctx}
					p.visit("#/plans")
					p.leave()
					page.goTo(p)
					p.audit(page.name, string(axe))
					if page.picture > 0 {
						p.do(chromedp.EmulateViewport(1280, page.picture))
						p.picture(page.name, scheme)
					}
					p.do(chromedp.EmulateViewport(390, 800))
					if wide := eval[int](p, `document.documentElement.scrollWidth`); wide > 390 {
						t.Errorf("on a telephone it is %d pixels wide", wide)
					}
					p.do(chromedp.EmulateViewport(1280, 860))
					p.press(kb.Escape)
				})
			}
		})
	}
}

// leave discards what is not saved, if the page asks.
func (p *tab) leave() {
	p.t.Helper()
	p.until("the plans are shown, or the page asks", `document.querySelector('h1')?.innerText === 'Plans' || document.querySelector('dialog[open]')`)
	if eval[bool](p, `!!document.querySelector('dialog[open]')`) {
		p.click("Discard changes")
	}
	p.sees("Default plan")
}

// maxPicture is how large a screenshot may be.
const maxPicture = 200 << 10

// picture writes a screenshot, when asked for.
func (p *tab) picture(name, scheme string) {
	p.t.Helper()
	if *screenshots == "" {
		return
	}
	p.do(chromedp.MouseEvent(chromedp.MouseMoved, 0, 0))
	p.run(`document.activeElement.matches('h1') || document.activeElement.blur(); scrollTo(0, 0)`)
	shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		p.t.Fatal(err)
	}
	var smaller bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&smaller, picture); err != nil {
		p.t.Fatal(err)
	}
	if smaller.Len() > maxPicture {
		p.t.Errorf("the screenshot of %s has %d bytes", name, smaller.Len())
	}
	if err := os.WriteFile(filepath.Join(*screenshots, strings.Join([]string{name, scheme, "png"}, ".")), smaller.Bytes(), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Everything by the keyboard: sign in, open a tenant, override, save, sign out.
func TestByKeyboardAlone(t *testing.T) {
	p := serve(t).open()
	p.press(adminKey, kb.Enter)
	p.sees("Signed in as")
	p.tabTo("globex")
	p.press(kb.Enter)
	p.until("the heading has the focus", `document.activeElement.matches('h1') && document.activeElement.innerText === 'globex'`)
	p.tabTo("Plan and limits")
	p.press(kb.Enter)
	p.sees("No changes.")
	p.tabTo("Override exports")
	p.press(kb.Enter)
	p.sees("overridden")
	p.tabTo("Quota")
	p.press("61")
	p.sees("Valid, not saved yet.")
	p.tabTo("Review and save")
	p.press(kb.Enter)
	p.sees("Save tenant globex?")
	p.until("the focus is in the dialog", `document.activeElement.closest('dialog[open]')`)
	p.press(kb.Escape)
	p.doesNotSee("Save tenant globex?")
	p.until("the focus is back", `document.activeElement.innerText === 'Review and save'`)
	p.press(kb.Enter)
	p.sees("Save tenant globex?")
	p.tabTo("Save")
	p.press(kb.Enter)
	p.hears("globex is saved.")
	p.until("the focus is where it says so", `document.activeElement.innerText === 'No changes.'`)
	if _, body := p.call("GET", "/admin/v1/tenants/globex", ""); !strings.Contains(body, `"quota":61`) {
		t.Error(body)
	}
	p.tabTo("Sign out")
	p.press(" ")
	p.sees("You are signed out.")
	p.until("the focus is in the field", `document.activeElement.type === 'password'`)
}

// tabTo presses Tab until what has a name has the focus, at most once around the page, and
// checks on the way that every stop shows that it has it; a heading, where a page begins, is no stop.
func (p *tab) tabTo(name string) {
	p.t.Helper()
	for range 150 {
		p.press(kb.Tab)
		at := eval[string](p, `(e => (e.ariaLabel || e.labels?.[0]?.innerText || e.innerText || '').trim())(document.activeElement)`)
		if outlined := eval[bool](p, `(e => e.matches('body, h1') || getComputedStyle(e).outlineStyle !== 'none')(document.activeElement)`); !outlined {
			p.t.Errorf("%q has the focus and does not show it", at)
		}
		if at == name {
			return
		}
	}
	p.t.Fatalf("Tab does not reach %s; the page:\n%s", name, p.text())
}
