// Package gateway answers API Gateway's events with an [http.Handler]: HTTP API events
// in payload format 2.0, and REST API events (which an HTTP API sends too, as format 1.0).
//
//	handler := httpapi.New(options)
//	lambda.Start(gateway.New(handler, httpapi.WithService))
//
// The translation is aws-lambda-go-api-proxy's, imported by adapter.go and nowhere else.
// What it gets wrong is put right on either side of it: before, the path (stage.go);
// behind, the request's headers and the caller's address (request.go) and the answer
// (answer.go).
//
// Nothing a caller sends decides who the caller is: the address and the IAM identity
// come from the event's request context, which only API Gateway writes.
package gateway
