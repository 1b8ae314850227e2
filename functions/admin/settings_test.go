package main

import (
	"strings"
	"testing"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestSettings(t *testing.T) {
	got, err := readSettings(environment(map[string]string{
		"PENSTOCK_STATE_TABLE": "state", "PENSTOCK_CONFIG_TABLE": "config", "PENSTOCK_SECRET": "s3cret", "PENSTOCK_ADMIN_KEY": "0123456789abcdef",
	}))
	if want := (settings{"state", "config", "s3cret", "0123456789abcdef"}); err != nil || got != want {
		t.Errorf("settings %+v, %v; want %+v", got, err, want)
	}
}

func TestFaultsOfTheEnvironmentAreAllNamed(t *testing.T) {
	for _, key := range []string{"", "0123456789abcde"} {
		_, err := readSettings(environment(map[string]string{"PENSTOCK_ADMIN_KEY": key}))
		for _, name := range []string{"PENSTOCK_STATE_TABLE", "PENSTOCK_CONFIG_TABLE", "PENSTOCK_SECRET", "PENSTOCK_ADMIN_KEY"} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v does not name %s", err, name)
			}
		}
	}
}
