package console_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// From nothing to the first refused call of a new tenant.
func TestFromSignInToTheFirstRefusal(t *testing.T) {
	p := serve(t).open(400, 429)
	if at := p.path(); at != "/console/" {
		t.Errorf("a browser that asks for / is at %s", at)
	}
	p.signIn()

	p.click("Plans")
	p.click("New plan")
	p.fill("Name of the plan", "Tiny Plan")
	p.until("the name is wrong", problem("Name of the plan")+`.includes('1 to 63 of a-z, 0-9 and -')`)
	p.fill("Name of the plan", "tiny")
	p.fill("Quota", "3")
	p.choose("Algorithm", "sliding_window_log")
	p.fill("Burst", "")
	p.fill("Period", "hour")
	p.sees("Valid, not created yet.")
	p.click("Review and save")
	p.sees(`"quota": 3`)
	p.click("Create")
	p.hears("tiny is saved.")
	p.sees("No changes.")

	p.click("Tenants")
	p.click("New tenant")
	p.fill("Name", "initech")
	p.choose("Plan", "tiny")
	p.click("Create")
	p.sees("per-user")

	p.click("Try it")
	p.fill("Tenant", "initech")
	p.fill("Resource", "GET /")
	p.fill("Subject", "user:1")
	p.click("Send")
	p.sees("allowed, 2 left of per-user")
	p.until("the focus stays", `document.activeElement.innerText === 'Send'`)
	p.click("Send until refused")
	p.hears("3 calls, the last one: refused by per-user")
	p.sees("429")
	p.sees("retry-after")
	p.sees("ratelimit-policy")

	p.click("Tenants")
	p.click("initech")
	p.sees("counts for each subject")
	p.fill("Subject", "user:1")
	p.sees("3 of 3")
	p.sees("refuses, again in")
}

func TestSignIn(t *testing.T) {
	s := serve(t)
	p := s.open(401, 403)
	p.fill("Admin key", "not the key")
	p.click("Sign in")
	p.sees("This key is not accepted.")
	p.until("the focus is in the field again", `document.activeElement.type === 'password'`)

	_, made := s.call("POST", "/admin/v1/keys", `{"scopes":["check:any"]}`)
	service := member(t, made, "key")
	p.fill("Admin key", service)
	p.click("Sign in")
	p.sees("use one with the scope admin")

	_, made = s.call("POST", "/admin/v1/keys", `{"scopes":["admin"]}`)
	key, id := member(t, made, "key"), member(t, made, "id")
	p.fill("Admin key", key)
	p.click("Sign in")
	p.sees("Signed in as\n" + id)
	p.until("the key is in the session storage alone",
		`sessionStorage.length === 1 && localStorage.length === 0 && document.cookie === '' && !location.href.includes('pk_') && !document.documentElement.outerHTML.includes('pk_')`)

	// A key that is revoked ends the session, wherever one is.
	s.call("DELETE", "/admin/v1/keys/"+id, "")
	p.click("Plans")
	p.sees("Your key is not accepted any more.")
	p.until("the key is gone", `sessionStorage.length === 0`)
}

func TestSignOut(t *testing.T) {
	p := serve(t).signedIn()
	p.visit("#/plans/free")
	p.sees("per-user")
	p.click("Sign out")
	p.sees("You are signed out.")
	p.until("the key is gone", `sessionStorage.length === 0`)
	p.visit("#/plans/free")
	p.sees("Admin key")
	p.doesNotSee("per-user")
}

