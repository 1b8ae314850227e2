// Package configstore keeps what an operator decides: plans, tenants, API keys, and
// who changed which of them when.
//
//	s := configstore.New(memory.New(), configstore.Options{})
//	by := configstore.By{Who: "cli alice"}
//	s.PutPlan(ctx, "free", quota.Plan{Limits: …}, configstore.Precondition{}, by)
//	acme, effect, err := s.PutTenant(ctx, "acme", quota.Tenant{Plan: "free"}, configstore.Precondition{IfNoneMatch: true}, by)
//	// effect is Created, and acme.Revision what the next change of acme names:
//	s.PutTenant(ctx, "acme", quota.Tenant{Plan: "pro"}, configstore.Precondition{IfMatch: acme.Revision}, by)
//
// # One history
//
// A driver, [Items], has items with a partition key and a sort key:
//
//	config           version       the manifest: version 1763732871234, default plan, the names of the parts
//	part/5           19aa…mZ2…     the plans, as JSON in gzip; or the tenants of one part
//	audit            00…1763…      one entry for each version
//	audit/acme       00…1763…      the same once more, if it is about one tenant
//	key#4kq7dmz2x5ab record        a key's record
//	keys/acme        4kq7dmz2x5ab  the same once more, to be listed
//
// Every change writes the parts that it changes under names of their own, which nobody
// knows yet. Then one transaction replaces the manifest, on the condition that it still
// has the version that was read, and writes the entry of the audit. So there is one
// history without gaps, a change is there as a whole or not at all, and a writer that
// dies on its way leaves parts behind that are swept up an hour later. When somebody
// else was faster, the change is made again on what is there now; its precondition
// is asked again as well.
//
// A tenant is in the part that its name hashes to, about a thousand in each. So a
// change of one tenant writes some kilobytes however many there are, and an instance
// that follows with [quota.Live] reads the manifest and that part.
//
// Versions are the time in Unix milliseconds, or one more than the version before when
// that is later: also in a table that was restored or made anew they do not come again.
package configstore
