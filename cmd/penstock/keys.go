package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/apikey"
	"github.com/seed43908478/penstock/quota"
)

type keyOptions struct {
	tenant    string
	expiresIn time.Duration
	asJSON    bool
}

func newKeys() *cobra.Command {
	c := &cobra.Command{Use: "keys", Short: "Make keys for those who check"}
	var o keyOptions
	create := &cobra.Command{
		Use:   "create",
		Short: "Make a key and put its hash into the config table",
		Long: "Make a key and put its hash into the config table. The key is printed once and cannot be had again.\n" +
			"With --tenant it may check for that tenant only; without, for every tenant.\n" +
			"PENSTOCK_SECRET must be the one that the instances have.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return createKey(c, o) },
	}
	f := create.Flags()
	f.StringVar(&o.tenant, "tenant", "", "whose key it is (default: a service's, for every tenant)")
	f.DurationVar(&o.expiresIn, "expires-in", 0, "how long it works, as 720h (default: for ever)")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	c.AddCommand(create)
	return c
}

func createKey(c *cobra.Command, o keyOptions) error {
	signing := os.Getenv("PENSTOCK_SECRET")
	scope := apikey.CheckAny
	switch {
	case signing == "":
		return errors.New("PENSTOCK_SECRET is not set: a key signed with another secret than the instances have is no key")
	case o.expiresIn < 0:
		return usageError{errors.New("--expires-in must not be negative")}
	case o.tenant != "" && !quota.ValidTenant(o.tenant):
		return usageError{fmt.Errorf("--tenant %q cannot be a tenant's name", o.tenant)}
	case o.tenant != "":
		scope = apikey.CheckOwn
	}
	now := time.Now().UTC().Truncate(time.Second)
	options := apikey.Options{Scopes: []apikey.Scope{scope}, Tenant: o.tenant, Now: now}
	if o.expiresIn > 0 {
		options.ExpiresAt = now.Add(o.expiresIn)
	}
	key, record := apikey.Mint([]byte(signing), options)
	store, err := configTable(c.Context())
	if err != nil {
		return err
	}
	if err := store.CreateKey(c.Context(), record, by()); err != nil {
		return err
	}
	if o.asJSON {
		return printJSON(c.OutOrStdout(), struct {
			Key       string         `json:"key"`
			ID        string         `json:"id"`
			Scopes    []apikey.Scope `json:"scopes"`
			Tenant    string         `json:"tenant,omitempty"`
			ExpiresAt time.Time      `json:"expires_at,omitzero"`
		}{key, record.ID, record.Scopes, record.Tenant, record.ExpiresAt})
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), key)
	return err
}
