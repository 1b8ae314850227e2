package adminclient

import (
	"time"

	"github.com/seed43908478/penstock/quota"
)

// A Tenant is a tenant as it is saved.
type Tenant struct {
	Name string `json:"name"`
	quota.SavedTenant
}

// A Plan is a plan as it is saved.
type Plan struct {
	Name string `json:"name"`
	quota.SavedPlan
}

// A Key is a key of the API. Key is the key itself, only in the answer that made it.
type Key struct {
	Key       string    `json:"key"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Tenant    string    `json:"tenant"`
	Scopes    []string  `json:"scopes"`
	State     string    `json:"state"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	RevokedAt time.Time `json:"revoked_at"`
}

// An Entry is one of the audit.
type Entry struct {
	Version   int64     `json:"version"`
	At        time.Time `json:"at"`
	Who       string    `json:"who"`
	RequestID string    `json:"request_id"`
	Action    string    `json:"action"`
	Object    string    `json:"object"`
	Tenant    string    `json:"tenant"`
	Before    string    `json:"before"`
	After     string    `json:"after"`
}

// A DefaultPlan is the plan of tenants that are not known by name; "" is none.
type DefaultPlan struct {
	DefaultPlan string `json:"default_plan"`
}

// A Usage is what the limits of a tenant have counted.
type Usage struct {
	Tenant string      `json:"tenant"`
	Plan   string      `json:"plan"`
	At     time.Time   `json:"at"`
	Limits []UsedLimit `json:"limits"`
	// More are limits that count for each of what was not named.
	More []OtherLimit `json:"more"`
}

// A UsedLimit is a limit with what it has counted.
type UsedLimit struct {
	quota.Limit
	From         string `json:"from"`
	Capacity     int64  `json:"capacity"`
	Used         int64  `json:"used"`
	Remaining    int64  `json:"remaining"`
	RetryAfterMS int64  `json:"retry_after_ms"`
	ResetAfterMS int64  `json:"reset_after_ms"`
	Over         bool   `json:"over"`
}

// An OtherLimit is one that counts for each of its parts.
type OtherLimit struct {
	Name string   `json:"name"`
	By   []string `json:"by"`
}

// A ResetDone is what a reset did, and when every instance has seen it.
type ResetDone struct {
	Scope    string   `json:"scope"`
	Limits   []string `json:"limits"`
	WithinMS int64    `json:"within_ms"`
}
