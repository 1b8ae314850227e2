package dynamotest

import (
	"context"
	"crypto/rand"
	"os"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed43908478/penstock/store/dynamo"
)

// shared is the server of this test binary. Nobody stops it: it ends with the binary.
var shared = sync.OnceValues(func() (string, error) {
	if endpoint := os.Getenv(Env); endpoint != "" {
		return endpoint, nil
	}
	s, err := Start(context.Background())
	if err != nil {
		return "", err
	}
	return s.Endpoint(), nil
})

// Endpoint returns the address of the server that all tests of a binary share.
func Endpoint(tb testing.TB) string {
	tb.Helper()
	endpoint, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return endpoint
}

// Client returns a client of the shared server.
func Client(tb testing.TB) *dynamodb.Client {
	tb.Helper()
	return NewClient(Endpoint(tb))
}

// Config returns what a client of the server at an endpoint is made from: dummy
// credentials and no look at the environment.
func Config(endpoint string) aws.Config {
	return aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

// NewClient returns a client of the server at an endpoint.
func NewClient(endpoint string) *dynamodb.Client { return dynamo.NewClient(Config(endpoint)) }

// Tables creates empty tables for one test and deletes them at its end.
func Tables(tb testing.TB) (*dynamodb.Client, dynamo.Tables) {
	tb.Helper()
	client := Client(tb)
	name := rand.Text()
	tables := dynamo.Tables{State: "state-" + name, Config: "config-" + name}
	if err := dynamo.CreateTables(tb.Context(), client, tables); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for _, table := range []string{tables.State, tables.Config} {
			if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(table)}); err != nil {
				tb.Logf("delete table %s: %v", table, err)
			}
		}
	})
	return client, tables
}
