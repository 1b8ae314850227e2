package dynamo_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/configstore/configstoretest"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

func TestConfigConformance(t *testing.T) {
	configstoretest.Run(t, func(t *testing.T) configstore.Items {
		client, tables := dynamotest.Tables(t)
		return dynamo.NewConfigTable(client, tables.Config)
	})
}

// config is a config table with the example's configuration.
type config struct {
	t      *testing.T
	client *dynamodb.Client
	table  string
}

func newConfig(t *testing.T) config {
	t.Helper()
	client, tables := dynamotest.Tables(t)
	c := config{t, client, tables.Config}
	if _, err := c.store().Apply(t.Context(), quota.Example(), configstore.Precondition{}, byAlice, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

var byAlice = configstore.By{Who: "alice"}

func (c config) store() *configstore.Store {
	return configstore.New(dynamo.NewConfigTable(c.client, c.table), configstore.Options{})
}

// between returns a store that is reached through a proxy, which calls f for each
// request before it is passed on; if f returns true its answer is lost.
func (c config) between(f func(operation, body string) bool) *configstore.Store {
	c.t.Helper()
	target, err := url.Parse(dynamotest.Endpoint(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if f(operation, string(body)) {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			drop(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	c.t.Cleanup(server.Close)
	return configstore.New(dynamo.NewConfigTable(dynamotest.NewClient(server.URL), c.table), configstore.Options{})
}

// The SDK repeats a write whose answer was lost. Of a transaction the condition would
// fail on what the first attempt has done; DynamoDB knows it by its token.
func TestALostAnswerIsNoConflict(t *testing.T) {
	for _, operation := range []string{"TransactWriteItems", "PutItem"} {
		t.Run(operation, func(t *testing.T) {
			c := newConfig(t)
			var sent atomic.Int64
			writer := c.between(func(o, _ string) bool { return o == operation && sent.Add(1) == 1 })
			put, effect, err := writer.PutTenant(t.Context(), "initech", quota.Tenant{Plan: "free"}, configstore.Precondition{IfNoneMatch: true}, byAlice)
			if err != nil || effect != configstore.Created || sent.Load() < 2 {
				t.Errorf("%q, %v; sent %d times, and the first answer is lost", effect, err, sent.Load())
			}
			got, ok, err := c.store().Tenant(t.Context(), "initech")
			if err != nil || !ok || got.Revision != put.Revision {
				t.Errorf("%+v, %t, %v, want revision %d", got, ok, err, put.Revision)
			}
			entries, _, err := c.store().Audit(t.Context(), configstore.AuditFilter{Tenant: "initech"})
			if err != nil || len(entries) != 1 {
				t.Errorf("%d entries, %v, want one", len(entries), err)
			}
		})
	}
}

// What a store asks a table: no Scan, and nothing that may be answered with what was.
func TestTheConfigIsReadConsistentlyAndNeverScanned(t *testing.T) {
	c := newConfig(t)
	asked := map[string]bool{}
	turn := make(chan struct{}, 1)
	s := c.between(func(operation, body string) bool {
		turn <- struct{}{}
		asked[operation] = true
		<-turn
		if (operation == "GetItem" || operation == "Query") && !strings.Contains(body, `"ConsistentRead":true`) {
			t.Errorf("%s %s", operation, body)
		}
		return false
	})
	ctx := t.Context()
	_, record := apikey.Mint([]byte("a secret"), apikey.Options{Tenant: "acme", Now: time.Now()})
	for _, do := range []func() error{
		func() error { _, _, err := s.Export(ctx); return err },
		func() error { return s.CreateKey(ctx, record, byAlice) },
		func() error { _, _, err := s.Key(ctx, record.ID); return err },
		func() error { _, _, err := s.Tenants(ctx, configstore.TenantFilter{}); return err },
		func() error { _, err := s.DeleteTenant(ctx, "acme", configstore.Precondition{}, byAlice); return err },
		func() error { _, err := s.DeleteTenant(ctx, "globex", configstore.Precondition{}, byAlice); return err },
		func() error { _, _, err := s.Audit(ctx, configstore.AuditFilter{}); return err },
	} {
		if err := do(); err != nil {
			t.Error(err)
		}
	}
	for _, operation := range []string{"GetItem", "Query", "PutItem", "DeleteItem", "TransactWriteItems"} {
		if !asked[operation] {
			t.Errorf("%s was not asked", operation)
		}
		delete(asked, operation)
	}
	if len(asked) > 0 {
		t.Errorf("also asked: %v", asked)
	}
}

// A table of an older layout is refused by a name, not misread, and never written.
func TestATableOfTheOlderLayout(t *testing.T) {
	client, tables := dynamotest.Tables(t)
	c := config{t, client, tables.Config}
	for _, item := range []map[string]types.AttributeValue{
		{
			"pk": &types.AttributeValueMemberS{Value: "config"}, "sk": &types.AttributeValueMemberS{Value: "version"},
			"version": &types.AttributeValueMemberN{Value: "3"}, "id": &types.AttributeValueMemberS{Value: "x"}, "chunks": &types.AttributeValueMemberN{Value: "1"},
		},
		{
			"pk": &types.AttributeValueMemberS{Value: "key#abc"}, "sk": &types.AttributeValueMemberS{Value: "record"},
			"record": &types.AttributeValueMemberB{Value: []byte(`{"id":"abc"}`)},
		},
	} {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &c.table, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	_, applied := c.store().Apply(t.Context(), quota.Example(), configstore.Precondition{}, byAlice, nil)
	_, live := quota.NewLive(t.Context(), c.store(), quota.LiveOptions{})
	_, _, key := c.store().Key(t.Context(), "abc")
	for _, err := range []error{applied, live, key} {
		if err == nil || !strings.Contains(err.Error(), "layout of an older version") {
			t.Errorf("%v", err)
		}
	}
}

func TestConfigErrorsAreTheStores(t *testing.T) {
	none := dynamo.NewConfigTable(dynamotest.Client(t), "no-such-table")
	ctx := t.Context()
	k := configstore.Key{PK: "a", SK: "b"}
	put := configstore.Item{Key: k, Data: []byte("x")}
	_, _, err := none.Get(ctx, k)
	wantError(t, err, store.Misconfigured, known)
	_, _, err = none.Query(ctx, configstore.Range{PK: "a", Limit: 1})
	wantError(t, err, store.Misconfigured, known)
	for _, tx := range []configstore.Transaction{
		{Puts: []configstore.Item{put}},
		{Deletes: []configstore.Key{k}},
		{Puts: []configstore.Item{put}, If: []configstore.Condition{{Key: k}}},
	} {
		wantError(t, none.Transact(ctx, tx), store.Misconfigured, known)
	}
	large := configstore.Transaction{Puts: []configstore.Item{{Key: k, Data: make([]byte, 500_000)}}, If: []configstore.Condition{{Key: k}}}
	client, tables := dynamotest.Tables(t)
	wantError(t, dynamo.NewConfigTable(client, tables.Config).Transact(ctx, large), store.Invalid, known)
	_, _, err = configstore.New(none, configstore.Options{}).Tenant(ctx, "acme")
	wantError(t, err, store.Misconfigured, known)
}

// Why a transaction was not written, as DynamoDB says it.
func TestCanceledTransactions(t *testing.T) {
	canceled := func(codes ...string) http.HandlerFunc {
		var reasons []string
		for _, c := range codes {
			reasons = append(reasons, `{"Code":"`+c+`","Message":"so it is"}`)
		}
		return fault(400, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"canceled","CancellationReasons":[`+strings.Join(reasons, ",")+`]}`)
	}
	tx := configstore.Transaction{If: []configstore.Condition{{Key: configstore.Key{PK: "a", SK: "b"}, Version: 1}}}
	transact := func(answer http.HandlerFunc) error {
		w := newWire(t, answer)
		return dynamo.NewConfigTable(dynamotest.NewClient(w.URL), "config").Transact(t.Context(), tx)
	}
	for _, codes := range [][]string{{"ConditionalCheckFailed"}, {"None", "TransactionConflict"}, {"ThrottlingError", "ConditionalCheckFailed"}} {
		if err := transact(canceled(codes...)); !errors.Is(err, configstore.ErrConflict) {
			t.Errorf("%v: %v", codes, err)
		}
	}
	wantError(t, transact(canceled("None", "ThrottlingError")), store.Throttled, known)
	wantError(t, transact(canceled("ValidationError")), store.Invalid, known)
	wantError(t, transact(drop), store.Unavailable, unknown)
}

func TestReadingTheConfigTakesTwoSecondsAtMost(t *testing.T) {
	t.Parallel()
	w := newWire(t, hang)
	began := time.Now()
	_, _, err := dynamo.NewConfigTable(dynamotest.NewClient(w.URL), "config").Get(t.Context(), configstore.Key{PK: "a", SK: "b"})
	wantError(t, err, store.Unavailable, known)
	if took := time.Since(began); took < time.Second || took > 4*time.Second {
		t.Errorf("took %s", took)
	}
}
