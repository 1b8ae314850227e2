package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
)

// A keyBody is a key as it is answered: without its hash, and with the key itself only when it was made.
type keyBody struct {
	Key       string         `json:"key,omitempty"`
	ID        string         `json:"id"`
	Name      string         `json:"name,omitempty"`
	Tenant    string         `json:"tenant,omitempty"`
	Scopes    []apikey.Scope `json:"scopes"`
	State     keyState       `json:"state"`
	CreatedAt time.Time      `json:"created_at"`
	ExpiresAt time.Time      `json:"expires_at,omitzero"`
	RevokedAt time.Time      `json:"revoked_at,omitzero"`
}

type keyState string

const (
	activeKey  keyState = "active"
	expiredKey keyState = "expired"
	revokedKey keyState = "revoked"
)

func (a *admin) stateOf(r apikey.Record) keyState {
	switch {
	case !r.RevokedAt.IsZero():
		return revokedKey
	case !r.ExpiresAt.IsZero() && !a.now().Before(r.ExpiresAt):
		return expiredKey
	}
	return activeKey
}

func (a *admin) keyBody(r apikey.Record) keyBody {
	return keyBody{
		ID: r.ID, Name: r.Name, Tenant: r.Tenant, Scopes: append([]apikey.Scope{}, r.Scopes...), State: a.stateOf(r),
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, RevokedAt: r.RevokedAt,
	}
}

// listKeys answers GET tenants/{tenant}/keys, and GET keys for those that are no tenant's.
func (a *admin) listKeys(c *adminCall) (reply, error) {
	q, err := c.query()
	if err != nil {
		return reply{}, err
	}
	f := configstore.KeyFilter{Tenant: c.PathValue("tenant")}
	f.Cursor, f.Limit = q.page()
	if err := q.end(); err != nil {
		return reply{}, err
	}
	found, next, err := a.config.Keys(c.Context(), f)
	if err != nil {
		return reply{}, err
	}
	keys := make([]keyBody, len(found))
	for i, r := range found {
		keys[i] = a.keyBody(r)
	}
	return listed(keys, next), nil
}

// getKey answers GET tenants/{tenant}/keys/{id}.
func (a *admin) getKey(c *adminCall) (reply, error) {
	r, err := a.key(c)
	if err != nil {
		return reply{}, err
	}
	return reply{body: a.keyBody(r)}, nil
}

// key returns the key that the address names, if it is that tenant's.
func (a *admin) key(c *adminCall) (apikey.Record, error) {
	r, ok, err := a.config.Key(c.Context(), c.PathValue("id"))
	if err == nil && (!ok || r.Tenant != c.PathValue("tenant")) {
		err = &problem{kind: notFound, detail: "There is no such key here; its id is the part between pk_ and the next _."}
	}
	return r, err
}

// A newKey is what is asked for of a key.
type newKey struct {
	Name      string         `json:"name"`
	Scopes    []apikey.Scope `json:"scopes"`
	ExpiresIn string         `json:"expires_in"`
}

// createKey answers POST tenants/{tenant}/keys.
func (a *admin) createKey(c *adminCall) (reply, error) {
	var asked newKey
	if err := c.readIfAny(&asked); err != nil {
		return reply{}, err
	}
	tenant := c.PathValue("tenant")
	var faults []fault
	o := apikey.Options{Name: asked.Name, Tenant: tenant, Now: a.keyTime()}
	o.Scopes = scopes(&faults, asked.Scopes, tenant != "")
	if in := lasting(&faults, "expires_in", asked.ExpiresIn); in > 0 {
		o.ExpiresAt = o.Now.Add(in)
	}
	if f := unfit([]byte(asked.Name), maxTenant); f != "" {
		faults = append(faults, fault{"name", f})
	}
	if err := faulted(faults); err != nil {
		return reply{}, err
	}
	if err := a.knows(c, tenant); err != nil {
		return reply{}, err
	}
	key, record := apikey.Mint(a.secret, o)
	if err := a.config.CreateKey(c.Context(), record, c.by); err != nil {
		return reply{}, err
	}
	return a.made(key, record), nil
}

// knows checks that keys can be made for a tenant.
func (a *admin) knows(c *adminCall, tenant string) error {
	if tenant == "" {
		return nil
	}
	if _, ok, err := a.config.Tenant(c.Context(), tenant); err != nil || ok {
		return err
	}
	if fallback, err := a.config.DefaultPlan(c.Context()); err != nil || fallback != "" && isTenant([]byte(tenant)) {
		return err
	}
	return noTenant(tenant)
}

// keyTime is now as keys have it, in whole seconds.
func (a *admin) keyTime() time.Time { return a.now().UTC().Truncate(time.Second) }

