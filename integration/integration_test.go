// Package integration_test runs the binaries that are deployed, as they are deployed: the
// functions' bootstraps under an emulated Lambda Runtime API, fed with API Gateway's
// events, and penstock serve over HTTP. What they store is on DynamoDB Local.
//
// An outage is bounded here by what a caller could bear, 3 s, and not by what is
// promised: how long something takes is measured in bench.
package integration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/integration/build"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// secret signs keys, in the binaries and in the tests that mint some.
const secret = "0123456789abcdef0123456789abcdef"

// adminKey is the bootstrap key.
const adminKey = "the first administrator's key"

// patience is how long a caller waits when everything is away.
const patience = 3 * time.Second

// built has the binaries. They are built when a test asks, and kept until all have run.
var built = struct {
	check      func() (string, error)
	admin      func() (string, error)
	authorizer func() (string, error)
	penstock   func() (string, error)
}{}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "penstock-integration")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }() // the system clears what is left
		built.check = sync.OnceValues(func() (string, error) {
			return build.Function(context.Background(), "CheckFunction", filepath.Join(dir, "check"))
		})
		built.admin = sync.OnceValues(func() (string, error) {
			return build.Function(context.Background(), "AdminFunction", filepath.Join(dir, "admin"))
		})
		built.authorizer = sync.OnceValues(func() (string, error) {
			return build.Function(context.Background(), "AuthorizerFunction", filepath.Join(dir, "authorizer"))
		})
		built.penstock = sync.OnceValues(func() (string, error) {
			return build.Command(context.Background(), "./cmd/penstock", dir)
		})
		return m.Run()
	}())
}

// A deployment is what a stack has: tables, and the environment of what uses them.
type deployment struct {
	tables dynamo.Tables
	config *configstore.Store
	env    []string
}

// deploy creates tables with a configuration; with nil there is none yet.
func deploy(t *testing.T, config *quota.Config) *deployment {
	t.Helper()
	client, tables := dynamotest.Tables(t)
	d := &deployment{
		tables: tables,
		config: configstore.New(dynamo.NewConfigTable(client, tables.Config), configstore.Options{}),
		env:    environment(dynamotest.Endpoint(t), tables),
	}
	if config != nil {
		d.save(t, *config)
	}
	return d
}

// environment is what template.yaml gives a function, and where the emulator is.
func environment(endpoint string, tables dynamo.Tables) []string {
	return []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
		"PENSTOCK_STATE_TABLE=" + tables.State,
		"PENSTOCK_CONFIG_TABLE=" + tables.Config,
		"PENSTOCK_SECRET=" + secret,
		"PENSTOCK_ADMIN_KEY=" + adminKey,
	}
}

// save stores the first configuration.
func (d *deployment) save(t *testing.T, config quota.Config) {
	t.Helper()
	if _, err := d.config.Apply(t.Context(), config, configstore.Precondition{}, configstore.By{Who: "test"}, nil); err != nil {
		t.Fatal(err)
	}
}

// key stores a new key and returns it.
func (d *deployment) key(t *testing.T, scope apikey.Scope, tenant string) string {
	t.Helper()
	key, record := apikey.Mint([]byte(secret), apikey.Options{Scopes: []apikey.Scope{scope}, Tenant: tenant, Now: time.Now()})
	if err := d.config.CreateKey(t.Context(), record, configstore.By{Who: "test"}); err != nil {
		t.Fatal(err)
	}
	return key
}

// limited is a configuration with the tenants acme and globex, and these limits for each.
func limited(limits ...quota.Limit) *quota.Config {
	return &quota.Config{
		Plans:   map[string]quota.Plan{"free": {Limits: limits}},
		Tenants: map[string]quota.Tenant{"acme": {Plan: "free"}, "globex": {Plan: "free"}},
	}
}

// bucket is a token bucket for each subject that gains next to nothing while a test runs.
func bucket(burst int64) quota.Limit {
	return quota.Limit{Name: "per-user", By: []string{"subject"}, Algorithm: "token_bucket", Quota: burst, Period: "day", Burst: burst}
}

// window is an exact log for each subject: so many in any hour.
func window(quotaOf int64) quota.Limit {
	return quota.Limit{Name: "per-user", By: []string{"subject"}, Algorithm: "sliding_window_log", Quota: quotaOf, Period: "hour"}
}
