package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The page at /docs is httpapi's. It is tried here, where there is a browser: the policy lets the viewer
// run, nothing comes from elsewhere, and a call can be tried.
func TestDocsPageInABrowser(t *testing.T) {
	p := serve(t).open()
	p.do(chromedp.Navigate(p.url + "/docs"))
	const viewer = `document.querySelector('rapi-doc')?.shadowRoot`
	p.until("operations are shown", viewer+`?.textContent.includes('Decide one call')`)
	p.until("keys can be given", viewer+`.querySelector('.api-key-input')`)
	p.run(viewer + `.getElementById('get-/healthz').scrollIntoView()`)
	const request = viewer + `.getElementById('get-/healthz').querySelector('api-request').shadowRoot`
	p.until("a call can be tried", viewer+`.getElementById('get-/healthz').querySelector('api-request') && `+request+`.querySelector('[part~=btn-try]')`)
	p.run(request + `.querySelector('[part~=btn-try]').click()`)
	p.until("it is answered", request+`.textContent.includes('OK:200')`)
}
