package dynamo_test

import (
	"testing"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/configstore/configstoretest"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

func TestConfigConformance(t *testing.T) {
	configstoretest.Run(t, func(t *testing.T) configstore.Items {
		client, tables := dynamotest.Tables(t)
		return dynamo.NewConfigTable(client, tables.Config)
	})
}
