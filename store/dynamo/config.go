package dynamo

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/store"
)

// ErrConflict says that somebody else saved since the version that was to be replaced.
var ErrConflict = errors.New("dynamo: the configuration was saved by somebody else meanwhile")

const (
	sortAttribute = "sk"

	loadTimeout = 2 * time.Second
	saveTimeout = 15 * time.Second

	// An item holds at most 400 KB.
	chunkSize = 350 << 10
	// orphanAge is when the chunks of a save that never ended are nobody's any more.
	orphanAge = time.Hour

	versionKey = "config"
	chunkKey   = "config-chunk"
	apiKeyKey  = "key#"
)

// A ConfigTable keeps the configuration as one document with a version, and API
// keys. It makes queries and point reads and writes only.
//
// The document is compressed and cut into chunks. They are stored under a random id
// first; then the version item is switched to that id, on the condition that it
// still is the version to be replaced. A reader sees one version or the next, whole.
//
// Errors but [ErrConflict] are of type [*store.Error].
type ConfigTable struct {
	client *dynamodb.Client
	table  string
	now    func() time.Time
}

// NewConfigTable returns the configuration in a table that [CreateTables] made.
func NewConfigTable(client *dynamodb.Client, table string) *ConfigTable {
	return &ConfigTable{client: client, table: table, now: time.Now}
}

// A version is the version item: which chunks are the document.
type version struct {
	Number   int64
	Chunks   chunks
	Previous chunks // of the version before: readers may still be at it
	Size     int    // of the document, bytes
	Digest   []byte // SHA-256 of the document
}

// chunks are the N pieces stored under one id.
type chunks struct {
	ID string
	N  int
}

// Version returns the version of the configuration with one read; 0 if none was ever saved.
func (t *ConfigTable) Version(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	v, err := t.version(ctx)
	return v.Number, err
}

// Load returns the newest configuration and its version; nil and 0 if none was ever
// saved. It takes at most 2 s.
func (t *ConfigTable) Load(ctx context.Context) (data []byte, number int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	v, err := t.version(ctx)
	for err == nil && v.Number > 0 {
		data, damage := t.document(ctx, v)
		if damage == nil {
			return data, v.Number, nil
		}
		// Two saves while the chunks were read may have deleted them. Then there is
		// a newer version to read.
		seen := v
		if v, err = t.version(ctx); err == nil && v.Number == seen.Number {
			return nil, 0, damage
		}
	}
	return nil, 0, err
}

// Save replaces the version ifVersion of the configuration, 0 for none, and returns
// the version it is now. The error is [ErrConflict] when the version is another. It
// takes at most 15 s.
func (t *ConfigTable) Save(ctx context.Context, data []byte, ifVersion int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	old, err := t.version(ctx)
	if err != nil {
		return 0, err
	}
	if old.Number != ifVersion {
		return 0, ErrConflict
	}
	packed := pack(data)
	digest := sha256.Sum256(data)
	next := version{
		Number: ifVersion + 1, Previous: old.Chunks,
		Chunks: chunks{newChunkID(t.now()), (len(packed) + chunkSize - 1) / chunkSize},
		Size:   len(data), Digest: digest[:],
	}
	if err := t.putChunks(ctx, next.Chunks, packed); err != nil {
		return 0, err
	}
	if err := t.switchTo(ctx, next, old); err != nil {
		if errors.Is(err, ErrConflict) {
			t.deleteChunks(ctx, next.Chunks)
		}
		return 0, err
	}
	t.deleteChunks(ctx, old.Previous)
	t.deleteOrphans(ctx, next)
	return next.Number, nil
}

// Key returns the record of an API key, if there is one.
func (t *ConfigTable) Key(ctx context.Context, id string) (r apikey.Record, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	item, err := t.get(ctx, apiKeyKey+id, "record")
	if err != nil || item == nil {
		return r, false, err
	}
	if err := json.Unmarshal(bytesOf(item["record"]), &r); err != nil {
		return r, false, invalid("key %q: %w", id, err)
	}
	return r, true, nil
}

// PutKey stores the record of an API key, in place of one with the same id.
func (t *ConfigTable) PutKey(ctx context.Context, r apikey.Record) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	record, err := json.Marshal(r)
	if err != nil {
		return invalid("key %q: %w", r.ID, err)
	}
	item := configKey(apiKeyKey+r.ID, "record")
	item["record"] = &types.AttributeValueMemberB{Value: record}
	return t.put(ctx, &dynamodb.PutItemInput{Item: item})
}

func (t *ConfigTable) version(ctx context.Context) (version, error) {
	item, err := t.get(ctx, versionKey, "version")
	if err != nil || item == nil {
		return version{}, err
	}
	return readVersion(item)
}

// switchTo makes next the version, if old still is.
func (t *ConfigTable) switchTo(ctx context.Context, next, old version) error {
	item := configKey(versionKey, "version")
	item["version"] = numeral(next.Number)
	item["id"] = &types.AttributeValueMemberS{Value: next.Chunks.ID}
	item["chunks"] = numeral(int64(next.Chunks.N))
	item["previous_id"] = &types.AttributeValueMemberS{Value: next.Previous.ID}
	item["previous_chunks"] = numeral(int64(next.Previous.N))
	item["size"] = numeral(int64(next.Size))
	item["digest"] = &types.AttributeValueMemberB{Value: next.Digest}
	in := &dynamodb.PutItemInput{
		Item:                                item,
		ExpressionAttributeNames:            map[string]string{"#v": "version"},
		ConditionExpression:                 aws.String("attribute_not_exists(#v)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if old.Number > 0 {
		in.ConditionExpression = aws.String("#v = :v")
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":v": numeral(old.Number)}
	}
	err := t.put(ctx, in)
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		// The SDK's second attempt finds what the first has done if its answer was lost.
		if there, err := readVersion(failed.Item); err == nil && there.Chunks.ID == next.Chunks.ID {
			return nil
		}
		return ErrConflict
	}
	return err
}