func TestWhatIsWrongIsSaidBesideTheField(t *testing.T) {
	p := serve(t).signedIn(400)
	p.visit("#/plans/free")
	p.fill("Quota", "-1")
	p.until("the problem is beside the quota", problem("Quota")+`.includes('limits[0].quota must be at least 1, not -1')`)
	p.fill("Quota", "many")
	p.until("a word is no number", problem("Quota")+`.includes('whole number')`)
	p.fill("Quota", "5")
	p.until("the problem is gone", problem("Quota")+` === ''`)
	p.fill("Quota", "5000")
	p.until("a warning is no problem", control("Quota", 0)+`.closest('.field').innerText.includes('limits[0].quota') && !`+problem("Quota"))
	p.sees("Valid, not saved yet.")
	p.fill("Quota", "5")
	p.fill("Counted by", "subject, color")
	p.until("the problem is beside the parts", problem("Counted by")+`.includes('limits[0].by[1]')`)
	p.click("Review and save")
	p.hears("There are problems to be solved first.")
	p.until("the focus is on the field", `document.activeElement === `+control("Counted by", 0))
	p.fill("Counted by", "subject")
	p.sees("Valid, not saved yet.")

	// The same as JSON.
	p.click("JSON")
	p.until("the JSON is what was edited", control("JSON", 0)+`.value.includes('"quota": 5')`)
	p.fill("JSON", `{"limits": [{"name": "a", "algorithm": "token_bucket", "quota": 1, "period": "soon"}]}`)
	p.until("the period is wrong", problem("JSON")+`.includes('limits[0].period')`)
	p.fill("JSON", `{"limits": [`)
	p.until("it is no JSON", problem("JSON")+`.includes('line 1 is not JSON')`)
	p.sees("The text is not JSON yet.")
	p.fill("JSON", `{"limits": [{"name": "a", "algorithm": "token_bucket", "quota": 7, "period": "1s"}]}`)
	p.sees("Valid, not saved yet.")
	p.click("Review and save")
	p.sees("−")
	p.click("Save")
	p.hears("free is saved.")
	if _, body := p.call("GET", "/admin/v1/plans/free", ""); !strings.Contains(body, `"quota":7`) {
		t.Error(body)
	}
}

// Two administrators edit one plan: nothing is lost silently.
func TestConflict(t *testing.T) {
	s := serve(t)
	p := s.signedIn(412)
	const theirs = `{"limits":[{"name":"per-user","by":["subject"],"algorithm":"token_bucket","quota":11,"period":"1s","burst":20},{"name":"daily","algorithm":"token_bucket","quota":500,"period":"day"}]}`
	begin := func() {
		t.Helper()
		s.call("PUT", "/admin/v1/plans/free", `{"limits":[{"name":"per-user","by":["subject"],"algorithm":"token_bucket","quota":10,"period":"1s","burst":20},{"name":"daily","algorithm":"token_bucket","quota":1000,"period":"day"}]}`, "If-Match: *")
		p.visit("#/plans")
		p.sees("Default plan")
		p.visit("#/plans/free")
		p.sees("No changes.")
		p.fill("Quota", "12")
		p.sees("Valid, not saved yet.")
		s.call("PUT", "/admin/v1/plans/free", theirs, "If-Match: *")
		p.click("Review and save")
		p.click("Save")
		p.sees("free was changed in between")
		p.sees("bootstrap saved revision")
	}

	begin()
	p.click("Discard mine, load theirs")
	p.sees("No changes.")
	p.until("theirs is loaded", control("Quota", 0)+`.value === '11'`)

	begin()
	p.click("Merge both") // both changed per-user: mine is kept; daily is theirs
	p.hears("Merged.")
	p.until("per-user is mine, daily theirs", control("Quota", 0)+`.value === '12' && `+control("Quota", 1)+`.value === '500'`)
	p.click("Review and save")
	p.click("Save")
	p.hears("free is saved.")
	if _, body := s.call("GET", "/admin/v1/plans/free", ""); !strings.Contains(body, `"quota":12`) || !strings.Contains(body, `"quota":500`) {
		t.Error(body)
	}
}

