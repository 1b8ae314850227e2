package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/quota/internal/strictyaml"
)

// maxFile is the size of a file that is read: a ConfigMap of Kubernetes, in which
// Envoy's rules usually are, holds no more either.
const maxFile = 1 << 20

// problem is the error that has one problem.
func problem(line, column int, format string, args ...any) error {
	return quota.Problems{{Line: line, Column: column, Text: fmt.Sprintf(format, args...)}}
}

// tooLarge reports a file that is not read.
func tooLarge(data []byte) error {
	if len(data) > maxFile {
		return problem(0, 0, "the file has %d bytes: at most %d are read; split it", len(data), maxFile)
	}
	return nil
}

// asProblem returns what is wrong with a document as a problem.
func asProblem(err error) error {
	if fault, ok := errors.AsType[*strictyaml.DocumentError](err); ok {
		return problem(fault.Line, fault.Column, "%s", fault.Text)
	}
	return err
}

// words are what is said of both formats.
var words = &strictyaml.Words{
	Empty:  "the file is empty: it must have a domain and descriptors",
	Second: "a second document begins here, which Envoy does not read: put it into a file of its own",
	Syntax: func(e *yaml.LoadError) string {
		return "not YAML: " + strictyaml.Message(e) + `; indent with spaces, and write a value that begins with * in quotes, as in "*"`
	},
	Alias:  `is an alias, which is not read: write the value out; a * that stands for itself is written in quotes, as in "*"`,
	Anchor: "has the anchor %.40q, which is not read: remove it, and write the value out where it is used",
	Tag:    "has the tag %.40q, which is not read: remove it",
	Name:   "has a name that is not a word: write it as text",
	List:   "a list",
}

// yamlDocument returns the root of the one document in data.
func yamlDocument(data []byte) (*yaml.Node, error) {
	if err := tooLarge(data); err != nil {
		return nil, err
	}
	root, err := strictyaml.Document(data, words)
	return root, asProblem(err)
}

// maxDepth is how deep JSON may be nested.
const maxDepth = 100

// jsonDocument returns the root of JSON as if it had been read from YAML, so that both
// have positions. A parser of YAML does not read all of JSON: not "\ud83d\ude00".
func jsonDocument(data []byte) (*yaml.Node, error) {
	if err := tooLarge(data); err != nil {
		return nil, err
	}
	if err := strictyaml.Readable(data); err != nil {
		return nil, asProblem(err)
	}
	j := jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1, column: 1}
	j.decoder.UseNumber()
	root, err := j.value(0)
	if err != nil {
		return nil, j.syntaxError(err)
	}
	if _, err := j.token(); !errors.Is(err, io.EOF) {
		return nil, problem(j.line, j.column, "there is more after the end of the JSON: remove it")
	}
	return root, nil
}

type jsonReader struct {
	data         []byte
	decoder      *json.Decoder
	at           int // up to where line and column are counted
	line, column int
}

// token returns the next token; line and column are where it begins.
func (j *jsonReader) token() (json.Token, error) {
	j.advance(int(j.decoder.InputOffset()))
	for j.at < len(j.data) && strings.IndexByte(" \t\r\n:,", j.data[j.at]) >= 0 {
		j.advance(j.at + 1)
	}
	return j.decoder.Token()
}

func (j *jsonReader) advance(to int) {
	for ; j.at < min(to, len(j.data)); j.at++ {
		j.column++
		if j.data[j.at] == '\n' {
			j.line, j.column = j.line+1, 1
		}
	}
}

func (j *jsonReader) syntaxError(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		j.advance(int(e.Offset) - 1)
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it ends too soon")
	}
	return problem(j.line, j.column, "not JSON: %s; write it with: aws apigateway get-usage-plans --output json", err)
}

var errTooDeep = fmt.Errorf("it is nested deeper than %d", maxDepth)

func (j *jsonReader) value(depth int) (*yaml.Node, error) {
	t, err := j.token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, errTooDeep
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: j.line, Column: j.column}
	switch t := t.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if t == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		return n, j.contents(n, depth)
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Tag, n.Value = "!!float", t.String()
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(t)
	case nil:
		n.Tag = "!!null"
	}
	return n, nil
}

// contents reads what is in an object, keys and values in turn, or in an array, and its end.
func (j *jsonReader) contents(n *yaml.Node, depth int) error {
	for j.decoder.More() {
		v, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, v)
	}
	_, err := j.token()
	return err
}
