package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed43908478/penstock/cmd/penstock/internal/adminclient"
)

func newKeys() *cobra.Command {
	return group("keys", "Keys of those who check and administer",
		newKeysList(), newKeysCreate(), newKeysRotate(), newKeysRevoke())
}

// keysPath is where the keys of a tenant are, or those that are no tenant's.
func keysPath(tenant string) string {
	if tenant == "" {
		return "keys"
	}
	return object(tenantsPath, tenant) + "/keys"
}

// tenantFlag says whose keys are meant.
func tenantFlag(c *cobra.Command, to *server, tenant *string) {
	c.Flags().StringVar(tenant, "tenant", "", "whose key it is (default: no tenant's, as of a service or an administrator)")
	completes(c, "tenant", to.names(tenantsPath))
}

func newKeysList() *cobra.Command {
	var tenant string
	l := &listing[adminclient.Key]{
		path:    func() string { return keysPath(tenant) },
		columns: []string{"id", "name", "scopes", "state", "created", "expires"},
		row: func(k adminclient.Key) []string {
			return []string{k.ID, k.Name, strings.Join(k.Scopes, " "), k.State, date(k.CreatedAt), date(k.ExpiresAt)}
		},
	}
	c := l.command("List the keys of a tenant, or those that are no tenant's")
	tenantFlag(c, &l.to, &tenant)
	return c
}

type keyCreate struct {
	to           server
	tenant, name string
	scopes       []string
	expiresIn    time.Duration
}

func newKeysCreate() *cobra.Command {
	var o keyCreate
	c := &cobra.Command{
		Use:   "create",
		Short: "Make a key",
		Long: "Make a key. It is printed once and cannot be had again: only its hash is kept. With --tenant it may check for\n" +
			"that tenant only; without, it is a service's and may check for every tenant, or with --scope admin administer.",
		Example: "  penstock keys create --tenant acme --name ci --expires-in 720h\n" +
			"  penstock keys create --scope admin --name alice",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.to.explained(o.run(c)) },
	}
	o.to.adminFlags(c)
	tenantFlag(c, &o.to, &o.tenant)
	f := c.Flags()
	f.StringVar(&o.name, "name", "", "what it is for")
	f.StringSliceVar(&o.scopes, "scope", nil, "what it may: check:any, admin; of a tenant's key check:own (default check:any, check:own)")
	f.DurationVar(&o.expiresIn, "expires-in", 0, "how long it works, as 720h (default: for ever)")
	completes(c, "scope", cobra.FixedCompletions([]cobra.Completion{"check:any", "check:own", "admin"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (o *keyCreate) run(c *cobra.Command) error {
	if o.expiresIn < 0 {
		return usageError{errors.New("--expires-in must not be negative")}
	}
	body := struct {
		Name      string   `json:"name,omitempty"`
		Scopes    []string `json:"scopes,omitempty"`
		ExpiresIn string   `json:"expires_in,omitempty"`
	}{o.name, o.scopes, lasting(o.expiresIn)}
	return makeKey(c, o.to, keysPath(o.tenant), body)
}

// lasting is a duration as the API takes it; "" of none.
func lasting(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// makeKey prints the key alone on standard output, so that it can go where it belongs.
func makeKey(c *cobra.Command, to server, path string, body any) error {
	client, err := to.client()
	if err != nil {
		return err
	}
	a, err := client.Post(c.Context(), path, body)
	if err != nil {
		return err
	}
	if to.asJSON {
		return printAnswer(c.OutOrStdout(), a)
	}
	var k adminclient.Key
	if err := a.Decode(&k); err != nil {
		return err
	}
	if s := newScreen(c); s.width > 0 {
		fmt.Fprintf(s.errs, "Key %s, which cannot be printed again:\n", k.ID)
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), k.Key)
	return err
}

type keyRotate struct {
	to               server
	tenant           string
	expiresIn, grace time.Duration
}

func newKeysRotate() *cobra.Command {
	var o keyRotate
	c := &cobra.Command{
		Use:   "rotate ID",
		Short: "Make a key in the place of another",
		Long: "Make a key in the place of another, with its name and scopes. The old one works for the grace still. The ID is\n" +
			"the part of a key between pk_ and the next _.",
		Args: exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error { return o.to.explained(o.run(c, args[0])) },
	}
	o.to.adminFlags(c)
	tenantFlag(c, &o.to, &o.tenant)
	f := c.Flags()
	f.DurationVar(&o.grace, "grace", 24*time.Hour, "how long the old one works; 0 ends it at once")
	f.DurationVar(&o.expiresIn, "expires-in", 0, "how long the new one works (default: as long as the old one was made for)")
	return c
}

func (o *keyRotate) run(c *cobra.Command, id string) error {
	if o.expiresIn < 0 || o.grace < 0 {
		return usageError{errors.New("--expires-in and --grace must not be negative")}
	}
	body := struct {
		ExpiresIn string `json:"expires_in,omitempty"`
		Grace     string `json:"grace"`
	}{lasting(o.expiresIn), o.grace.String()}
	return o.to.hinted(o.tenant, makeKey(c, o.to, object(keysPath(o.tenant), id)+"/rotate", body))
}

func newKeysRevoke() *cobra.Command {
	var to server
	var tenant string
	var yes bool
	c := &cobra.Command{
		Use:   "revoke ID",
		Short: "End a key",
		Long: "End a key for ever. Instances know within 10 seconds. The ID is the part of a key between pk_ and the next _.\n" +
			"That it is revoked already is no error.",
		Args: exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return to.explained(to.hinted(tenant, revokeKey(c, to, tenant, args[0], yes)))
		},
	}
	to.adminFlags(c)
	tenantFlag(c, &to, &tenant)
	c.Flags().BoolVar(&yes, "yes", false, "revoke without asking")
	return c
}

func revokeKey(c *cobra.Command, to server, tenant, id string, yes bool) error {
	client, err := to.client()
	if err != nil {
		return err
	}
	path := object(keysPath(tenant), id)
	a, err := client.Get(c.Context(), path, nil)
	if err != nil {
		return err
	}
	var k adminclient.Key
	if err := a.Decode(&k); err != nil {
		return err
	}
	how := "was revoked before"
	if k.State != "revoked" {
		if err := newScreen(c).confirm(yes, strings.TrimSpace("This ends key "+id+" "+k.Name)); err != nil {
			return err
		}
		how = "revoked"
	}
	if _, err := client.Delete(c.Context(), path); err != nil {
		return err
	}
	if to.asJSON {
		return nil // the server's answer is empty
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "key %s: %s\n", id, how)
	return err
}

// hinted adds where else a key may be that was not found.
func (s *server) hinted(tenant string, err error) error {
	if tenant == "" && exitCode(err) == exitNotFound {
		return fmt.Errorf("%w (of a tenant's key say --tenant)", err)
	}
	return err
}
