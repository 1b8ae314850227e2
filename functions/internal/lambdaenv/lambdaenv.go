// Package lambdaenv reads what Lambda puts into a function's environment.
//
//	client := dynamo.NewClient(lambdaenv.Config(os.Getenv))
//
// The SDK's package config reads that too, and profiles, single sign-on and the roles of
// machines, which a function has none of. It would be a third of the check function's start
// and a fifth of its size.
package lambdaenv

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Config returns what clients of AWS are made from: the region, and the credentials of the
// function's role, which stay the same for as long as the process lives. Where there is an
// emulator in place of DynamoDB, AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL says so.
func Config(getenv func(string) string) aws.Config {
	cfg := aws.Config{
		Region: getenv("AWS_REGION"),
		Credentials: credentials.NewStaticCredentialsProvider(
			getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN")),
	}
	if endpoint := cmp.Or(getenv("AWS_ENDPOINT_URL_DYNAMODB"), getenv("AWS_ENDPOINT_URL")); endpoint != "" {
		cfg.BaseEndpoint = &endpoint
	}
	return cfg
}
