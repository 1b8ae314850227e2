package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// document is n bytes that no compression makes smaller.
func document(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

type config struct {
	t *testing.T
	*dynamo.ConfigTable
	client *dynamodb.Client
	table  string
}

func newConfig(t *testing.T) config {
	t.Helper()
	client, tables := dynamotest.Tables(t)
	return config{t, dynamo.NewConfigTable(client, tables.Config), client, tables.Config}
}

func (c config) saves(data []byte, ifVersion int64) {
	c.t.Helper()
	v, err := c.Save(c.t.Context(), data, ifVersion)
	if err != nil || v != ifVersion+1 {
		c.t.Fatalf("Save over %d: %d, %v", ifVersion, v, err)
	}
}

func (c config) loads(want []byte, wantVersion int64) {
	c.t.Helper()
	data, v, err := c.Load(c.t.Context())
	if err != nil || v != wantVersion || !bytes.Equal(data, want) {
		c.t.Fatalf("Load: %d bytes, version %d, %v; want %d bytes, version %d", len(data), v, err, len(want), wantVersion)
	}
}

// chunks returns how many chunks are stored.
func (c config) chunks() int {
	c.t.Helper()
	return len(c.chunkKeys())
}

func (c config) chunkKeys() []string {
	c.t.Helper()
	var keys []string
	pages := dynamodb.NewQueryPaginator(c.client, &dynamodb.QueryInput{
		TableName: &c.table, KeyConditionExpression: aws.String("pk = :p"), ConsistentRead: aws.Bool(true),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: "config-chunk"}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		for _, item := range page.Items {
			keys = append(keys, item["sk"].(*types.AttributeValueMemberS).Value)
		}
	}
	return keys
}

func TestConfigThatWasNeverSaved(t *testing.T) {
	c := newConfig(t)
	if v, err := c.Version(t.Context()); v != 0 || err != nil {
		t.Errorf("Version: %d, %v", v, err)
	}
	c.loads(nil, 0)
}

func TestConfigIsLoadedAsItWasSaved(t *testing.T) {
	c := newConfig(t)
	for n, size := range []int{0, 1, 1000, 350 << 10, 1 << 20} {
		data := document(uint64(n), size)
		c.saves(data, int64(n))
		c.loads(data, int64(n)+1)
	}
	if v, err := c.Version(t.Context()); v != 5 || err != nil {
		t.Errorf("Version: %d, %v", v, err)
	}
}

func TestConfigIsCompressed(t *testing.T) {
	c := newConfig(t)
	data := bytes.Repeat([]byte("plan: free\n"), 200_000)
	c.saves(data, 0)
	c.loads(data, 1)
	if n := c.chunks(); n != 1 {
		t.Errorf("%d chunks for 2 MB of the same", n)
	}
}

func TestSavingOverAnotherVersionIsAConflict(t *testing.T) {
	c := newConfig(t)
	c.saves([]byte("one"), 0)
	for _, version := range []int64{0, 2} {
		if _, err := c.Save(t.Context(), []byte("two"), version); !errors.Is(err, dynamo.ErrConflict) {
			t.Errorf("Save over %d: %v", version, err)
		}
	}
	c.loads([]byte("one"), 1)
}

func TestOneOfThoseWhoSaveAtOnceWins(t *testing.T) {
	const savers = 8
	c := newConfig(t)
	now := time.Now()
	c.SetClock(func() time.Time { return now }) // the same millisecond for all of them
	c.saves([]byte("before"), 0)
	var winner atomic.Int64
	var wg sync.WaitGroup
	for n := range uint64(savers) {
		wg.Go(func() {
			switch _, err := c.Save(t.Context(), document(n+1, 800<<10), 1); {
			case err == nil:
				if !winner.CompareAndSwap(0, int64(n+1)) {
					t.Error("two have won")
				}
			case !errors.Is(err, dynamo.ErrConflict):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c.loads(document(uint64(winner.Load()), 800<<10), 2)
	if n := c.chunks(); n != 1+3 {
		t.Errorf("%d chunks, want 1 of the version before and 3 of this one: the losers clean up", n)
	}
}

func TestAReaderNeverSeesHalfASave(t *testing.T) {
	const versions = 6
	c := newConfig(t)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for last := int64(0); ctx.Err() == nil; {
				data, v, err := c.Load(t.Context())
				switch {
				case err != nil:
					t.Error(err)
					return
				case v < last:
					t.Errorf("version %d after %d", v, last)
				case v > 0 && !bytes.Equal(data, document(uint64(v), 400<<10)):
					t.Errorf("version %d is not what was saved", v)
				}
				last = v
			}
		})
	}
	for v := range int64(versions) {
		c.saves(document(uint64(v+1), 400<<10), v)
	}
	stop()
	readers.Wait()
	if n := c.chunks(); n != 4 {
		t.Errorf("%d chunks, want those of the last two versions", n)
	}
}

func TestWhatASaveLeftBehindIsDeletedAfterAnHour(t *testing.T) {
	c := newConfig(t)
	now := time.Now()
	c.SetClock(func() time.Time { return now })
	c.leavesAChunk(now.Add(-30 * time.Minute))
	c.saves([]byte("one"), 0)
	if n := c.chunks(); n != 2 {
		t.Fatalf("%d chunks, want the save's and the one that may still be somebody's", n)
	}
	now = now.Add(30*time.Minute + time.Second)
	c.saves([]byte("two"), 1)
	if n := c.chunks(); n != 2 {
		t.Errorf("%d chunks, want those of the two versions", n)
	}
	c.loads([]byte("two"), 2)
}

// leavesAChunk is what a save does that dies before it switches the version.
func (c config) leavesAChunk(at time.Time) {
	c.t.Helper()
	_, err := c.client.PutItem(c.t.Context(), &dynamodb.PutItemInput{TableName: &c.table, Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "config-chunk"},
		"sk": &types.AttributeValueMemberS{Value: fmt.Sprintf("%012xABCDEFGHIJKLMNOPQRSTUVWXYZ/000000", at.UnixMilli())},
	}})
	if err != nil {
		c.t.Fatal(err)
	}
}

