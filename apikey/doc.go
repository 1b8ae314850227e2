// Package apikey makes and verifies the keys that callers of Penstock present.
//
// A key is four parts, and says by itself that it is genuine:
//
//	pk_4kq7dmz2x5ab_r6n3…26 characters…_7yq2…16 characters…
//	   id           secret              mac
//
// The id finds the record, the secret proves that the caller was given the key,
// and the mac is made with the operator's secret over everything before it. So a
// guessed or mistyped key is refused without a read, and a flood of them costs
// nothing but hashing. Only the SHA-256 of the secret part is stored:
//
//	key, record := apikey.Mint(secret, apikey.Options{
//		Scopes: []apikey.Scope{apikey.CheckOwn}, Tenant: "acme", Now: time.Now(),
//	})
//	// the key goes to the caller, once; the record goes to the store
//
//	v := apikey.NewVerifier(secret, source, apikey.VerifierOptions{})
//	record, err := v.Verify(ctx, key)
//
// Records are remembered for a minute, so that is how long a revoked key may go
// on working in another instance.
package apikey
