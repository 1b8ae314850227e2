// Package httpapi answers checks, leases and settlements over HTTP.
//
//	handler := httpapi.New(httpapi.Options{Decider: engine, Plans: plans, Verifier: keys, Receipts: receipts})
//
// A caller asks whether it may go on, and says for whom:
//
//	POST /v1/check
//	Authorization: Bearer pk_…
//	Content-Type: application/json
//
//	{"tenant":"acme","resource":"GET /search","subject":"user:42"}
//
// Acme's plan has one limit that matches, per-user: a token bucket of 10 a second
// with bursts of 20. It was full, so 19 are left, and it is full again in 100 ms:
//
//	HTTP/1.1 200 OK
//	Content-Type: application/json
//	Cache-Control: no-store
//	RateLimit-Policy: "per-user";q=10;w=1;penstock-burst=20
//	RateLimit: "per-user";r=19;t=1
//	X-RateLimit-Limit: 20
//	X-RateLimit-Remaining: 19
//	X-RateLimit-Reset: 1772366401
//
//	{"allowed":true,"tenant":"acme","limit":"per-user","remaining":19,"retry_after_ms":0,"reset_after_ms":100,
//	 "wait_ms":0,"reason":"","source":"store","degraded":"","outcome":"known","repeat":false,"never":false,
//	 "over":false,"receipt":"AZUM8yTk…","limits":[{"name":"per-user","algorithm":"token_bucket","mode":"enforce","quota":10,
//	 "period_ms":1000,"burst":20,"remaining":19,"retry_after_ms":0,"reset_after_ms":100,"allowed":true,
//	 "over":false}]}
//
// The 21st call at once is refused. The answer is a problem (RFC 9457) with the same members:
//
//	HTTP/1.1 429 Too Many Requests
//	Content-Type: application/problem+json
//	Retry-After: 1
//
//	{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,
//	 "detail":"Limit per-user (10 per 1s, burst 20) is used up; try again in 100ms.",
//	 "violated-policies":["per-user"],"allowed":false,…}
//
// With max_wait_ms a call that would be refused may be charged for later: wait_ms says how long
// to wait before it goes on. A call whose cost is known when it is over is charged what it may cost,
// and the receipt of the answer is settled for what it did:
//
//	POST /v1/settle
//
//	{"receipt":"AZUM8yTk…","cost":3}
//
//	HTTP/1.1 200 OK
//
//	{"tenant":"acme","cost":3,"charged":100,"repeat":false,"outcome":"known"}
//
// Where a call to here for each call is too slow, permits are leased, and spent locally:
//
//	POST /v1/leases
//
//	{"tenant":"acme","resource":"GET /search","min":1,"max":500,"ttl_ms":1000}
//
//	HTTP/1.1 200 OK
//
//	{"allowed":true,…,"receipt":"AUdYyUZT…","granted":120,"ttl_ms":1000,"limits":[…]}
//
// They may be used until ttl_ms after the request was sent, by the clock of who sent it: the server counts
// from when it came, which is later. The ttl may be shorter than was asked for, at the end of a window. What
// was not spent comes back by settling the receipt for what was; a lease whose answer is lost ends by itself.
//
// The period of a month, period_ms and w, is that of the longest there is, 31 days: when the
// current one ends, reset_after_ms and t tell.
//
// A limit with soft_percent lets more pass, and over says so: of each limit, and of the call
// when it is one that is enforced. A candidate says with shadows for which limit it is one. A limit
// of algorithm concurrency has ttl_ms, for how long a permit is held, in the place of period_ms.
//
// X-RateLimit-Limit is what X-RateLimit-Remaining counts down from: what a bucket
// holds, else the quota. X-RateLimit-Reset is when there will be more, in seconds since 1970.
//
// openapi.yaml describes all endpoints, those of administration too, with every status and header;
// [HandleDocs] serves it. What a request may be is in request.go, who may make it in auth.go, and every
// error with its status in problems.go.
package httpapi
