package quota

import (
	"strconv"
	"time"

	"github.com/seed43908478/penstock/limit"
)

// A Rule is one limit of a plan as a tenant has it, compiled: overrides are in.
// Rules are shared and never change.
type Rule struct {
	Name string
	// ID is the limit's identity within an item, name and algorithm: "per-user.tb".
	ID           string
	Limit        *limit.Limit
	Mode         Mode // Enforce or Shadow
	OnStoreError OnStoreError
	// Shadows is the name of the limit that this one is a candidate for; "" when it is none.
	Shadows string
	// Order is the position in the plan, from 0.
	Order int
	// Shard is what each of the item's shards enforces, an n-th of the limit; nil when it
	// is not spread.
	Shard *Rule
	// Whole is the rule that this one is the [Rule.Shard] of, else nil.
	Whole *Rule
}

// An Item is the rules of a request that share one key: they are one item of the
// store and are decided by one write.
type Item struct {
	// Key names the item: tenant, what it is by, and a digest of whose it is.
	Key   string
	Rules []*Rule
	// Parts is of how many parts the key is made: 0 is the tenant's own, the widest.
	Parts int
	// Memory is how long the longest-remembering limit that can live in this item
	// needs it, whether or not it matched this request.
	Memory time.Duration
	// RequestIDs is how many request ids the item remembers: the most that any limit asks
	// for that can live in it; 0 is 16.
	RequestIDs int
	// Shards is over how many items the counts are spread; 0 or 1 is not spread.
	Shards int
	// Revision is that of the [Snapshot] the rules are from; 0 when it was not saved.
	Revision int64
}

// ShardKey names the n-th shard of an item that is spread, from 0.
func (i *Item) ShardKey(n int) string { return i.Key + "|" + strconv.Itoa(n) }

// A Request is what rules are matched against.
type Request struct {
	Tenant     string
	Resource   string
	Subject    string
	Attributes map[string]string
}

// OnStoreError says what a limit does while the store cannot be asked.
type OnStoreError string

const (
	// Local decides by a bucket in this instance, holding the instance's share of the limit.
	Local OnStoreError = "local"
	// Allow lets every call pass.
	Allow OnStoreError = "allow"
	// Deny refuses every call.
	Deny OnStoreError = "deny"
)
