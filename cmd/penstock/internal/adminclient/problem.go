package adminclient

import (
	"cmp"
	"net/http"
	"strings"
)

// A ProblemError is an answer that says no (RFC 9457).
type ProblemError struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Faults are the members of what was sent that are wrong.
	Faults []Fault `json:"errors"`
	// RequestID is by what the server's log has it.
	RequestID string `json:"-"`
}

// A Fault is what is wrong with one member: "limits[0].quota", "must be at least 1, not 0".
type Fault struct {
	Member string `json:"member"`
	Detail string `json:"detail"`
}

// Error says what is wrong and what to do: faults one a line, else the detail.
func (p *ProblemError) Error() string {
	text := cmp.Or(p.Detail, p.Title, http.StatusText(p.Status), "the server said no")
	if len(p.Faults) > 0 {
		lines := []string{"the server refuses this:"}
		for _, f := range p.Faults {
			lines = append(lines, "  "+f.String())
		}
		text = strings.Join(lines, "\n")
	}
	if p.Status >= 500 && p.RequestID != "" {
		text += " (request " + p.RequestID + ")"
	}
	return text
}

// String returns "limits[0].quota: must be at least 1, not 0".
func (f Fault) String() string {
	if f.Member == "" {
		return f.Detail
	}
	return f.Member + ": " + f.Detail
}
