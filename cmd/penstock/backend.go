package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/configstore/bolt"
	configmemory "github.com/seed43908478/penstock/configstore/memory"
	"github.com/seed43908478/penstock/limit"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/memory"
)

// startTime is how long the state table may take for the first writes.
const startTime = 5 * time.Second

// A backend is what a server decides on: where state is kept and what the plans are.
type backend struct {
	store  store.Store
	plans  *quota.Live
	config *configstore.Store
	secret secret
	clock  *dynamo.Clock // what decisions take for the time; nil: this machine's
	about  []any         // for the log
	close  func() error
}

const (
	storeMemory = "memory"
	storeDynamo = "dynamodb"
)

func newBackend(ctx context.Context, o serveOptions) (*backend, error) {
	switch o.store {
	case storeMemory:
		return newMemory(ctx, o)
	case storeDynamo:
		return newDynamoDB(ctx, o)
	}
	return nil, usageError{fmt.Errorf("--store is memory or dynamodb, not %q", o.store)}
}

// localAge is how old the configuration may be that is asked for in this process: what
// is changed through it is in force at once.
const localAge = 50 * time.Millisecond

func newMemory(ctx context.Context, o serveOptions) (b *backend, err error) {
	if o.createTables {
		return nil, usageError{errors.New("--create-tables goes with --store dynamodb")}
	}
	b = &backend{store: memory.New(), close: func() error { return nil }}
	var items configstore.Items = configmemory.New()
	kept := "nothing, see --data"
	if o.data != "" {
		file, err := bolt.Open(o.data)
		if err != nil {
			return nil, err
		}
		items, kept, b.close = file, o.data, file.Close
		defer func() {
			if b == nil {
				_ = file.Close() // what went wrong before says more
			}
		}()
	}
	if b.secret, err = findSecret(o.data); err != nil {
		return nil, err
	}
	b.config = configstore.New(items, configstore.Options{})
	from, err := configure(ctx, b.config, o.config)
	if err != nil {
		return nil, err
	}
	if b.plans, err = quota.NewLive(ctx, b.config, quota.LiveOptions{MaxAge: localAge, WholeUpTo: math.MaxInt}); err != nil {
		return nil, err
	}
	b.about = []any{"store", storeMemory, "config", from, "kept", kept}
	return b, nil
}

func newDynamoDB(ctx context.Context, o serveOptions) (*backend, error) {
	if o.data != "" {
		return nil, usageError{errors.New("--data goes with --store memory: with dynamodb all is kept in the tables")}
	}
	client, err := aws(ctx)
	if err != nil {
		return nil, err
	}
	signing, err := findSecret("")
	if err != nil {
		return nil, err
	}
	names := tables()
	if o.createTables {
		if err := createTables(ctx, client, names); err != nil {
			return nil, err
		}
	}
	config := configstore.New(dynamo.NewConfigTable(client, names.Config), configstore.Options{})
	from, err := configure(ctx, config, o.config)
	if err != nil {
		return nil, err
	}
	live, err := quota.NewLive(ctx, config, quota.LiveOptions{})
	if err != nil {
		return nil, fmt.Errorf("the plans of table %s: %w", names.Config, err)
	}
	clock := dynamo.NewClock(nil)
	state := dynamo.New(client, names.State, dynamo.WithBudget(startTime), dynamo.WithClock(clock))
	if err := tryOut(ctx, state); err != nil {
		return nil, fmt.Errorf("table %s: %w", names.State, err)
	}
	return &backend{
		store: dynamo.New(client, names.State, dynamo.WithClock(clock)), clock: clock,
		plans: live, config: config, secret: signing,
		about: []any{"store", storeDynamo, "tables", names.State + ", " + names.Config, "config", from},
		close: func() error { return nil },
	}, nil
}

// tryOut makes some writes, several at once, to keys of their own that expire. A table
// that cannot be written is found out before the first caller comes, who then finds
// open connections, a server that has done this before, and a clock that was compared.
func tryOut(ctx context.Context, s store.Store) error {
	const atOnce, each = 16, 8
	bucket, err := limit.New(limit.Policy{Algorithm: "token_bucket", Quota: 1, Period: time.Second, Burst: 2 * each})
	if err != nil {
		return err
	}
	start := time.Now()
	var all errgroup.Group
	for i := range atOnce {
		key := fmt.Sprintf("penstock|start|%d", i)
		all.Go(func() error {
			var seen limit.State
			for range each {
				p := bucket.Propose(seen, limit.Ask{Now: time.Now(), Cost: 1})
				r, err := s.Apply(ctx, store.Write{Key: key, Parts: []store.Part{{Limit: "start.tb", Write: p.Write}}, ExpiresAt: start.Add(time.Hour)})
				if err != nil {
					return err
				}
				seen = r.States[0]
			}
			return nil
		})
	}
	return all.Wait()
}

// configure applies a configuration file, or the example where nothing is kept yet.
func configure(ctx context.Context, store *configstore.Store, path string) (from string, err error) {
	c, from, err := findConfig(path)
	if err != nil {
		return "", err
	}
	if from == "" {
		version, err := store.Version(ctx)
		if err != nil {
			return "", err
		}
		if version > 0 {
			return fmt.Sprintf("as it was kept, version %d", version), nil
		}
		from = "built-in example"
	}
	a, err := store.Apply(ctx, c, configstore.Precondition{}, by(), nil)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, version %d", from, a.Version), nil
}
