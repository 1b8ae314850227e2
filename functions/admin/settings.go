package main

import (
	"github.com/seed43908478/penstock/functions/internal/lambdaenv"
	"github.com/seed43908478/penstock/httpapi"
)

// settings are what template.yaml tells the function.
type settings struct{ stateTable, configTable, secret, adminKey string }

// readSettings reads the environment. The error names everything that is wrong with it.
func readSettings(getenv func(string) string) (settings, error) {
	v := lambdaenv.NewVariables(getenv)
	s := settings{
		stateTable:  v.Required("PENSTOCK_STATE_TABLE"),
		configTable: v.Required("PENSTOCK_CONFIG_TABLE"),
		secret:      v.Required("PENSTOCK_SECRET"),
		adminKey:    v.Required("PENSTOCK_ADMIN_KEY"),
	}
	if n := len(s.adminKey); n > 0 && n < httpapi.MinAdminKey {
		v.Fault("PENSTOCK_ADMIN_KEY has %d characters: it must have %d at least", n, httpapi.MinAdminKey)
	}
	return s, v.Err()
}
