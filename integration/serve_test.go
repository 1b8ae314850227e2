package integration_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

func TestServeNeedsNothing(t *testing.T) {
	s := serve(t, nil)
	if !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		t.Errorf("it listens on %s, want loopback only", s.url)
	}
	s.check(t, "", ask("user:42")).want(t, http.StatusOK, "allowed", true, "tenant", "acme", "limit", "per-user", "remaining", 19.0)
	for range 19 {
		s.check(t, "", object{"tenant": "globex", "resource": "POST /exports", "subject": "user:1"}).want(t, http.StatusOK)
	}
	s.check(t, "", object{"tenant": "initech", "resource": "GET /"}).want(t, http.StatusNotFound)
	if err := s.stop(t); err != nil {
		t.Errorf("asked to stop, it ended with %v\n%s", err, s.stderr.String())
	}
	if !strings.Contains(s.stderr.String(), "msg=stopping") {
		t.Errorf("it does not say that it stops:\n%s", s.stderr.String())
	}
}

// plan is a configuration file with one limit.
func plan(t *testing.T, limit string) string {
	t.Helper()
	return file(t, "plans:\n  free:\n    limits:\n      - "+limit+"\ntenants:\n  acme: {plan: free}\n")
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plans.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Four processes on one table, each told to create the tables and to apply the file: what
// they admit together is what the file says.
func TestServersShareOneTable(t *testing.T) {
	const servers, callers, calls, due = 4, 8, 10, 60
	for name, limit := range map[string]string{
		"bucket": "{name: daily, algorithm: token_bucket, quota: 60, period: day, burst: 60, on_store_error: deny}",
		"log":    "{name: hourly, algorithm: sliding_window_log, quota: 60, period: hour, on_store_error: deny}",
	} {
		t.Run(name, func(t *testing.T) {
			tables := []string{"PENSTOCK_STATE_TABLE=" + name + "-state", "PENSTOCK_CONFIG_TABLE=" + name + "-config"}
			env := append(append(tables, awsEnv...), "AWS_ENDPOINT_URL_DYNAMODB="+dynamotest.Endpoint(t))
			path := plan(t, limit)
			var mu sync.Mutex
			statuses := map[int]int{}
			var wg sync.WaitGroup
			for range servers {
				s := serve(t, env, "--store", "dynamodb", "--create-tables", "--config", path)
				for range callers {
					wg.Go(func() {
						for range calls {
							a, err := s.try(t.Context(), "", object{"tenant": "acme", "resource": "GET /"})
							if err != nil {
								t.Error(err)
								return
							}
							mu.Lock()
							statuses[a.status]++
							mu.Unlock()
						}
					})
				}
			}
			wg.Wait()
			// See TestManyInstancesAreExactTogether for what may be unknown.
			allowed, unknown := statuses[http.StatusOK], statuses[http.StatusServiceUnavailable]
			if allowed > due || allowed+unknown < due || allowed+unknown+statuses[http.StatusTooManyRequests] != servers*callers*calls {
				t.Errorf("statuses %v, want %d of 200 and the rest 429", statuses, due)
			}
		})
	}
}

func TestServeWithoutItsTables(t *testing.T) {
	begin := time.Now()
	env := append([]string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + dynamotest.Endpoint(t), "PENSTOCK_STATE_TABLE=nowhere-state", "PENSTOCK_CONFIG_TABLE=nowhere-config",
	}, awsEnv...)
	code, says := fails(t, env, "serve", "--store", "dynamodb", "--addr", "127.0.0.1:0")
	if code != 1 || !strings.Contains(says, "penstock: ") {
		t.Errorf("exit code %d, want 1; it says %q", code, says)
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("it took %s to say so", took)
	}
}

// printedKey is the key for checks that the server has printed, "" if none.
func (s *server) printedKey() string {
	_, after, _ := strings.Cut(s.stdout.String(), "A key that may check")
	return regexp.MustCompile(`pk_\S+|$`).FindString(after)
}

