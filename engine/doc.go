// Package engine decides: it proposes what a limit allows from the state last seen, has
// the store apply it, and where the guards failed proposes again from the state that
// came back.
//
//	e := engine.New(dynamo.New(client, table), engine.Options{})
//	items, err := snapshot.Match(request)                      // whose limits, under which keys
//	d, err := e.Decide(ctx, engine.Call{Items: items, Cost: 1})
//	if !d.Allowed { … d.RetryAfter … }
//
// The loop is in ask.go. Around it: judge.go answers from what remembered.go remembers,
// turns.go lets callers of one key wait for each other, trends.go predicts, later.go plans
// waits and leases, several.go decides limits of different keys, shards.go those of one key
// that is spread, local.go is what is left while the store is away, and decide.go puts a
// decision together. settle.go settles what was charged.
//
// # An example
//
// Acme has 1,000 permits a day; its users have 10 a second each, in buckets of 20. Alice
// asks for one. Nothing is remembered of her, and acme's bucket was seen half full a
// second ago: acme's is written first, hers, which cannot be used up, last.
//
//	acme||         guard: tat between now and now + 24 h − 86.4 s    change: tat += 86.4 s    applied
//	acme|subject|… guard: tat absent or before now                   change: tat = now + 0.1 s  not applied: tat is now + 2 s
//	               her bucket is used up: refused, retry after 0.1 s
//	acme||         change: tat −= 86.4 s                             given back
//
// Her next call is refused without a write: a bucket that is used up now is not less
// so a moment later, whoever comes. When 0.1 s are over she is let through by one write
// to each item.
package engine
