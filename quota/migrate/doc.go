// Package migrate makes a configuration of other limiters' files: [Envoy] of the rules
// of Envoy's (and Lyft's) rate limit service, [UsagePlans] of API Gateway's usage plans.
// What the configuration cannot say is in notes, each with the line it is about; nothing
// is left out without one, and what a limit would do wrongly is off rather than guessed.
//
// # One file of rules
//
//	domain: messaging
//	descriptors:
//	  - key: to_number
//	    rate_limit: {unit: day, requests_per_unit: 100}
//	  - key: to_number
//	    value: "+15550100"
//	    rate_limit: {unit: day, requests_per_unit: 500}
//
// becomes the plan messaging, which a tenant of that name has, with two limits:
//
//   - name: to-number
//     match: {attributes: {to_number: "*"}}
//     by: [attributes.to_number]
//     algorithm: fixed_window
//     quota: 100
//     period: day
//   - name: to-number-15550100
//     match: {attributes: {to_number: "+15550100"}}
//     …
//
// An entry is an attribute: without a value each value is counted by itself, and so is
// each that a * matches; nested entries are asked for together. All keys of a
// descriptor are in "by", as they are in the names of Envoy's counters, so limits of the
// same keys are one item of the store and one write.
//
// # What is not the same
//
// Envoy looks for one limit for each list of entries that it is sent: the most specific,
// of exactly these keys. Penstock has no order: every limit applies whose attributes a
// request has. Here the number +15550100 stays below 100, which a note of its line says.
// Had it 50 instead of 500 the note would say that nothing changes: the smaller one is
// used up first. Where a limit's keys are among another's, it counts the other's
// requests too; that is as with Envoy where the caller sends both descriptors, and the
// note names them.
package migrate
