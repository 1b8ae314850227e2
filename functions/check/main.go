// Command check is the Lambda function behind POST /v1/check, /v1/checks, /v1/leases and /v1/settle.
//
// Its environment: PENSTOCK_STATE_TABLE and PENSTOCK_CONFIG_TABLE name the tables,
// PENSTOCK_SECRET is what keys and receipts are signed with, and PENSTOCK_MAX_INSTANCES, if
// set, among how many instances a limit is shared out while the state table is away.
package main

import (
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/functions/internal/gateway"
	"github.com/seed43908478/penstock/functions/internal/lambdaenv"
	"github.com/seed43908478/penstock/functions/internal/plans"
	"github.com/seed43908478/penstock/httpapi"
	"github.com/seed43908478/penstock/receipt"
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

func newHandler() (*gateway.Handler, error) {
	s, err := readSettings(os.Getenv)
	if err != nil {
		return nil, err
	}
	client := dynamo.NewClient(lambdaenv.Config(os.Getenv))
	config := configstore.New(dynamo.NewConfigTable(client, s.configTable), configstore.Options{})
	clock := dynamo.NewClock(nil)
	state := dynamo.New(client, s.stateTable, dynamo.WithClock(clock))
	return gateway.New(httpapi.New(httpapi.Options{
		Decider:  engine.New(state, engine.Options{Instances: s.instances, Now: clock.Now}),
		Plans:    plans.Follow(config),
		Verifier: apikey.NewVerifier([]byte(s.secret), config, apikey.VerifierOptions{}),
		Receipts: receipt.New([]byte(s.secret)),
	}), httpapi.WithService), nil
}
