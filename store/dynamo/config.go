package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/store"
)

const (
	sortAttribute    = "sk"
	versionAttribute = "version"
	dataAttribute    = "data"

	// readTimeout and writeTimeout are for one call, with its retries.
	readTimeout  = 2 * time.Second
	writeTimeout = 5 * time.Second
)

// A ConfigTable keeps a configuration's items, for a [configstore.Store]. It makes
// queries, point reads and conditional writes only; its reads are strongly consistent
// and take at most 2 s, its writes 5 s.
//
// Errors but [configstore.ErrConflict] are of type [*store.Error].
type ConfigTable struct {
	client *dynamodb.Client
	table  string
}

// NewConfigTable returns the items of a table that [CreateTables] made.
func NewConfigTable(client *dynamodb.Client, table string) *ConfigTable {
	return &ConfigTable{client, table}
}

// Get returns an item.
func (t *ConfigTable) Get(ctx context.Context, k configstore.Key) (configstore.Item, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	sent := &sending{}
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.table, Key: configKey(k), ConsistentRead: aws.Bool(true),
	}, sent.option)
	if err != nil {
		return configstore.Item{}, false, readError(err, sent)
	}
	if out.Item == nil {
		return configstore.Item{}, false, nil
	}
	item, err := readItem(out.Item)
	return item, err == nil, err
}

// Query returns a page of a range.
func (t *ConfigTable) Query(ctx context.Context, r configstore.Range) ([]configstore.Item, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	sent := &sending{}
	out, err := t.client.Query(ctx, t.query(r), sent.option)
	if err != nil {
		return nil, false, readError(err, sent)
	}
	items := make([]configstore.Item, len(out.Items))
	for i, found := range out.Items {
		if items[i], err = readItem(found); err != nil {
			return nil, false, err
		}
	}
	return items, out.LastEvaluatedKey != nil, nil
}

func (t *ConfigTable) query(r configstore.Range) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName: &t.table, ConsistentRead: aws.Bool(true),
		ScanIndexForward:          aws.Bool(!r.Descending),
		Limit:                     aws.Int32(int32(min(r.Limit, 10_000))), //nolint:gosec // small
		ExpressionAttributeNames:  map[string]string{"#p": keyAttribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": text(r.PK)},
	}
	condition := "#p = :p"
	switch {
	case r.From != "" && r.To != "":
		condition += " AND #s BETWEEN :from AND :to"
	case r.From != "":
		condition += " AND #s >= :from"
	case r.To != "":
		condition += " AND #s <= :to"
	}
	in.KeyConditionExpression = &condition
	if r.From != "" {
		in.ExpressionAttributeValues[":from"] = text(r.From)
	}
	if r.To != "" {
		in.ExpressionAttributeValues[":to"] = text(r.To)
	}
	if r.KeysOnly {
		in.ProjectionExpression = aws.String("#p, #s, #v")
		in.ExpressionAttributeNames["#v"] = versionAttribute
	}
	if r.From != "" || r.To != "" || r.KeysOnly {
		in.ExpressionAttributeNames["#s"] = sortAttribute
	}
	if r.After != "" {
		in.ExclusiveStartKey = configKey(configstore.Key{PK: r.PK, SK: r.After})
	}
	return in
}

// Transact writes a transaction. One item without a condition is written by itself,
// which costs half.
func (t *ConfigTable) Transact(ctx context.Context, tx configstore.Transaction) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	sent := &sending{}
	var err error
	switch {
	case len(tx.If) == 0 && len(tx.Deletes) == 0 && len(tx.Puts) == 1:
		_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.table, Item: configItem(tx.Puts[0])}, sent.option)
	case len(tx.If) == 0 && len(tx.Puts) == 0 && len(tx.Deletes) == 1:
		_, err = t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.table, Key: configKey(tx.Deletes[0])}, sent.option)
	default:
		// The SDK gives it a token: its second attempt, after a lost answer, is known as the same.
		_, err = t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: t.writes(tx)}, sent.option)
	}
	if err == nil {
		return nil
	}
	if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return cancellation(canceled)
	}
	if _, ok := errors.AsType[*types.TransactionConflictException](err); ok {
		return configstore.ErrConflict
	}
	return translate(err, sent)
}

