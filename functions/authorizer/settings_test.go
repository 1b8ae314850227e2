package main

import (
	"strings"
	"testing"
)

func environment(lines ...string) func(string) string {
	return func(name string) string {
		for _, line := range lines {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestSettings(t *testing.T) {
	complete := []string{"PENSTOCK_STATE_TABLE=state", "PENSTOCK_CONFIG_TABLE=config", "PENSTOCK_SECRET=s3cret"}
	got, err := readSettings(environment(complete...))
	if err != nil || got.stateTable != "state" || got.configTable != "config" || got.secret != "s3cret" || got.instances != 0 {
		t.Errorf("settings %+v, %v", got, err)
	}
	got, err = readSettings(environment(append(complete, "PENSTOCK_MAX_INSTANCES=50", "PENSTOCK_TENANT=claim:tenant", "PENSTOCK_SUBJECT=claim:sub")...))
	if err != nil || got.instances != 50 {
		t.Errorf("settings %+v, %v", got, err)
	}
}

func TestFaultsOfTheEnvironmentAreAllNamed(t *testing.T) {
	_, err := readSettings(environment("PENSTOCK_MAX_INSTANCES=0", "PENSTOCK_TENANT=nobody", "PENSTOCK_SUBJECT=else"))
	for _, name := range []string{"PENSTOCK_STATE_TABLE", "PENSTOCK_CONFIG_TABLE", "PENSTOCK_SECRET", "PENSTOCK_MAX_INSTANCES", "PENSTOCK_TENANT", "PENSTOCK_SUBJECT", "nobody", "else"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v does not name %s", err, name)
		}
	}
}
