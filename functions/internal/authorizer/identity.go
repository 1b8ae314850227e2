package authorizer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/seed43908478/penstock/apikey"
)

// An Identity says where in a request its tenant and its subject are. Make one with
// [ParseIdentity]; the zero value is the tenant of a key, and no subject.
type Identity struct{ tenant, subject source }

// A source is a place in a request, or a constant: "header:X-Tenant".
type source struct{ kind, name string }

const (
	fromKey    = "key"    // a Penstock key; its name is the header, "" is Authorization
	fromClaim  = "claim"  // of a token in Authorization that somebody else has verified
	fromHeader = "header" // that somebody else has set
	fixed      = "fixed"  // name is the tenant itself
)

const authorization = "Authorization"

var (
	tenantSyntax = regexp.MustCompile(`^[A-Za-z0-9._:@-]{1,128}$`)
	headerSyntax = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// ParseIdentity reads where tenant and subject are. The tenant is one of
//
//	key, key:HEADER   of a key with the scope check:own, in Authorization or that header; "" is key
//	claim:NAME        in the token in Authorization, which is NOT verified here
//	header:NAME       in a header, which callers must not be able to set
//	fixed:TENANT      always that one
//
// and the subject is nothing, "key" (the key's id, where the tenant is from a key), claim:NAME or
// header:NAME. The error names what is wrong.
func ParseIdentity(tenant, subject string) (Identity, error) {
	t, s := parseSource(tenant), parseSource(subject)
	if tenant == "" {
		t = source{kind: fromKey}
	}
	id := Identity{tenant: t, subject: s}
	return id, errors.Join(id.tenantFault(tenant), id.subjectFault(subject))
}

func parseSource(text string) source {
	kind, name, _ := strings.Cut(text, ":")
	return source{kind, name}
}

func (id Identity) tenantFault(text string) error {
	ok := false
	switch t := id.tenant; t.kind {
	case fromKey:
		ok = text != "key:" && (t.name == "" || headerSyntax.MatchString(t.name))
	case fromClaim:
		ok = t.name != ""
	case fromHeader:
		ok = headerSyntax.MatchString(t.name)
	case fixed:
		ok = tenantSyntax.MatchString(t.name)
	}
	if !ok {
		return fmt.Errorf("the tenant is from %q: it must be key, key:HEADER, claim:NAME, header:NAME or fixed:TENANT", text)
	}
	return nil
}

func (id Identity) subjectFault(text string) error {
	ok := false
	switch s := id.subject; s.kind {
	case "":
		ok = text == ""
	case fromKey:
		if text == fromKey && id.tenant.kind != fromKey {
			return errors.New("the subject is from a key: so must the tenant be")
		}
		ok = text == fromKey
	case fromClaim:
		ok = s.name != ""
	case fromHeader:
		ok = headerSyntax.MatchString(s.name)
	}
	if !ok {
		return fmt.Errorf("the subject is from %q: it must be empty, key, claim:NAME or header:NAME", text)
	}
	return nil
}

// header is the one that the tenant is in.
func (id Identity) header() string {
	switch t := id.tenant; {
	case t.kind == fromHeader, t.kind == fromKey && t.name != "":
		return t.name
	}
	return authorization
}

// who is whom a call is counted for.
type who struct{ tenant, subject string }

// identify finds out who calls. The error wraps [errUnauthorized], or says why that cannot be
// known now. A subject that is missing is none: it counts with the others that have none.
func (h *Handler) identify(ctx context.Context, header http.Header) (who, error) {
	var w who
	var err error
	switch t := h.identity.tenant; t.kind {
	case fixed:
		w.tenant = t.name
	case fromClaim:
		w.tenant, err = claim(header, t.name)
	case fromHeader:
		w.tenant, err = single(header, t.name)
	default:
		w, err = h.identifyKey(ctx, header)
	}
	if err == nil && w.tenant == "" {
		err = fmt.Errorf("%w: there is no tenant in the request", errUnauthorized)
	}
	if err != nil {
		return who{}, err
	}
	switch s := h.identity.subject; s.kind {
	case fromClaim:
		w.subject, err = claim(header, s.name)
	case fromHeader:
		w.subject, err = single(header, s.name)
	}
	return w, err
}

// identifyKey verifies a key; its id is the subject, if one is asked for.
func (h *Handler) identifyKey(ctx context.Context, header http.Header) (who, error) {
	name := h.identity.header()
	text, err := single(header, name)
	if err != nil {
		return who{}, err
	}
	key, isBearer := bearer(text)
	if !isBearer {
		if h.identity.tenant.name == "" { // Authorization has schemes; other headers may hold a bare key
			return who{}, fmt.Errorf("%w: there is no key in the request", errUnauthorized)
		}
		key = text
	}
	record, err := h.verifier.Verify(ctx, key)
	switch {
	case errors.Is(err, apikey.ErrUnavailable):
		return who{}, err
	case err != nil:
		return who{}, fmt.Errorf("%w: %w", errUnauthorized, err)
	case !record.Has(apikey.CheckOwn) || record.Tenant == "":
		return who{}, fmt.Errorf("%w: the key is not a tenant's: it needs the scope check:own", errUnauthorized)
	}
	w := who{tenant: record.Tenant}
	if h.identity.subject.kind == fromKey {
		w.subject = record.ID
	}
	return w, nil
}

// single returns the value of a header, "" if it is missing. Of several nobody knows which counts.
func single(header http.Header, name string) (string, error) {
	values := header.Values(name)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", fmt.Errorf("%w: header %s is there %d times", errUnauthorized, name, len(values))
}

// bearer returns the token of the scheme Bearer.
func bearer(text string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(text, " ")
	return strings.TrimLeft(token, " "), ok && strings.EqualFold(scheme, "Bearer")
}

// claim returns a claim of the JSON Web Token in Authorization, "" if it has none of that name.
// Whether the token is genuine was found out before.
func claim(header http.Header, name string) (string, error) {
	text, err := single(header, authorization)
	if err != nil {
		return "", err
	}
	token, ok := bearer(text)
	parts := strings.Split(token, ".")
	if !ok || len(parts) != 3 {
		return "", fmt.Errorf("%w: there is no JSON Web Token in the request", errUnauthorized)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", fmt.Errorf("%w: the token's claims: %w", errUnauthorized, err)
	}
	var claims map[string]json.RawMessage
	if err := json.Unmarshal(payload, &claims); err != nil {
		return "", fmt.Errorf("%w: the token's claims: %w", errUnauthorized, err)
	}
	return claimText(name, claims[name])
}

// claimText reads a claim that is a string, or a whole number.
func claimText(name string, raw json.RawMessage) (string, error) {
	var text string
	var number int64
	switch {
	case len(raw) == 0:
		return "", nil
	case json.Unmarshal(raw, &text) == nil:
		return text, nil
	case json.Unmarshal(raw, &number) == nil:
		return string(raw), nil
	}
	return "", fmt.Errorf("%w: the token's claim %s is not a text", errUnauthorized, name)
}