// writes returns the parts of a transaction. DynamoDB takes one for each item, so a
// condition about an item that is written goes with that.
func (t *ConfigTable) writes(tx configstore.Transaction) []types.TransactWriteItem {
	conditions := make(map[configstore.Key]int64, len(tx.If))
	for _, c := range tx.If {
		conditions[c.Key] = c.Version
	}
	take := func(k configstore.Key) (expression *string, names map[string]string, values map[string]types.AttributeValue) {
		version, ok := conditions[k]
		delete(conditions, k)
		switch {
		case !ok:
			return nil, nil, nil
		case version == 0:
			return aws.String("attribute_not_exists(#p)"), map[string]string{"#p": keyAttribute}, nil
		}
		return aws.String("#v = :v"), map[string]string{"#v": versionAttribute}, map[string]types.AttributeValue{":v": numeral(version)}
	}
	var items []types.TransactWriteItem
	for _, p := range tx.Puts {
		put := &types.Put{TableName: &t.table, Item: configItem(p)}
		put.ConditionExpression, put.ExpressionAttributeNames, put.ExpressionAttributeValues = take(p.Key)
		items = append(items, types.TransactWriteItem{Put: put})
	}
	for _, k := range tx.Deletes {
		del := &types.Delete{TableName: &t.table, Key: configKey(k)}
		del.ConditionExpression, del.ExpressionAttributeNames, del.ExpressionAttributeValues = take(k)
		items = append(items, types.TransactWriteItem{Delete: del})
	}
	for _, c := range tx.If {
		if _, left := conditions[c.Key]; left {
			check := &types.ConditionCheck{TableName: &t.table, Key: configKey(c.Key)}
			check.ConditionExpression, check.ExpressionAttributeNames, check.ExpressionAttributeValues = take(c.Key)
			items = append(items, types.TransactWriteItem{ConditionCheck: check})
		}
	}
	return items
}

// cancellation is why a transaction was not written. A condition that failed counts
// for more than what else there is, as nothing else will change that.
func cancellation(e *types.TransactionCanceledException) error {
	reason := store.Throttled
	for _, r := range e.CancellationReasons {
		switch aws.ToString(r.Code) {
		case "ConditionalCheckFailed", "TransactionConflict":
			return configstore.ErrConflict
		case "ValidationError", "ItemCollectionSizeLimitExceeded":
			reason = store.Invalid
		}
	}
	return &store.Error{Reason: reason, Err: e}
}

// readError is the error of a read: nothing was to be written.
func readError(err error, sent *sending) error {
	e := translate(err, sent)
	e.Unknown = false
	return e
}

func configKey(k configstore.Key) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{keyAttribute: text(k.PK), sortAttribute: text(k.SK)}
}

func configItem(i configstore.Item) map[string]types.AttributeValue {
	item := configKey(i.Key)
	if i.Version != 0 {
		item[versionAttribute] = numeral(i.Version)
	}
	item[dataAttribute] = &types.AttributeValueMemberB{Value: i.Data}
	return item
}

// readItem reads an item. One without data is of somebody else, or of an older version.
func readItem(found map[string]types.AttributeValue) (item configstore.Item, err error) {
	item.PK, item.SK = stringOf(found[keyAttribute]), stringOf(found[sortAttribute])
	if b, ok := found[dataAttribute].(*types.AttributeValueMemberB); ok {
		item.Data = b.Value
	}
	if v, ok := found[versionAttribute]; ok {
		if item.Version, err = numberOf(v); err != nil {
			return item, &store.Error{Reason: store.Invalid, Err: fmt.Errorf("the version of item %s %s: %w", strconv.Quote(item.PK), strconv.Quote(item.SK), err)}
		}
	}
	return item, nil
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func stringOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
