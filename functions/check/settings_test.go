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
	if want := (settings{stateTable: "state", configTable: "config", secret: "s3cret"}); err != nil || got != want {
		t.Errorf("settings %+v, %v; want %+v", got, err, want)
	}
	got, err = readSettings(environment(append(complete, "PENSTOCK_MAX_INSTANCES=50")...))
	if err != nil || got.instances != 50 {
		t.Errorf("instances %d, %v; want 50", got.instances, err)
	}
}

func TestFaultsOfTheEnvironmentAreAllNamed(t *testing.T) {
	_, err := readSettings(environment("PENSTOCK_MAX_INSTANCES=none"))
	for _, name := range []string{"PENSTOCK_STATE_TABLE", "PENSTOCK_CONFIG_TABLE", "PENSTOCK_SECRET", "PENSTOCK_MAX_INSTANCES"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v does not name %s", err, name)
		}
	}
	for _, n := range []string{"0", "-1", "1.5", "ten"} {
		_, err := readSettings(environment("PENSTOCK_STATE_TABLE=s", "PENSTOCK_CONFIG_TABLE=c", "PENSTOCK_SECRET=x", "PENSTOCK_MAX_INSTANCES="+n))
		if err == nil {
			t.Errorf("PENSTOCK_MAX_INSTANCES=%s is taken", n)
		}
	}
}
