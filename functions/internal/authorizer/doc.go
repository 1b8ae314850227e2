// Package authorizer answers the authorizer events of API Gateway: a REST API's of type TOKEN and
// REQUEST with a policy, an HTTP API's in payload format 2.0 with a simple response.
//
//	identity, err := authorizer.ParseIdentity("key", "")
//	…
//	lambda.Start(authorizer.New(authorizer.Options{Checker: checker, Verifier: keys, Identity: identity}))
//
// There are three ends, and none is ever told as another:
//
//   - A decision: Allow, or Deny when a limit is used up. A REST API's gateway response
//     ACCESS_DENIED makes 429 of Deny, so Deny is never said of anything else.
//   - The error Unauthorized, of which API Gateway makes 401: nobody, or nobody known, has called.
//   - Any other error, of which it makes 500: nothing could be decided.
//
// A decision is about one request. API Gateway must not keep it: its cache has to be off, which
// is a setting of the API, see docs/authorizer.md.
package authorizer
