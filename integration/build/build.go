// Package build makes the binaries that the tests and measurements in integration run.
package build

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Function builds a Lambda function as SAM does, by the Makefile's target for its logical
// id in template.yaml, but for this machine's processor. It returns the bootstrap's path.
func Function(ctx context.Context, logicalID, dir string) (string, error) {
	return filepath.Join(dir, "bootstrap"), makeTarget(ctx, "build-"+logicalID, "ARTIFACTS_DIR="+dir)
}

// Bootstrap builds any package as a Lambda function, with the same flags, and returns its
// path. The package is given from the module's root: "./integration/coldstart/hello".
func Bootstrap(ctx context.Context, pkg, dir string) (string, error) {
	out := filepath.Join(dir, "bootstrap")
	return out, makeTarget(ctx, "bootstrap", "PACKAGE="+pkg, "OUT="+out)
}

// makeTarget has the Makefile, which has the flags of production, make something for this machine.
func makeTarget(ctx context.Context, target string, variables ...string) error {
	return run(ctx, "make", append([]string{"--no-print-directory", target, "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH}, variables...)...)
}

// Command builds a command as go install would, and returns its path.
func Command(ctx context.Context, pkg, dir string) (string, error) {
	out := filepath.Join(dir, filepath.Base(pkg))
	return out, run(ctx, "go", "build", "-buildvcs=false", "-o", out, pkg)
}

// run runs a command in the module's root.
func run(ctx context.Context, name string, args ...string) error {
	gomod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(gomod)))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