func TestDamagedConfigIsNotLoaded(t *testing.T) {
	damages := map[string]func(config, map[string]types.AttributeValue){
		"a chunk is lost": func(c config, key map[string]types.AttributeValue) {
			_, err := c.client.DeleteItem(c.t.Context(), &dynamodb.DeleteItemInput{TableName: &c.table, Key: key})
			if err != nil {
				c.t.Fatal(err)
			}
		},
		"a chunk is another's": func(c config, key map[string]types.AttributeValue) {
			other := newConfig(c.t)
			other.saves([]byte("two"), 0)
			out, err := c.client.GetItem(c.t.Context(), &dynamodb.GetItemInput{TableName: &other.table, Key: map[string]types.AttributeValue{
				"pk": key["pk"], "sk": &types.AttributeValueMemberS{Value: other.chunkKeys()[0]},
			}})
			if err != nil {
				c.t.Fatal(err)
			}
			c.replaces(key, out.Item["data"])
		},
		"a chunk is nothing": func(c config, key map[string]types.AttributeValue) {
			c.replaces(key, &types.AttributeValueMemberB{Value: []byte("nothing")})
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			c := newConfig(t)
			c.saves([]byte("one"), 0)
			damage(c, map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "config-chunk"},
				"sk": &types.AttributeValueMemberS{Value: c.chunkKeys()[0]},
			})
			data, _, err := c.Load(t.Context())
			wantError(t, err, store.Invalid, known)
			if data != nil {
				t.Errorf("loaded %q", data)
			}
		})
	}
}

func (c config) replaces(key map[string]types.AttributeValue, data types.AttributeValue) {
	c.t.Helper()
	item := map[string]types.AttributeValue{"pk": key["pk"], "sk": key["sk"], "data": data}
	if _, err := c.client.PutItem(c.t.Context(), &dynamodb.PutItemInput{TableName: &c.table, Item: item}); err != nil {
		c.t.Fatal(err)
	}
}

