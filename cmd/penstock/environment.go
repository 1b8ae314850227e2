package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed43908478/penstock/configstore"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/store/dynamo"
	"github.com/seed43908478/penstock/store/dynamo/awsenv"
)

// defaultConfig is read when it is there and no other file is named.
const defaultConfig = "penstock.yaml"

// tables are the tables to use: PENSTOCK_STATE_TABLE and PENSTOCK_CONFIG_TABLE.
func tables() dynamo.Tables {
	return dynamo.Tables{
		State:  cmp.Or(os.Getenv("PENSTOCK_STATE_TABLE"), "penstock-state"),
		Config: cmp.Or(os.Getenv("PENSTOCK_CONFIG_TABLE"), "penstock-config"),
	}
}

// aws is where the tables are, by the usual AWS environment.
func aws(ctx context.Context) (*dynamodb.Client, error) {
	client, err := awsenv.LoadClient(ctx)
	if err != nil {
		return nil, fmt.Errorf("the AWS environment: %w", err)
	}
	return client, nil
}

// configTable is the configuration in the config table.
func configTable(ctx context.Context) (*configstore.Store, error) {
	client, err := aws(ctx)
	if err != nil {
		return nil, err
	}
	return configstore.New(dynamo.NewConfigTable(client, tables().Config), configstore.Options{}), nil
}

// by is who makes a change on this command line: "alice@laptop".
func by() configstore.By {
	who, host := "somebody", "somewhere"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return configstore.By{Who: who + "@" + host}
}

// readConfig reads and checks a configuration file. Its errors begin with file and line,
// and so do warnings, which go to standard error.
func readConfig(path string) (quota.Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return quota.Config{}, err
	}
	c, warnings, err := quota.CheckYAML(data)
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, "warning: "+w.In(path))
	}
	if problems, ok := errors.AsType[quota.Problems](err); ok {
		return quota.Config{}, fmt.Errorf("the configuration has errors:\n%s", problems.In(path))
	}
	return c, err
}

// findConfig reads the named file, else penstock.yaml here, else returns the example.
func findConfig(path string) (c quota.Config, from string, err error) {
	if path == "" {
		if _, err := os.Stat(defaultConfig); errors.Is(err, fs.ErrNotExist) {
			return quota.Example(), "", nil
		}
		path = defaultConfig
	}
	c, err = readConfig(path)
	return c, path, err
}
