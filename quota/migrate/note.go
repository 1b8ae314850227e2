package migrate

import (
	"cmp"
	"fmt"
	"slices"
)

// A Note is something an operator has to know of one place of the file that was read.
type Note struct {
	Kind Kind `json:"kind"`
	// Line is where, from 1.
	Line int `json:"line,omitzero"`
	// Path is the member of the file: "descriptors[0].rate_limit.unit".
	Path string `json:"path,omitempty"`
	// Plan and Limit are what was made of it; "" when nothing was, or when the note is of the whole.
	Plan  string `json:"plan,omitempty"`
	Limit string `json:"limit,omitempty"`
	Text  string `json:"text"`
}

// Kind says what a note means for the requests that are counted.
type Kind string

const (
	// NotExpressed: requests pass, or are refused, that would not be by the file.
	NotExpressed Kind = "not_expressed"
	// Approximated: the same is meant, and the note says when it comes out differently.
	Approximated Kind = "approximated"
	// Advice: nothing is lost; the note says what is left to do, or why it is as it is.
	Advice Kind = "advice"
)

// String returns the kind in words.
func (k Kind) String() string {
	if k == NotExpressed {
		return "not expressed"
	}
	return string(k)
}

// In returns the note with the name of the file, as compilers do.
func (n Note) In(file string) string {
	text := fmt.Sprintf("%s: %s", n.Kind, n.Text)
	if n.Path != "" {
		text = fmt.Sprintf("%s: %s: %s", n.Kind, n.Path, n.Text)
	}
	if n.Line == 0 {
		return file + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", file, n.Line, text)
}

// Count returns how many of the notes are of a kind.
func Count(notes []Note, k Kind) (count int) {
	for _, n := range notes {
		if n.Kind == k {
			count++
		}
	}
	return count
}

// byLine puts the notes in the order of the file.
func byLine(notes []Note) []Note {
	slices.SortStableFunc(notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	return notes
}

// place is where something stands in the file.
type place struct {
	line int
	path string
}

// note is a note of this place.
func (p place) note(k Kind, format string, args ...any) Note {
	return Note{Kind: k, Line: p.line, Path: p.path, Text: fmt.Sprintf(format, args...)}
}

// of is the same note, of a limit of a plan.
func (n Note) of(plan, limit string) Note {
	n.Plan, n.Limit = plan, limit
	return n
}
