package main

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/seed43908478/penstock/activity"
	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/console"
	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/httpapi"
)

// adminRoot is where administration is.
const adminRoot = "/admin/v1/"

// withAdmin puts administration, its console and the description beside the checks.
func withAdmin(checks http.Handler, b *backend, decider *engine.Engine, verifier *apikey.Verifier, lately *activity.Activity, log *slog.Logger) (*http.ServeMux, error) {
	key, err := adminKey()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", checks)
	mux.Handle("GET /{$}", console.Welcome(checks))
	mux.Handle(console.Root, console.Handler())
	mux.Handle(adminRoot, httpapi.NewAdmin(httpapi.AdminOptions{
		Config:   b.config,
		Plans:    b.plans,
		Counts:   decider,
		Verifier: verifier,
		Secret:   b.secret.value,
		Key:      key,
		Activity: lately,
		Logger:   log,
	}))
	httpapi.HandleDocs(mux, log)
	return mux, nil
}

// adminKey is PENSTOCK_ADMIN_KEY; when it is unset one is made for this process, and printed.
func adminKey() (string, error) {
	key := os.Getenv("PENSTOCK_ADMIN_KEY")
	switch {
	case key == "":
		key = rand.Text()
		fmt.Printf("A key that may administer, while this process runs (PENSTOCK_ADMIN_KEY is not set):\n%s\n", key)
	case len(key) < httpapi.MinAdminKey:
		return "", fmt.Errorf("PENSTOCK_ADMIN_KEY has %d characters, and must have %d at least", len(key), httpapi.MinAdminKey)
	}
	return key, nil
}
