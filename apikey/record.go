package apikey

import (
	"slices"
	"time"
)

// A Scope is what a key may do.
type Scope string

const (
	// CheckAny may check for every tenant: a service's key.
	CheckAny Scope = "check:any"
	// CheckOwn may check for the key's tenant only.
	CheckOwn Scope = "check:own"
	// Admin may read and change plans, tenants and keys.
	Admin Scope = "admin"
)

// A Record is what is stored of a key: never the key itself.
type Record struct {
	ID string `json:"id"`
	// Name is what people call it; it means nothing here.
	Name string `json:"name,omitempty"`
	// Hash is the SHA-256 of the secret part.
	Hash   []byte  `json:"hash,omitempty"`
	Scopes []Scope `json:"scopes"`
	// Tenant is whose key it is; empty for a service's or an administrator's.
	Tenant    string    `json:"tenant,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt is when the key ceases to work; zero is never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// RevokedAt is when the key was withdrawn; zero is not.
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// Has tells whether the key has a scope.
func (r Record) Has(s Scope) bool { return slices.Contains(r.Scopes, s) }

// usable returns [ErrRevoked] or [ErrExpired] when the key has ceased to work at now.
func (r Record) usable(now time.Time) error {
	switch {
	case !r.RevokedAt.IsZero() && !now.Before(r.RevokedAt):
		return ErrRevoked
	case !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt):
		return ErrExpired
	}
	return nil
}
