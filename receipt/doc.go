// Package receipt makes the receipts of charged calls, and reads them again.
//
// A call that may cost more or less than is known before it runs is charged what it may cost, and
// settled when it is known: so are calls of language models, metered in tokens. What was charged is in the
// receipt, which the caller keeps:
//
//	receipts := receipt.New(secret)
//	text := receipts.Append(nil, receipt.Receipt{
//		Tenant: "acme", At: now, Cost: 100,
//		Items: []receipt.Item{{Key: "acme||", Limits: []receipt.Limit{{ID: "daily.tb", Mark: 1795348800000000000}}}},
//	})
//	// AeR8cGlh…, 83 characters
//
//	r, err := receipts.Open(text)
//
// Nothing is kept here of a receipt, so its text has to prove that it is genuine: else anybody
// could give back what was never charged. It ends with a MAC that is made with the operator's secret and
// verified before anything is read. No two receipts are alike, so [Receipt.ID] tells whether
// one was settled before.
//
// A receipt is signed and not encrypted: its holder can read the tenant, the names of its
// limits and the keys, in which values are hashed.
package receipt