func TestLeavingAsksForWhatIsNotSaved(t *testing.T) {
	p := serve(t).signedIn()
	p.visit("#/plans/free")
	p.fill("Quota", "77")
	p.click("Tenants")
	p.sees("Leave without saving?")
	p.click("Stay")
	p.until("what was typed is there", control("Quota", 0)+`.value === '77'`)
	p.click("Tenants")
	p.click("Discard changes")
	p.sees("globex")
}

func TestKeysAreMadeShownOnceAndRevoked(t *testing.T) {
	s := serve(t, "--auth", "keys")
	p := s.signedIn()
	p.visit("#/tenants/acme/keys")
	p.sees("No keys yet.")
	p.click("New key")
	p.fill("Name", "ci")
	p.choose("Works for", "720h")
	p.click("Create")
	p.sees("shown this once")
	key := eval[string](p, control("Key", 0)+`.value`)
	p.click("Copy")
	p.hears("Key ")
	p.click("Done")
	p.sees("active")
	p.until("the key is shown no more", `!document.documentElement.outerHTML.includes(`+quoted(key)+`)`)

	check := func() int {
		t.Helper()
		status, _ := s.call("POST", "/v1/check", `{"tenant":"acme","resource":"GET /"}`, "Authorization: Bearer "+key)
		return status
	}
	if status := check(); status != 200 {
		t.Errorf("with the new key a check is answered %d", status)
	}
	id := strings.Split(key, "_")[1]
	p.click("Revoke " + id)
	p.sees("Revoke key " + id + "?")
	p.press(kb.Escape)
	p.doesNotSee("Revoke key")
	p.until("the focus is back", `document.activeElement.ariaLabel === `+quoted("Revoke "+id))
	p.click("Revoke " + id)
	p.click("Revoke")
	p.hears("is revoked")
	p.sees("revoked")
	p.until("the focus is on the heading, as the button is gone", `document.activeElement.matches('h1')`)
	if status := check(); status != 401 {
		t.Errorf("with the revoked key a check is answered %d", status)
	}

	p.visit("#/tenants/acme/audit")
	p.sees("revoke")
}

// Where keys are asked for, Try it makes one.
func TestTryItMakesAKey(t *testing.T) {
	p := serve(t, "--auth", "keys").signedIn(401)
	p.visit("#/try?tenant=acme&resource=GET%20%2F")
	p.click("Send")
	p.sees("asks for a key")
	p.click("Make one for an hour")
	p.hears("A key for an hour is filled in.")
	p.click("Send")
	p.sees("allowed")
	p.sees("Signed in as")
}

func TestExplain(t *testing.T) {
	s := serve(t)
	for range 5 {
		s.call("POST", "/v1/check", `{"tenant":"acme","resource":"POST /exports","subject":"user:1"}`)
	}
	p := s.signedIn(400, 404)
	p.visit("#/explain")
	p.fill("Tenant", "acme")
	p.fill("Resource", "POST /exports")
	p.fill("Subject", "user:1")
	p.press(kb.Enter)
	p.sees("Refused by exports")
	p.sees("5 of 5")
	p.sees("attribute ip is missing")
	p.sees("in place of the plan")
	p.sees("3 of 4")

	p.fill("Tenant", "nobody")
	p.press(kb.Enter)
	p.sees("has no plan")
	p.fill("Tenant", "acme")
	p.fill("Cost", "lots")
	p.press(kb.Enter)
	p.until("the cost is wrong", problem("Cost")+`.includes('cost')`)
}

func TestUseIsRenewedAndReset(t *testing.T) {
	s := serve(t)
	p := s.signedIn()
	p.visit("#/tenants/acme")
	p.sees("0 of 5")
	for range 4 {
		s.call("POST", "/v1/check", `{"tenant":"acme","resource":"POST /exports","subject":"user:1"}`)
	}
	p.sees("4 of 5")
	p.click("Reset exports")
	p.sees("Reset the count of exports?")
	p.click("Reset")
	p.hears("Reset: exports.")
	p.sees("0 of 5")
	p.click("Reset all")
	p.click("Reset")
	p.hears("Everywhere within 30 s.")
	p.visit("#/tenants/acme/audit")
	p.sees("reset")
}

