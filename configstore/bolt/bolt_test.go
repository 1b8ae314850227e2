package bolt_test

import (
	"testing"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/configstore/bolt"
	"github.com/seed43908478/penstock/configstore/configstoretest"
)

func open(t *testing.T, dir string) *bolt.Items {
	t.Helper()
	items, err := bolt.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = items.Close() })
	return items
}

func TestConformance(t *testing.T) {
	configstoretest.Run(t, func(t *testing.T) configstore.Items { return open(t, t.TempDir()) })
}
