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

// by is who has a server make a change at its start: "alice@laptop".
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

// findConfig reads the named file, else penstock.yaml here, else returns the example.
func findConfig(path string) (c quota.Config, from string, err error) {
	if path == "" {
		if _, err := os.Stat(defaultConfig); errors.Is(err, fs.ErrNotExist) {
			return quota.Example(), "", nil
		}
		path = defaultConfig
	}
	c, err = readConfig(os.Stdin, os.Stderr, path)
	return c, path, err
}
