package authorizer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed43908478/penstock/httpapi"
)

// answer is what a decision is told as. Values of the context are texts: a REST API takes no
// objects and lists, and makes texts of the rest.
func (c *call) answer(d httpapi.Checked) ([]byte, error) {
	context := make(map[string]any, len(d.Passed))
	for name, value := range d.Passed {
		context[name] = value
	}
	allowed := d.Status == http.StatusOK
	if c.arn == "" {
		return json.Marshal(events.APIGatewayV2CustomAuthorizerSimpleResponse{IsAuthorized: allowed, Context: context})
	}
	resource, err := policyResource(c.arn)
	if err != nil {
		return nil, err
	}
	effect := "Deny"
	if allowed {
		effect = "Allow"
	}
	return json.Marshal(events.APIGatewayCustomAuthorizerResponse{
		PrincipalID: d.Passed["tenant"],
		PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
			Version: "2012-10-17",
			Statement: []events.IAMPolicyStatement{
				{Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{resource}},
			},
		},
		Context: context,
	})
}

// maxPolicyResource is how long API Gateway lets the resource of a policy be.
const maxPolicyResource = 512

// policyResource is what the policy of a method is about: the method with this path, so that an
// answer that is kept against all advice is for nothing else. But a path can be 1,600 bytes, or
// hold "${…}", which IAM takes for a variable: neither would match, and an allowed call be refused
// as if a limit were used up. Then it is the method with any path.
func policyResource(arn string) (string, error) {
	if len(arn) <= maxPolicyResource && !strings.Contains(arn, "${") {
		return arn, nil
	}
	m, ok := parseMethod(arn)
	if !ok {
		return "", fmt.Errorf("%w: methodArn is %q", errEvent, arn)
	}
	return m.all, nil
}
