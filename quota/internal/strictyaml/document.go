// Package strictyaml reads YAML as a format of a few members: one document, no members
// that are unknown or there twice, no empty values, and nothing that makes a file mean more
// than it shows. What is wrong is said with where it is, all of it at once.
//
//	root, err := strictyaml.Document(data, words)
//	r := strictyaml.Reader{Words: words, Report: report}
//	r.Fields("", root, map[string]strictyaml.Field{"name": …, "limits": …})
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Words are what a format says in its own way.
type Words struct {
	Empty  string // of a file without a document
	Second string // of a second document
	// Syntax says what the parser found, and what to do.
	Syntax func(*yaml.LoadError) string

	Alias, Anchor, Tag string // of a value that is or has one; %q is the anchor or the tag
	Name               string // of a member whose name is not a word
	List               string // what a list is: "a list, as in [a, b]"
}

// A DocumentError is why a file is no document. Line and Column are from 1; 0 when not known.
type DocumentError struct {
	Line, Column int
	Text         string
}

func (f *DocumentError) Error() string { return f.Text }

// Document returns the root of the one document in data. The error is a [*DocumentError].
func Document(data []byte, words *Words) (*yaml.Node, error) {
	if err := Readable(data); err != nil {
		return nil, err
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, &DocumentError{Text: err.Error()}
	}
	var first, second yaml.Node
	switch err := loader.Load(&first); {
	case errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0:
		return nil, &DocumentError{1, 1, words.Empty}
	case err != nil:
		return nil, words.fault(err)
	}
	switch err := loader.Load(&second); {
	case err == nil:
		return nil, &DocumentError{second.Line, second.Column, words.Second}
	case !errors.Is(err, io.EOF):
		return nil, words.fault(err)
	}
	return first.Content[0], nil
}

func (w *Words) fault(err error) error {
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return &DocumentError{Text: "not YAML: " + err.Error()}
	}
	return &DocumentError{e.Mark.Line, e.Mark.Column, w.Syntax(e)}
}

// Message is what the parser says.
func Message(e *yaml.LoadError) string {
	if e.ContextMsg != "" {
		return e.ContextMsg + ": " + e.Message
	}
	return e.Message
}

// Readable finds the first line that is no text, which parsers refuse without saying
// where. The error is a [*DocumentError].
func Readable(data []byte) error {
	line := 1
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		switch {
		case c == utf8.RuneError && size == 1:
			return &DocumentError{line, 1, "is not UTF-8: save the file in that encoding"}
		case c < ' ' && c != '\t' && c != '\r' && c != '\n', c == 0x7f:
			return &DocumentError{line, 1, fmt.Sprintf("has the control character %U: remove it", c)}
		case c == '\n':
			line++
		}
		data = data[size:]
	}
	return nil
}
