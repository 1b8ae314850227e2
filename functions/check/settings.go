package main

import "github.com/seed43908478/penstock/functions/internal/lambdaenv"

// settings are what template.yaml tells the function.
type settings struct {
	stateTable, configTable, secret string
	// instances is 0 when it is not known how many there may be.
	instances int
}

// readSettings reads the environment. The error names everything that is wrong with it.
func readSettings(getenv func(string) string) (settings, error) {
	v := lambdaenv.NewVariables(getenv)
	s := settings{
		stateTable:  v.Required("PENSTOCK_STATE_TABLE"),
		configTable: v.Required("PENSTOCK_CONFIG_TABLE"),
		secret:      v.Required("PENSTOCK_SECRET"),
		instances:   v.Instances(),
	}
	return s, v.Err()
}
