// Command authorizer is the Lambda function that API Gateway asks before it lets a call through to
// somebody's API: the same plans and the same engine as POST /v1/check. docs/authorizer.md has how
// it is attached.
//
// Its environment is the check function's, and where tenant and subject of a call are found:
// PENSTOCK_TENANT (key, key:HEADER, claim:NAME, header:NAME or fixed:TENANT; default key) and
// PENSTOCK_SUBJECT (key, claim:NAME or header:NAME; default none).
package main

import (
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/functions/internal/authorizer"
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

func newHandler() (*authorizer.Handler, error) {
	s, err := readSettings(os.Getenv)
	if err != nil {
		return nil, err
	}
	client := dynamo.NewClient(lambdaenv.Config(os.Getenv))
	config := configstore.New(dynamo.NewConfigTable(client, s.configTable), configstore.Options{})
	clock := dynamo.NewClock(nil)
	state := dynamo.New(client, s.stateTable, dynamo.WithClock(clock))
	decider := engine.New(state, engine.Options{Instances: s.instances, Now: clock.Now})
	return authorizer.New(authorizer.Options{
		Checker:  httpapi.NewChecker(decider, plans.Follow(config)),
		Verifier: apikey.NewVerifier([]byte(s.secret), config, apikey.VerifierOptions{}),
		Identity: s.identity,
	}), nil
}
