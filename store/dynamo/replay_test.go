package dynamo

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestARequestCanBeSentAgainFromItsBeginning(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost", io.NopCloser(strings.NewReader("body")))
	if err != nil {
		t.Fatal(err)
	}
	if err := replayable(req); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if body, err := io.ReadAll(req.Body); err != nil || string(body) != "body" {
			t.Errorf("%q, %v", body, err)
		}
		if req.Body, err = req.GetBody(); err != nil {
			t.Fatal(err)
		}
	}
}
