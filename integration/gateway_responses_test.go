package integration_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/seed43908478/penstock/apikey"
)

// A gatewayResponse is what a REST API says instead of its backend.
type gatewayResponse struct {
	StatusCode         int `yaml:"StatusCode"`
	ResponseParameters struct {
		Headers map[string]string `yaml:"Headers"`
	} `yaml:"ResponseParameters"`
	ResponseTemplates map[string]string `yaml:"ResponseTemplates"`
}

// attached is what the example says of its APIs.
type attached struct {
	Resources map[string]struct {
		Properties struct {
			Auth struct {
				Authorizers map[string]struct {
					FunctionPayloadType            string `yaml:"FunctionPayloadType"`
					AuthorizerPayloadFormatVersion string `yaml:"AuthorizerPayloadFormatVersion"`
					EnableSimpleResponses          bool   `yaml:"EnableSimpleResponses"`
					Identity                       struct {
						ReauthorizeEvery *int     `yaml:"ReauthorizeEvery"`
						Context          []string `yaml:"Context"`
					} `yaml:"Identity"`
				} `yaml:"Authorizers"`
			} `yaml:"Auth"`
			GatewayResponses map[string]gatewayResponse `yaml:"GatewayResponses"`
		} `yaml:"Properties"`
	} `yaml:"Resources"`
}

func attachedExample(t *testing.T) attached {
	t.Helper()
	data, err := os.ReadFile("../examples/authorizer/template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var a attached
	if err := yaml.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// contextVariable is what a template has replaced: that and nothing else.
var contextVariable = regexp.MustCompile(`\$context\.authorizer\.(\w+)`)

// respond answers as API Gateway documents it: a header is a literal in single quotes or one
// value of the context, and in the template values are put as they are.
func (g gatewayResponse) respond(t *testing.T, context map[string]string) (header map[string]string, body object) {
	t.Helper()
	header = map[string]string{}
	for name, mapping := range g.ResponseParameters.Headers {
		value, ok := strings.CutPrefix(mapping, "context.authorizer.")
		switch {
		case ok && context[value] != "":
			header[name] = context[value]
		case !ok && strings.HasPrefix(mapping, "'") && strings.HasSuffix(mapping, "'"):
			header[name] = strings.Trim(mapping, "'")
		default:
			t.Errorf("%s: %s is nothing that the authorizer passes on", name, mapping)
		}
	}
	text := contextVariable.ReplaceAllStringFunc(g.ResponseTemplates["application/json"], func(variable string) string {
		return context[contextVariable.FindStringSubmatch(variable)[1]]
	})
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Errorf("the body is not JSON: %v: %s", err, text)
	}
	return header, body
}

func TestARefusalIsA429WithItsFields(t *testing.T) {
	d := deploy(t, limited(bucket(1)))
	key := d.key(t, apikey.CheckOwn, "acme")
	f := launchFunction(t, built.authorizer, d.env...)
	admits(t, f, asks(t, "rest_request", key)).want(t, 200)
	refused := admits(t, f, asks(t, "rest_request", key))
	refused.want(t, 429)

	denied := attachedExample(t).Resources["RestApi"].Properties.GatewayResponses["ACCESS_DENIED"]
	header, body := denied.respond(t, refused.context)
	if denied.StatusCode != http.StatusTooManyRequests || body["status"] != 429.0 || body["type"] != "https://iana.org/assignments/http-problem-types#quota-exceeded" {
		t.Errorf("status %d, body %v", denied.StatusCode, body)
	}
	if policies, ok := body["violated-policies"].([]any); !ok || len(policies) != 1 || policies[0] != "per-user" || body["reason"] != "quota" {
		t.Errorf("body %v", body)
	}
	checked := invoke(t, launch(t, d.env...), keyed(t, "v2_check", key, object{"resource": "GET /pets/{id}"}))
	checked.want(t, 429)
	for _, name := range []string{"RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "Content-Type", "Cache-Control"} {
		if want := checked.header[strings.ToLower(name)]; want == "" || header[name] != want {
			t.Errorf("%s is %q; the check function says %q", name, header[name], want)
		}
	}
	for _, name := range []string{"Retry-After", "RateLimit", "X-RateLimit-Reset"} { // which tell a time
		if header[name] == "" || checked.header[strings.ToLower(name)] == "" {
			t.Errorf("%s is %q; the check function says %q", name, header[name], checked.header[strings.ToLower(name)])
		}
	}
}

func TestWhatIsNoRefusalIsNo429(t *testing.T) {
	responses := attachedExample(t).Resources["RestApi"].Properties.GatewayResponses
	for name, status := range map[string]int{"UNAUTHORIZED": 401, "AUTHORIZER_FAILURE": 503, "AUTHORIZER_CONFIGURATION_ERROR": 503} {
		header, body := responses[name].respond(t, nil)
		if responses[name].StatusCode != status || body["status"] != float64(status) || header["Content-Type"] != "application/problem+json" {
			t.Errorf("%s is %d: %v, %v", name, responses[name].StatusCode, header, body)
		}
	}
	if _, ok := responses["DEFAULT_4XX"]; ok {
		t.Error("DEFAULT_4XX would replace the others' status")
	}
}

// One decision must never serve another request, whatever the cache is set to.
func TestNoDecisionIsKept(t *testing.T) {
	for _, api := range []string{"RestApi", "HttpApi"} {
		authorizers := attachedExample(t).Resources[api].Properties.Auth.Authorizers
		if len(authorizers) != 1 {
			t.Fatalf("%s has %d authorizers", api, len(authorizers))
		}
		for _, a := range authorizers {
			if every := a.Identity.ReauthorizeEvery; every == nil || *every != 0 || len(a.Identity.Context) != 1 || a.Identity.Context[0] != "requestId" {
				t.Errorf("%s: identity %+v", api, a.Identity)
			}
			if api == "HttpApi" && (a.AuthorizerPayloadFormatVersion != "2.0" || !a.EnableSimpleResponses) || api == "RestApi" && a.FunctionPayloadType != "REQUEST" {
				t.Errorf("%s: %+v", api, a)
			}
		}
	}
}
