package integration_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed43908478/penstock/store/dynamo/dynamotest"
)

// anHourAhead is a DynamoDB by whose clock this machine's is an hour behind.
func anHourAhead(t *testing.T) string {
	t.Helper()
	return dynamotest.Proxy(t, func(h http.Header) { dynamotest.Ahead(h, time.Hour) })
}

// wantByTheClockOfDynamoDB is a refusal of 1 an hour in the first minutes of that hour by
// this machine's clock, when the one call was an hour later.
func (a answer) wantByTheClockOfDynamoDB(t *testing.T) {
	t.Helper()
	a.want(t, http.StatusTooManyRequests, "source", "store")
	if retry, ok := a.body["retry_after_ms"].(float64); !ok || retry < float64(110*time.Minute/time.Millisecond) {
		t.Errorf("retry after %v ms; want two hours", a.body["retry_after_ms"])
	}
}

func TestServeKeepsTheTimeOfDynamoDB(t *testing.T) {
	d := deploy(t, limited(window(1)))
	d.env = append(d.env, awsEnv...)
	corrected := serve(t, append(d.env, "AWS_ENDPOINT_URL_DYNAMODB="+anHourAhead(t)), "--store", "dynamodb")
	if says := corrected.stderr.String(); !strings.Contains(says, "the clock differs from DynamoDB's") {
		t.Errorf("it does not say that its clock is corrected:\n%s", says)
	}
	corrected.check(t, "", ask("bob")).want(t, http.StatusOK)
	serve(t, d.env, "--store", "dynamodb").check(t, "", ask("bob")).wantByTheClockOfDynamoDB(t)
}

func TestTheCheckFunctionKeepsTheTimeOfDynamoDB(t *testing.T) {
	d := deploy(t, limited(window(1)))
	corrected := launch(t, append(d.env, "AWS_ENDPOINT_URL_DYNAMODB="+anHourAhead(t))...)
	for _, subject := range []string{"one", "two", "three", "four", "five", "six", "bob"} { // three quick answers correct its clock
		invoke(t, corrected, signed(t, ask(subject))).want(t, http.StatusOK)
	}
	invoke(t, launch(t, d.env...), signed(t, ask("bob"))).wantByTheClockOfDynamoDB(t)
}
