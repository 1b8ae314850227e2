// Command admin is the Lambda function behind /admin/v1/: tenants, plans, keys, and what
// becomes of a call and why; behind /console/, the page for all that; and behind /openapi.yaml
// and /docs, which describe all endpoints.
//
// Its environment: PENSTOCK_STATE_TABLE and PENSTOCK_CONFIG_TABLE name the tables,
// PENSTOCK_SECRET is what keys are signed with, and PENSTOCK_ADMIN_KEY, of 16 characters or
// more, is a key that may administer before there are others.
package main

import (
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/console"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/functions/internal/gateway"
	"github.com/seed43908478/penstock/functions/internal/lambdaenv"
	"github.com/seed43908478/penstock/functions/internal/plans"
	"github.com/seed43908478/penstock/httpapi"
	"github.com/seed43908478/penstock/store/dynamo"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	handler, err := newHandler()
	if err != nil {
		slog.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

const (
	// keysFresh is for how long an administrator's key is believed without a read, and so how
	// long one that is revoked works on.
	keysFresh = 5 * time.Second
	// budget is how long the state table may take. Nobody's call waits for it.
	budget = 2 * time.Second
)

func newHandler() (*gateway.Handler, error) {
	s, err := readSettings(os.Getenv)
	if err != nil {
		return nil, err
	}
	client := dynamo.NewClient(lambdaenv.Config(os.Getenv))
	config := configstore.New(dynamo.NewConfigTable(client, s.configTable), configstore.Options{})
	clock := dynamo.NewClock(nil)
	state := dynamo.New(client, s.stateTable, dynamo.WithClock(clock), dynamo.WithBudget(budget))
	mux := http.NewServeMux()
	mux.Handle(console.Root, console.Handler())
	mux.Handle("/", httpapi.NewAdmin(httpapi.AdminOptions{
		Config:   config,
		Plans:    plans.Follow(config),
		Counts:   engine.New(state, engine.Options{Now: clock.Now, Budget: budget}),
		Verifier: apikey.NewVerifier([]byte(s.secret), config, apikey.VerifierOptions{Fresh: keysFresh}),
		Secret:   []byte(s.secret),
		Key:      s.adminKey,
	}))
	httpapi.HandleDocs(mux, nil)
	return gateway.New(mux, nil), nil
}
