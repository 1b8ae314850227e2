package memory_test

import (
	"testing"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/configstore/configstoretest"
	"github.com/seed43908478/penstock/configstore/memory"
)

func TestConformance(t *testing.T) {
	configstoretest.Run(t, func(*testing.T) configstore.Items { return memory.New() })
}
