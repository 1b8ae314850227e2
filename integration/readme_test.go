package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A console example of the README: a command, and what it prints.
type example struct{ command, output string }

// The console blocks of the README are run in their order, against one server, and print
// what the README says. Numbers and dates are those of the day.
func TestReadmeTellsTheTruth(t *testing.T) {
	tellsTheTruth(t, "README.md", serve(t, []string{readmeKey}))
}

func TestGuideTellsTheTruth(t *testing.T) {
	config, err := filepath.Abs("../docs/guide.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tellsTheTruth(t, "docs/guide.md", serve(t, nil, "--config", config))
}

func tellsTheTruth(t *testing.T, file string, s *server) {
	t.Helper()
	examples := readExamples(t, filepath.Join("..", file))
	if len(examples) < 4 {
		t.Fatalf("only %d examples", len(examples))
	}
	for _, e := range examples {
		var got string
		if e.command == "go run ./cmd/penstock serve" {
			got = strings.ReplaceAll(times.ReplaceAllString(strings.TrimSpace(s.stderr.String()), ""), s.url, "http://127.0.0.1:8080")
		} else {
			got = runExample(t, s, e.command)
		}
		if anyDay(got) != anyDay(e.output) {
			t.Errorf("$ %s\nprints\n%s\n%s says\n%s", e.command, got, file, e.output)
		}
	}
}

// readmeKey is the administrator's, which the README says both are to have.
const readmeKey = "PENSTOCK_ADMIN_KEY=the key of whoever reads the README"

// readExamples returns the commands of the console blocks of a file, each with the lines up to the next.
func readExamples(t *testing.T, path string) (all []example) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for command := range strings.SplitSeq(strings.TrimPrefix(block[1], "$ "), "\n$ ") {
			first, output, _ := strings.Cut(command, "\n")
			all = append(all, example{first, strings.TrimSpace(output)})
		}
	}
	return all
}

// runExample runs a command of the README in the repository, with penstock on the PATH.
func runExample(t *testing.T, s *server, command string) string {
	t.Helper()
	binary, err := built.penstock()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(command, "http://127.0.0.1:8080", s.url))
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "PENSTOCK_URL="+s.url, readmeKey, fmt.Sprintf("PATH=%s%c%s", filepath.Dir(binary), filepath.ListSeparator, os.Getenv("PATH")))
	out, err := cmd.CombinedOutput() // an exit code is part of some examples
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.ReplaceAll(string(out), "\r", ""))
}

var (
	times   = regexp.MustCompile(`(?m)^time=\S+ `)
	dates   = regexp.MustCompile(`(?m)^Date: .*$`)
	receipt = regexp.MustCompile(`"receipt":"[\w-]+"`)
	numbers = regexp.MustCompile(`\d+(\.\d+)?`)
)

// anyDay blanks what differs from run to run.
func anyDay(s string) string {
	s = receipt.ReplaceAllString(dates.ReplaceAllString(s, "Date: …"), `"receipt":"…"`)
	return numbers.ReplaceAllString(s, "N")
}
