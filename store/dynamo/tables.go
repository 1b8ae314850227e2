package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Tables names the two tables. A name has at least 3 characters.
type Tables struct {
	State  string // what limits have counted: a [Store]
	Config string // plans, tenants, keys and their audit: a [ConfigTable]
}

// CreateTables creates the tables where they are missing, on demand, and waits until
// they can be used. Items of the state table expire; the config table can be
// restored to any point in time, where the endpoint can do that (emulators cannot).
// Tables that are there already are kept.
func CreateTables(ctx context.Context, client *dynamodb.Client, t Tables) error {
	if err := createTable(ctx, client, t.State, keyAttribute); err != nil {
		return err
	}
	if err := createTable(ctx, client, t.Config, keyAttribute, sortAttribute); err != nil {
		return err
	}
	if err := WaitTables(ctx, client, t); err != nil {
		return err
	}
	if err := expireItems(ctx, client, t.State); err != nil {
		return err
	}
	return keepHistory(ctx, client, t.Config)
}

// WaitTables waits until both tables can be used.
func WaitTables(ctx context.Context, client *dynamodb.Client, t Tables) error {
	for _, table := range []string{t.State, t.Config} {
		err := dynamodb.NewTableExistsWaiter(client).Wait(ctx, describe(table), time.Minute, func(o *dynamodb.TableExistsWaiterOptions) {
			o.MinDelay, o.MaxDelay = 20*time.Millisecond, time.Second
		})
		if err != nil {
			return fmt.Errorf("dynamo: wait for table %q: %w", table, err)
		}
	}
	return nil
}

func describe(table string) *dynamodb.DescribeTableInput {
	return &dynamodb.DescribeTableInput{TableName: aws.String(table)}
}

// createTable creates a table with a key of strings: a partition key, and a sort key if there is a second.
func createTable(ctx context.Context, client *dynamodb.Client, name string, key ...string) error {
	in := &dynamodb.CreateTableInput{TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest}
	for i, attribute := range key {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(attribute), AttributeType: types.ScalarAttributeTypeS,
		})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{
			AttributeName: aws.String(attribute), KeyType: []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i],
		})
	}
	_, err := client.CreateTable(ctx, in)
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		return nil
	}
	if err != nil {
		return fmt.Errorf("dynamo: create table %q: %w", name, err)
	}
	return nil
}

func expireItems(ctx context.Context, client *dynamodb.Client, table string) error {
	// Switching on what is on is an error, so look first.
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(table)})
	if err != nil {
		return fmt.Errorf("dynamo: expiry of table %q: %w", table, err)
	}
	if d := out.TimeToLiveDescription; d != nil &&
		(d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		return nil
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(table),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(expiryAttribute), Enabled: aws.Bool(true),
		},
	})
	if err != nil {
		return fmt.Errorf("dynamo: expiry of table %q: %w", table, err)
	}
	return nil
}

// keepHistory switches point-in-time recovery on. A table that was just created may
// not be ready for it.
func keepHistory(ctx context.Context, client *dynamodb.Client, table string) error {
	const tries = 10
	for try := 1; ; try++ {
		_, err := client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
			TableName: aws.String(table),
			PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{
				PointInTimeRecoveryEnabled: aws.Bool(true),
			},
		})
		if err == nil || unsupported(err) {
			return nil
		}
		_, early := errors.AsType[*types.ContinuousBackupsUnavailableException](err)
		if !early || try == tries || !pause(ctx, time.Second, time.Now().Add(time.Minute)) {
			return fmt.Errorf("dynamo: point-in-time recovery of table %q: %w", table, err)
		}
	}
}

// unsupported reports whether an endpoint does not know an operation: an emulator.
func unsupported(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && (api.ErrorCode() == "UnknownOperationException" || api.ErrorCode() == "NotImplemented")
}