func TestTenantsAreSearchedAndPaged(t *testing.T) {
	s := serve(t)
	tenants := make([]string, 0, 120)
	for i := range 120 {
		tenants = append(tenants, `"shop-`+string(rune('0'+i/100))+string(rune('0'+i/10%10))+string(rune('0'+i%10))+`":{"plan":"free"}`)
	}
	if status, body := s.call("PUT", "/admin/v1/config", `{"plans":{"free":{"limits":[]}},"tenants":{`+strings.Join(tenants, ",")+`}}`, "If-Match: *"); status != 200 {
		t.Fatal(body)
	}
	p := s.signedIn(409, 404) // 404: the use of the tenant that is deleted
	p.sees("shop-000")
	p.doesNotSee("shop-050")
	p.click("Next")
	p.sees("shop-050")
	p.click("Next")
	p.sees("shop-119")
	p.until("the focus stays", `document.activeElement.innerText === 'Next'`)
	p.click("Previous")
	p.sees("shop-099")
	p.fill("Search", "OP-11")
	p.sees("shop-117")
	p.doesNotSee("shop-099")
	p.hears("10 tenants found.")
	p.fill("Search", "nothing")
	p.sees("No tenant matches.")
	p.click("Show all")
	p.sees("shop-000")

	// A plan that tenants have cannot be deleted; a tenant can.
	p.visit("#/plans/free")
	p.click("Delete")
	p.click("Delete")
	p.sees("Plan free is in use")
	p.click("Cancel")
	p.visit("#/tenants/shop-001")
	p.click("Delete")
	p.click("Delete")
	p.hears("Tenant shop-001 is deleted.")
}

func TestOverrides(t *testing.T) {
	s := serve(t)
	p := s.signedIn(400)
	p.visit("#/tenants/globex/limits")
	p.click("Override daily")
	p.sees("overridden")
	p.fill("Quota", "0")
	p.until("the quota is wrong", problem("Quota")+`.includes('limits[0].quota')`)
	p.fill("Quota", "5000000")
	p.choose("Plan", "free")
	p.sees("Valid, not saved yet.")
	p.click("Review and save")
	p.click("Save")
	p.hears("globex is saved.")
	if _, body := s.call("GET", "/admin/v1/tenants/globex", ""); !strings.Contains(body, `"quota":5000000`) || !strings.Contains(body, `"plan":"free"`) {
		t.Error(body)
	}
}

// What somebody else has just changed is not deleted.
func TestNothingIsDeletedThatWasNotSeen(t *testing.T) {
	s := serve(t)
	p := s.signedIn(412)
	p.visit("#/tenants/globex/keys")
	p.sees("No keys yet.")
	s.call("PUT", "/admin/v1/tenants/globex", `{"plan":"free"}`, "If-Match: *")
	p.click("Delete")
	p.click("Delete")
	p.sees("has revision")
	p.click("Cancel")
	if status, _ := s.call("GET", "/admin/v1/tenants/globex", ""); status != 200 {
		t.Errorf("the tenant is answered %d", status)
	}
}

// A server that goes away is told of, and asked again.
func TestAServerThatIsAway(t *testing.T) {
	p := serve(t).signedIn()
	p.visit("#/plans")
	p.sees("pro")
	p.run(`(() => { const real = window.fetch; window.fetch = () => Promise.reject(new TypeError('Failed to fetch')); window.back = () => { window.fetch = real; }; })()`)
	p.click("Audit")
	p.sees("The server cannot be reached.")
	p.run(`window.back()`)
	p.click("Try again")
	p.sees("apply")
}

// member is a member of a JSON object.
func member(t *testing.T, object, name string) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	value, ok := members[name].(string)
	if !ok {
		t.Fatalf("there is no %s in %s", name, object)
	}
	return value
}