// Whom other machines can reach asks for keys, or does not start.
func TestServeBeyondThisMachine(t *testing.T) {
	code, says := fails(t, nil, "serve", "--addr", "0.0.0.0:0")
	if code == 0 || !strings.Contains(says, "--auth keys") {
		t.Errorf("exit code %d; it says %q, want what to add", code, says)
	}
	s := serve(t, []string{"PENSTOCK_SECRET=" + secret}, "--addr", "0.0.0.0:0", "--auth", "keys")
	s.url = strings.Replace(strings.Replace(s.url, "[::]", "127.0.0.1", 1), "0.0.0.0", "127.0.0.1", 1)
	s.check(t, "", ask("bob")).want(t, http.StatusUnauthorized)
	s.check(t, "pk_aaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaa_aaaaaaaaaaaaaaaa", ask("bob")).want(t, http.StatusUnauthorized)
	key := s.printedKey()
	if key == "" {
		t.Fatalf("it prints %q, want a key", s.stdout.String())
	}
	s.check(t, key, ask("bob")).want(t, http.StatusOK)
}

func TestServeSaysWhatIsWrong(t *testing.T) {
	broken := plan(t, "{name: daily, algorithm: token_bucket, quota: -5, period: day}")
	for name, test := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"a bad value":      {[]string{"serve", "--config", broken}, 1, []string{"plans.yaml:4", "quota"}},
		"not YAML":         {[]string{"serve", "--config", file(t, "plans:\n\tfree: {}\n")}, 1, []string{"plans.yaml:2"}},
		"an unknown limit": {[]string{"serve", "--config", plan(t, "{name: x, algorithm: guesswork, quota: 5, period: day}")}, 1, []string{"plans.yaml:4", "guesswork"}},
		"no such file":     {[]string{"serve", "--config", "absent.yaml"}, 1, []string{"absent.yaml"}},
		"an unknown store": {[]string{"serve", "--store", "redis"}, 2, []string{"redis", "dynamodb"}},
		"an unknown flag":  {[]string{"serve", "--prot", "80"}, 2, []string{"--prot", "--help"}},
		"a bad address":    {[]string{"serve", "--addr", "8080"}, 2, []string{"--addr"}},
		"bad auth":         {[]string{"serve", "--auth", "none"}, 2, []string{"--auth"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, says := fails(t, nil, test.args...)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, part := range test.says {
				if !strings.Contains(says, part) {
					t.Errorf("it says %q, without %q", says, part)
				}
			}
		})
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	s := serve(t, nil)
	if code, says := fails(t, nil, "serve", "--addr", strings.TrimPrefix(s.url, "http://")); code != 1 || !strings.Contains(says, "address already in use") {
		t.Errorf("exit code %d; it says %q", code, says)
	}
}

// What is kept in a data folder is there when the process is started again, also after
// it was killed; the key that was printed works on.
func TestServeKeepsItsData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	path := plan(t, "{name: per-user, by: [subject], algorithm: token_bucket, quota: 10, period: 1s, burst: 77}")
	first := serve(t, nil, "--data", dir, "--auth", "keys", "--config", path)
	key := first.printedKey()
	if key == "" {
		t.Fatalf("it prints %q, want a key", first.stdout.String())
	}
	first.check(t, key, ask("bob")).want(t, http.StatusOK, "remaining", 76.0)

	begin := time.Now()
	code, says := fails(t, nil, "serve", "--data", dir, "--addr", "127.0.0.1:0")
	if code != 1 || !strings.Contains(says, "in use by another process") {
		t.Errorf("a second process ends with %d and says %q", code, says)
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("it took %s to say so", took)
	}
	for _, end := range []func(){
		func() {
			if err := first.stop(t); err != nil {
				t.Error(err)
			}
		},
		func() {
			if err := first.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := <-first.ended; err == nil {
				t.Error("it was killed, and says that all is well")
			}
		},
	} {
		end()
		first = serve(t, nil, "--data", dir, "--auth", "keys")
		first.check(t, key, ask("alice")).want(t, http.StatusOK, "remaining", 76.0)
		if another := first.printedKey(); another != "" {
			t.Errorf("it prints %q, though there is a key", another)
		}
		if !strings.Contains(first.stderr.String(), `config="as it was kept`) {
			t.Errorf("it does not say what it has:\n%s", first.stderr.String())
		}
	}
}
