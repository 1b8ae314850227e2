package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/configstore"
)

// A secret signs keys and receipts. Where it came from says how long they work.
type secret struct {
	value []byte
	made  bool // for this process
}

// findSecret returns PENSTOCK_SECRET; else the one in the data folder, made there when
// there is none; else, without a folder, one for this process.
func findSecret(dir string) (secret, error) {
	if s := os.Getenv("PENSTOCK_SECRET"); s != "" {
		return secret{value: []byte(s)}, nil
	}
	if dir == "" {
		return secret{value: []byte(rand.Text() + rand.Text()), made: true}, nil
	}
	path := filepath.Join(dir, "secret")
	value, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		value = []byte(rand.Text() + rand.Text())
		err = os.WriteFile(path, value, 0o600)
	}
	if err == nil && len(value) < 32 {
		err = fmt.Errorf("%s has %d bytes, and a secret at least 32: delete it to have another made; keys signed with it end", path, len(value))
	}
	return secret{value: value}, err
}

// printKey makes and prints a service's key when there is none that works.
func printKey(ctx context.Context, s *configstore.Store, signing secret) error {
	keys, _, err := s.Keys(ctx, configstore.KeyFilter{})
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.RevokedAt.IsZero() && k.ExpiresAt.IsZero() && k.Has(apikey.CheckAny) {
			return nil
		}
	}
	key, record := apikey.Mint(signing.value, apikey.Options{Scopes: []apikey.Scope{apikey.CheckAny}, Now: time.Now()})
	if err := s.CreateKey(ctx, record, by()); err != nil {
		return err
	}
	works := "while this process runs"
	if !signing.made {
		works = "as long as its configuration and the secret are kept"
	}
	fmt.Printf("A key that may check for every tenant, %s:\n%s\n", works, key)
	return nil
}
