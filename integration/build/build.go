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

// Bootstrap builds a Lambda function for this machine's processor, by the Makefile and so
// with the flags of the one that is deployed, and returns its path. The package is given
// from the module's root: "./functions/check".
func Bootstrap(ctx context.Context, pkg, dir string) (string, error) {
	out := filepath.Join(dir, "bootstrap")
	return out, run(ctx, "make", "--no-print-directory", "bootstrap",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "PACKAGE="+pkg, "OUT="+out)
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
