package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/seed43908478/penstock/functions/internal/authorizer"
)

// settings are what template.yaml tells the function.
type settings struct {
	stateTable, configTable, secret string
	// instances is 0 when it is not known how many there may be.
	instances int
	identity  authorizer.Identity
}

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
	}
	if n := getenv("PENSTOCK_MAX_INSTANCES"); n != "" {
		var err error
		if s.instances, err = strconv.Atoi(n); err != nil || s.instances < 1 {
			faults = append(faults, fmt.Errorf("PENSTOCK_MAX_INSTANCES is %q: it must be a number from 1", n))
		}
	}
	var err error
	if s.identity, err = authorizer.ParseIdentity(getenv("PENSTOCK_TENANT"), getenv("PENSTOCK_SUBJECT")); err != nil {
		faults = append(faults, fmt.Errorf("PENSTOCK_TENANT, PENSTOCK_SUBJECT: %w", err))
	}
	return s, errors.Join(faults...)
}
