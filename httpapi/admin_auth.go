package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"

	"github.com/seed43908478/penstock/apikey"
)

// bootstrap is who the caller with the bootstrap key is.
const bootstrap = "bootstrap"

func hashKey(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// signIn finds out who calls, by a key alone: whom the platform identified may check,
// and not administer. The error is the [problem] of a caller who may not.
func (a *admin) signIn(c *adminCall) error {
	key, ok := bearer(c.Header["Authorization"])
	if !ok {
		return errNoKey
	}
	// Of hashes, so that neither the key nor its length shows in how long it takes.
	presented := hashKey(key)
	if same := subtle.ConstantTimeCompare(presented[:], a.keyHash[:]) == 1; same && a.keyGiven {
		c.by.Who, c.scopes = bootstrap, []apikey.Scope{apikey.Admin}
		return nil
	}
	if a.verifier == nil {
		return errNoKey
	}
	r, err := a.verifier.Verify(c.Context(), key)
	switch {
	case err != nil:
		return err
	case !r.Has(apikey.Admin):
		return &problem{kind: forbidden, detail: "This key may not administer; use one with the scope admin."}
	}
	c.by.Who, c.scopes = r.ID, r.Scopes
	return nil
}

// whoami answers GET whoami.
func (a *admin) whoami(c *adminCall) (reply, error) {
	return reply{body: struct {
		Who    string         `json:"who"`
		Scopes []apikey.Scope `json:"scopes"`
	}{c.by.Who, c.scopes}}, nil
}