// made answers with a new key, which is not told again.
func (a *admin) made(key string, r apikey.Record) reply {
	body := a.keyBody(r)
	body.Key = key
	collection := "keys"
	if r.Tenant != "" {
		collection = "tenants/" + url.PathEscape(r.Tenant) + "/keys"
	}
	return reply{status: http.StatusCreated, body: body, location: location(configstore.Created, collection, r.ID)}
}

// scopes checks the scopes of a new key. A tenant's may check for that tenant and
// nothing else: it lies with somebody else.
func scopes(faults *[]fault, asked []apikey.Scope, tenants bool) []apikey.Scope {
	allowed, otherwise := []apikey.Scope{apikey.CheckAny, apikey.Admin}, "check:any, admin"
	if tenants {
		allowed, otherwise = []apikey.Scope{apikey.CheckOwn}, "check:own"
	}
	if asked == nil {
		return allowed[:1]
	}
	if len(asked) == 0 {
		*faults = append(*faults, fault{"scopes", "must not be empty: say " + otherwise})
	}
	var all []apikey.Scope
	for i, s := range asked {
		member := fmt.Sprintf("scopes[%d]", i)
		switch {
		case !slices.Contains(allowed, s) && tenants:
			*faults = append(*faults, fault{member, "must be check:own: a tenant's key may do nothing else; others are made with POST " + adminRoot + "keys"})
		case !slices.Contains(allowed, s):
			*faults = append(*faults, fault{member, "must be check:any or admin, as the key is no tenant's; check:own is for those of POST " + adminRoot + "tenants/{tenant}/keys"})
		case slices.Contains(all, s):
			*faults = append(*faults, fault{member, "is there twice; keep one"})
		default:
			all = append(all, s)
		}
		if len(*faults) == maxFaults {
			break
		}
	}
	return all
}

// maxLasting is how long a key may be asked to work: ten years.
const maxLasting = 10 * 366 * 24 * time.Hour

// lasting reads how long something lasts; "" is 0.
func lasting(faults *[]fault, member, text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || strings.TrimSpace(text) != text:
		*faults = append(*faults, fault{member, `must be a duration such as "720h" or "30m"`})
	case d < time.Second || d > maxLasting:
		*faults = append(*faults, fault{member, "must be from 1s to 87840h; leave it out for a key that does not expire"})
	}
	return d
}

// revokeKey answers DELETE tenants/{tenant}/keys/{id}.
func (a *admin) revokeKey(c *adminCall) (reply, error) {
	r, err := a.key(c)
	if err != nil {
		return reply{}, err
	}
	_, _, err = a.config.RevokeKey(c.Context(), r.ID, c.by)
	a.forget(r.ID)
	return reply{}, err
}

// forget makes a change of a key count here at once.
func (a *admin) forget(id string) {
	if a.verifier != nil {
		a.verifier.Forget(id)
	}
}

// A rotation is what is asked for of a key in the place of another.
type rotation struct {
	ExpiresIn string  `json:"expires_in"`
	Grace     *string `json:"grace"`
}

// defaultGrace is how long a key works that was rotated.
const defaultGrace = 24 * time.Hour

// rotateKey answers POST tenants/{tenant}/keys/{id}/rotate. Without expires_in the new
// key works for as long as the old one was made for.
func (a *admin) rotateKey(c *adminCall) (reply, error) {
	var asked rotation
	if err := c.readIfAny(&asked); err != nil {
		return reply{}, err
	}
	var faults []fault
	expires := lasting(&faults, "expires_in", asked.ExpiresIn)
	grace := defaultGrace
	if g := asked.Grace; g != nil {
		grace = 0
		if *g != "0" && *g != "0s" {
			grace = lasting(&faults, "grace", *g)
		}
	}
	if err := faulted(faults); err != nil {
		return reply{}, err
	}
	old, err := a.key(c)
	if err != nil {
		return reply{}, err
	}
	if state := a.stateOf(old); state != activeKey {
		return reply{}, &problem{kind: conflict, detail: fmt.Sprintf("This key is %s and cannot be rotated; make a new one.", state)}
	}
	if expires == 0 && !old.ExpiresAt.IsZero() {
		expires = old.ExpiresAt.Sub(old.CreatedAt)
	}
	o := apikey.Options{Name: old.Name, Scopes: old.Scopes, Tenant: old.Tenant, Now: a.keyTime()}
	if expires > 0 {
		o.ExpiresAt = o.Now.Add(expires)
	}
	key, next := apikey.Mint(a.secret, o)
	_, err = a.config.RotateKey(c.Context(), old.ID, next, a.now().Add(grace), c.by)
	a.forget(old.ID)
	if err != nil {
		return reply{}, err
	}
	return a.made(key, next), nil
}
