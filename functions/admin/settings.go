package main

import (
	"errors"
	"fmt"

	"github.com/seed43908478/penstock/httpapi"
)

// settings are what template.yaml tells the function.
type settings struct{ stateTable, configTable, secret, adminKey string }

// readSettings reads the environment. The error names everything that is wrong with it.
func readSettings(getenv func(string) string) (settings, error) {
	var faults []error
	required := func(name string) string {
		value := getenv(name)
		if value == "" {
			faults = append(faults, fmt.Errorf("%s is not set", name))
		}
		return value
	}
	s := settings{
		stateTable:  required("PENSTOCK_STATE_TABLE"),
		configTable: required("PENSTOCK_CONFIG_TABLE"),
		secret:      required("PENSTOCK_SECRET"),
		adminKey:    required("PENSTOCK_ADMIN_KEY"),
	}
	if n := len(s.adminKey); n > 0 && n < httpapi.MinAdminKey {
		faults = append(faults, fmt.Errorf("PENSTOCK_ADMIN_KEY has %d characters: it must have %d at least", n, httpapi.MinAdminKey))
	}
	return s, errors.Join(faults...)
}
