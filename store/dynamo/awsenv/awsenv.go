// Package awsenv makes the client from the environment, as every AWS tool reads it:
// variables, profiles, single sign-on, the roles of machines.
//
// It is apart from package dynamo because the SDK's packages for all that are initialized
// in every binary that has them, and would be a third of a Lambda function's start.
package awsenv

import (
	"context"
	"fmt"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed43908478/penstock/store/dynamo"
)

// LoadClient returns a client made from the environment.
func LoadClient(ctx context.Context, opts ...dynamo.ClientOption) (*dynamodb.Client, error) {
	// A buildable client is the only kind that takes AWS_CA_BUNDLE.
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(awshttp.NewBuildableClient()))
	if err != nil {
		return nil, fmt.Errorf("load the AWS configuration: %w", err)
	}
	return dynamo.NewClient(cfg, opts...), nil
}