// between returns a configuration that is reached through a proxy, which calls f for
// each request before it is passed on; if f returns true its answer is lost.
func (c config) between(f func(body string) bool) *dynamo.ConfigTable {
	c.t.Helper()
	target, err := url.Parse(dynamotest.Endpoint(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if f(string(body)) {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			drop(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	c.t.Cleanup(server.Close)
	return dynamo.NewConfigTable(dynamotest.NewClient(server.URL), c.table)
}

func TestAReaderWhoseChunksAreGoneReadsTheNewVersion(t *testing.T) {
	c := newConfig(t)
	c.saves([]byte("one"), 0)
	var once sync.Once
	reader := c.between(func(body string) bool {
		if strings.Contains(body, "config-chunk") {
			once.Do(func() { // after it has read the version, and before the chunk
				c.saves([]byte("two"), 1)
				c.saves([]byte("three"), 2)
			})
		}
		return false
	})
	data, v, err := reader.Load(t.Context())
	if err != nil || v != 3 || string(data) != "three" {
		t.Errorf("%q, version %d, %v", data, v, err)
	}
}

func TestReadsAreStronglyConsistent(t *testing.T) {
	c := newConfig(t)
	c.saves([]byte("one"), 0)
	reader := c.between(func(body string) bool {
		if !strings.Contains(body, `"ConsistentRead":true`) {
			t.Errorf("request %s", body)
		}
		return false
	})
	if _, _, err := reader.Load(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, err := reader.Key(t.Context(), "k1"); err != nil {
		t.Error(err)
	}
}

// The SDK repeats a write whose answer was lost, and the condition of the second
// attempt fails on what the first has done.
func TestALostAnswerIsNoConflict(t *testing.T) {
	c := newConfig(t)
	var lost atomic.Bool
	saver := c.between(func(body string) bool {
		return strings.Contains(body, "digest") && lost.CompareAndSwap(false, true)
	})
	v, err := saver.Save(t.Context(), []byte("one"), 0)
	if err != nil || v != 1 || !lost.Load() {
		t.Errorf("Save: %d, %v; an answer was lost: %t", v, err, lost.Load())
	}
	c.loads([]byte("one"), 1)
}

func TestConfigErrorsAreTheStores(t *testing.T) {
	none := dynamo.NewConfigTable(dynamotest.Client(t), "no-such-table")
	_, err := none.Version(t.Context())
	wantError(t, err, store.Misconfigured, known)
	_, _, err = none.Load(t.Context())
	wantError(t, err, store.Misconfigured, known)
	_, err = none.Save(t.Context(), nil, 0)
	wantError(t, err, store.Misconfigured, known)
	_, _, err = none.Key(t.Context(), "k1")
	wantError(t, err, store.Misconfigured, known)
	wantError(t, none.PutKey(t.Context(), apikey.Record{ID: "k1"}), store.Misconfigured, known)
}

func TestLoadingTakesTwoSecondsAtMost(t *testing.T) {
	t.Parallel()
	w := newWire(t, hang)
	began := time.Now()
	_, _, err := dynamo.NewConfigTable(dynamotest.NewClient(w.URL), "config").Load(t.Context())
	wantError(t, err, store.Unavailable, known)
	if took := time.Since(began); took < time.Second || took > 4*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestKeys(t *testing.T) {
	c := newConfig(t)
	if _, ok, err := c.Key(t.Context(), "k1"); ok || err != nil {
		t.Errorf("a key never stored: %t, %v", ok, err)
	}
	record := apikey.Record{
		ID: "k1", Hash: []byte{1, 2, 3}, Scopes: []apikey.Scope{apikey.CheckOwn}, Tenant: "acme",
		CreatedAt: time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC),
	}
	for range 2 { // stored, and replaced
		if err := c.PutKey(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		got, ok, err := c.Key(t.Context(), "k1")
		if err != nil || !ok || !reflect.DeepEqual(got, record) {
			t.Errorf("%+v, %t, %v\nwant %+v", got, ok, err, record)
		}
		record.RevokedAt = record.CreatedAt.Add(time.Hour)
	}
	if _, ok, err := c.Key(t.Context(), "k2"); ok || err != nil {
		t.Errorf("another key: %t, %v", ok, err)
	}
}