func (t *ConfigTable) putChunks(ctx context.Context, c chunks, packed []byte) error {
	for n := range c.N {
		item := configKey(chunkKey, c.sort(n))
		item["data"] = &types.AttributeValueMemberB{Value: packed[n*chunkSize : min(len(packed), (n+1)*chunkSize)]}
		if err := t.put(ctx, &dynamodb.PutItemInput{Item: item}); err != nil {
			return err
		}
	}
	return nil
}

// document reads the chunks of a version.
func (t *ConfigTable) document(ctx context.Context, v version) ([]byte, error) {
	var packed []byte
	for n := range v.Chunks.N {
		item, err := t.get(ctx, chunkKey, v.Chunks.sort(n))
		if err != nil {
			return nil, err
		}
		if item == nil {
			return nil, invalid("version %d of the configuration has lost chunk %d of %d", v.Number, n+1, v.Chunks.N)
		}
		packed = append(packed, bytesOf(item["data"])...)
	}
	data, err := unpack(packed, v.Size)
	if err != nil {
		return nil, invalid("version %d of the configuration: %w", v.Number, err)
	}
	if digest := sha256.Sum256(data); !bytes.Equal(digest[:], v.Digest) {
		return nil, invalid("version %d of the configuration is damaged: its digest is %x, not %x", v.Number, digest, v.Digest)
	}
	return data, nil
}

// deleteChunks deletes chunks. What it cannot delete now is deleted as an orphan.
func (t *ConfigTable) deleteChunks(ctx context.Context, c chunks) {
	for n := range c.N {
		if t.deleteChunk(ctx, c.sort(n)) != nil {
			return
		}
	}
}

func (t *ConfigTable) deleteChunk(ctx context.Context, sort string) error {
	_, err := t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.table, Key: configKey(chunkKey, sort)})
	return err
}

// deleteOrphans deletes the old chunks that are not a version's: of saves that died
// on their way. What it cannot delete, the next save does.
func (t *ConfigTable) deleteOrphans(ctx context.Context, v version) {
	pages := dynamodb.NewQueryPaginator(t.client, &dynamodb.QueryInput{
		TableName:                &t.table,
		KeyConditionExpression:   aws.String("#p = :p AND #s < :s"),
		ProjectionExpression:     aws.String("#s"),
		ExpressionAttributeNames: map[string]string{"#p": keyAttribute, "#s": sortAttribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p": &types.AttributeValueMemberS{Value: chunkKey},
			":s": &types.AttributeValueMemberS{Value: chunkTime(t.now().Add(-orphanAge))},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return
		}
		for _, item := range page.Items {
			sort := stringOf(item[sortAttribute])
			if !v.Chunks.have(sort) && !v.Previous.have(sort) && t.deleteChunk(ctx, sort) != nil {
				return
			}
		}
	}
}

// get reads an item, strongly consistent; nil if there is none.
func (t *ConfigTable) get(ctx context.Context, pk, sk string) (map[string]types.AttributeValue, error) {
	sent := &sending{}
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.table, Key: configKey(pk, sk), ConsistentRead: aws.Bool(true),
	}, sent.option)
	if err != nil {
		e := translate(err, sent)
		e.Unknown = false // nothing was to be written
		return nil, e
	}
	return out.Item, nil
}

func (t *ConfigTable) put(ctx context.Context, in *dynamodb.PutItemInput) error {
	in.TableName = &t.table
	sent := &sending{}
	if _, err := t.client.PutItem(ctx, in, sent.option); err != nil {
		return translate(err, sent)
	}
	return nil
}

func readVersion(item map[string]types.AttributeValue) (v version, err error) {
	if v.Number, err = numberOf(item["version"]); err != nil {
		return version{}, invalid("the version of the configuration: %w", err)
	}
	for _, n := range []struct {
		attribute string
		value     *int
	}{{"chunks", &v.Chunks.N}, {"previous_chunks", &v.Previous.N}, {"size", &v.Size}} {
		value, err := numberOf(item[n.attribute])
		if err != nil {
			return version{}, invalid("%s of the configuration: %w", n.attribute, err)
		}
		*n.value = int(value)
	}
	v.Chunks.ID, v.Previous.ID, v.Digest = stringOf(item["id"]), stringOf(item["previous_id"]), bytesOf(item["digest"])
	return v, nil
}

// sort is the sort key of a chunk.
func (c chunks) sort(n int) string { return fmt.Sprintf("%s/%06d", c.ID, n) }

// have reports whether a sort key is that of one of them.
func (c chunks) have(sort string) bool { return c.ID != "" && strings.HasPrefix(sort, c.ID+"/") }

// newChunkID is when it was made, so that the old are known, and chance, so that
// two who save at once do not mix.
func newChunkID(now time.Time) string { return chunkTime(now) + rand.Text() }

func chunkTime(t time.Time) string { return fmt.Sprintf("%012x", t.UnixMilli()) }

func configKey(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		keyAttribute:  &types.AttributeValueMemberS{Value: pk},
		sortAttribute: &types.AttributeValueMemberS{Value: sk},
	}
}

func pack(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	// A buffer takes everything.
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// unpack reads no more than the size that was stored.
func unpack(packed []byte, size int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, int64(size)+1))
}

func invalid(format string, args ...any) error {
	return &store.Error{Reason: store.Invalid, Err: fmt.Errorf(format, args...)}
}

func stringOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func bytesOf(v types.AttributeValue) []byte {
	if b, ok := v.(*types.AttributeValueMemberB); ok {
		return b.Value
	}
	return nil
}
