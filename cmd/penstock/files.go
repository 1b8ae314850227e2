package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/seed43908478/penstock/quota"
)

// readFile reads a file, or standard input when it is called -.
func readFile(in io.Reader, path string) ([]byte, error) {
	if path != "-" {
		return os.ReadFile(path)
	}
	return io.ReadAll(in)
}

// readConfig reads and checks a configuration file. Its errors begin with file and line,
// and so do warnings, which go to standard error.
func readConfig(in io.Reader, warnTo io.Writer, path string) (quota.Config, error) {
	data, err := readFile(in, path)
	if err != nil {
		return quota.Config{}, err
	}
	c, warnings, err := quota.CheckYAML(data)
	for _, w := range warnings {
		fmt.Fprintln(warnTo, "warning: "+w.In(path))
	}
	return c, inFile(path, err)
}

// readPart reads a plan or a tenant. Its errors begin with file and line.
func readPart[T any](in io.Reader, path string, read func([]byte) (T, error)) (part T, err error) {
	data, err := readFile(in, path)
	if err != nil {
		return part, err
	}
	part, err = read(data)
	return part, inFile(path, err)
}

func inFile(path string, err error) error {
	if problems, ok := errors.AsType[quota.Problems](err); ok {
		return fmt.Errorf("the configuration has errors:\n%s", problems.In(path))
	}
	return err
}
