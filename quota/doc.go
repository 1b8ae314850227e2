// Package quota says which limits a request counts in: plans, the tenants that have
// them, and what a tenant has instead. It knows neither counts nor the store; the
// engine decides what this package finds.
//
// # One request
//
// An operator writes
//
//	plans:
//	  free:
//	    limits:
//	      - {name: per-user, by: [subject], algorithm: token_bucket, quota: 10, period: 1s, burst: 20}
//	      - {name: daily, algorithm: token_bucket, quota: 1000, period: day}
//	      - {name: exports, algorithm: sliding_window_log, quota: 5, period: minute, match: {resource: "POST /exports*"}}
//	tenants:
//	  acme:
//	    plan: free
//	    limits:
//	      - {name: daily, algorithm: token_bucket, quota: 2000, period: day}
//
// [ParseYAML] makes a [Config] of it, or lists everything that is wrong with it, by
// line. [Config.Compile] makes a [Snapshot], in which acme has three limits: per-user,
// its own daily in the place of the plan's, and exports. Then
//
//	snapshot.Match(quota.Request{Tenant: "acme", Resource: "POST /exports/7", Subject: "alice"})
//
// finds two items, because limits that are by the same parts are decided by one write:
//
//	acme|subject|SAy71MWsxhML1U3tr97yeQ   per-user         alice's own count
//	acme||                                daily, exports   the tenant's
//
// For "GET /search" the second item has daily alone. It is remembered for a day all
// the same, and so is it for an export: [Item.Memory] is of all limits that can be in
// the item, else an export would let the store forget the day.
//
// A request without a subject counts as well: all of them share one count, which is
// nobody's. A tenant that is not configured has the default plan; without one the
// error is [ErrUnknownTenant].
//
// # One write
//
// What is by the same is decided by one conditional write, and one write does not hold
// any number of limits. So [ParseYAML] measures the writes that each limit can make
// ([limit.Limit.Forms]) and refuses what would not fit. Limits that never meet are not added
// up: two logs of 100 by subject do not fit, but one for "GET /a" and one for "GET /b" do.
//
// One item takes some 500 calls a second. A limit of more has to be taken in larger portions,
// leased, or be spread: with spread 8 it counts in eight items of an eighth of it each,
// "acme|subject*8|SAy7…|0" to "…|7" ([Item.ShardKey]), and each enforces [Rule.Shard]. Whether
// calls take one permit or a thousand is not known here, so that is one of the
// [Config.Warnings], and no error.
//
// # In force
//
// A [Live] holds the snapshot in force. [NewStatic] always has the same; [NewLive]
// follows what is saved: a [Manifest] and the parts it names. Every 30 seconds a call
// that comes by asks for the manifest, waits 50 milliseconds at most, and is served what
// there was when that is not enough. Of a new version only the parts that changed are
// loaded, and what this version of the program cannot use is kept out.
//
// Up to 50,000 tenants are all held, and who is none of them is known to be unknown
// without a question. Of more, a part of the tenants is loaded when one of them is
// asked for first: a flood of invented names loads each part once.
package quota
