package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/configstore/bolt"
	"github.com/seed43908478/penstock/configstore/configstoretest"
	"github.com/seed43908478/penstock/quota"
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

func newStore(items configstore.Items) *configstore.Store {
	return configstore.New(items, configstore.Options{})
}

func apply(ctx context.Context, s *configstore.Store, c quota.Config) error {
	_, err := s.Apply(ctx, c, configstore.Precondition{}, configstore.By{Who: "alice"}, nil)
	return err
}

func TestWhatWasWrittenIsThereAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	items := open(t, dir)
	if err := apply(t.Context(), newStore(items), quota.Example()); err != nil {
		t.Fatal(err)
	}
	if err := items.Close(); err != nil {
		t.Fatal(err)
	}
	got, version, err := newStore(open(t, dir)).Export(t.Context())
	if err != nil || version == 0 || !reflect.DeepEqual(got, quota.Example()) {
		t.Errorf("version %d, %+v, %v", version, got, err)
	}
	info, err := os.Stat(filepath.Join(dir, "config.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: keys' hashes are for nobody else", info.Mode(), err)
	}
}

func TestAFolderThatAnotherProcessHas(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	began := time.Now()
	_, err := bolt.Open(dir)
	if err == nil || !strings.Contains(err.Error(), "in use by another process") || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("took %s to say so", took)
	}
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	garbage := t.TempDir()
	if err := os.WriteFile(filepath.Join(garbage, "config.db"), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := t.TempDir()
	if err := open(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(newer, "config.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("penstock")).Put([]byte("format"), []byte("2")) })
	if err != nil || db.Close() != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{file: "data folder", garbage: "invalid database", newer: `format "2"`} {
		if _, err := bolt.Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// writing is the environment variable that makes this binary change the configuration
// in a folder until it is killed.
const writing = "PENSTOCK_TEST_WRITING"

func TestMain(m *testing.M) {
	dir := os.Getenv(writing)
	if dir == "" {
		os.Exit(m.Run())
	}
	items, err := bolt.Open(dir)
	if err != nil {
		panic(err)
	}
	for n := int64(1); ; n++ {
		if err := apply(context.Background(), newStore(items), numbered(n)); err != nil {
			panic(err)
		}
		fmt.Println(n)
	}
}

// numbered is a configuration all of whose tenants have the number.
func numbered(n int64) quota.Config {
	c := quota.Config{Plans: map[string]quota.Plan{"free": {}}, Tenants: map[string]quota.Tenant{}}
	for i := range 50 {
		c.Tenants[fmt.Sprintf("tenant-%d", i)] = quota.Tenant{Plan: "free", Limits: []quota.Limit{{Name: "daily", Algorithm: "token_bucket", Quota: n, Period: "day"}}}
	}
	return c
}

// A process is killed while it writes, again and again: what it said it had written is
// there, or the next, whole.
func TestAKilledProcessLeavesAVersionWhole(t *testing.T) {
	dir := t.TempDir()
	for round := range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writing+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		said := int64(0)
		for lines.Scan() {
			if _, err := fmt.Sscan(lines.Text(), &said); err != nil {
				t.Fatal(err)
			}
			if said == 3 {
				time.AfterFunc(time.Duration(round)*3*time.Millisecond, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait()
		items := open(t, dir)
		got, version, err := newStore(items).Export(t.Context())
		if err != nil || len(got.Tenants) != 50 {
			t.Fatalf("version %d has %d tenants, %v", version, len(got.Tenants), err)
		}
		n := got.Tenants["tenant-0"].Limits[0].Quota
		if n != said && n != said+1 || !reflect.DeepEqual(got, numbered(n)) {
			t.Errorf("it said %d, and there is %d: %+v", said, n, got)
		}
		if err := items.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
