package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A document reads the JSON of a request strictly. What is wrong with its grammar,
// and a member that is there twice, ends the reading with an error. What is wrong
// with a member's value is a fault: it is noted, and the reading goes on.
type document struct {
	dec     *jsontext.Decoder
	member  []byte // the name last read
	value   []byte // the string last read, when it had escapes
	faults  []fault
	dropped int // faults too many to tell
}

// maxFaults is how many faults one answer tells.
const maxFaults = 16

func newDocument() document { return document{dec: jsontext.NewDecoder(new(bytes.Buffer))} }

// begin reads afresh.
func (d *document) begin(text *bytes.Buffer) {
	d.dec.Reset(text)
	d.faults, d.dropped = d.faults[:0], 0
}

func (d *document) fault(member, detail string) {
	if len(d.faults) == maxFaults {
		d.dropped++
		return
	}
	d.faults = append(d.faults, fault{member, detail})
}

// invalid returns the problem that the faults so far are, nil when there are none.
func (d *document) invalid() *problem {
	if len(d.faults) == 0 {
		return nil
	}
	p := &problem{kind: invalidRequest, faults: append([]fault(nil), d.faults...)}
	var b strings.Builder
	for i, f := range p.faults {
		if i > 0 {
			b.WriteString("; ")
		}
		if f.member != "" {
			b.WriteString(f.member + " ")
		}
		b.WriteString(f.detail)
	}
	if d.dropped > 0 {
		fmt.Fprintf(&b, "; and %d more", d.dropped)
	}
	p.detail = b.String() + "."
	return p
}

// kind returns the kind of the next value.
func (d *document) kind() jsontext.Kind { return d.dec.PeekKind() }

// open reads the beginning of the object or array that is next.
func (d *document) open() error { return d.delimiter() }

// close reads the end of an object or array, or returns what is wrong there.
func (d *document) close() error { return d.delimiter() }

func (d *document) delimiter() error {
	_, err := d.dec.ReadToken()
	return grammar(err)
}

// more tells whether another member of an object follows.
func (d *document) more() bool { return d.dec.PeekKind() == '"' }

// name reads the name of a member. It is valid until the next one.
func (d *document) name() ([]byte, error) {
	quoted, err := d.dec.ReadValue()
	if err != nil {
		return nil, grammar(err)
	}
	d.member, err = jsontext.AppendUnquote(d.member[:0], quoted)
	return d.member, err
}

// skip passes over a value.
func (d *document) skip() error { return grammar(d.dec.SkipValue()) }

// end checks that nothing follows.
func (d *document) end() error {
	_, err := d.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		return &problem{kind: invalidRequest, detail: "Something follows the JSON document; send one object only."}
	}
	return grammar(err)
}

// str reads a string. ok is false, with a fault noted, when the value is something else.
func (d *document) str(member string) (s []byte, ok bool, err error) {
	v, err := d.dec.ReadValue()
	if err != nil {
		return nil, false, grammar(err)
	}
	if v.Kind() != '"' {
		d.fault(member, wrongKind("a string", v.Kind()))
		return nil, false, nil
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner, true, nil
	}
	d.value, err = jsontext.AppendUnquote(d.value[:0], v)
	return d.value, err == nil, err
}

// integer reads a whole number from least to most, and notes a fault if it is something else.
func (d *document) integer(member string, least, most int64) (n int64, err error) {
	v, err := d.dec.ReadValue()
	if err != nil {
		return 0, grammar(err)
	}
	if v.Kind() != '0' {
		d.fault(member, wrongKind("a whole number", v.Kind()))
		return 0, nil
	}
	if bytes.ContainsAny(v, ".eE") {
		d.fault(member, "must be a whole number, written without a fraction or an exponent")
		return 0, nil
	}
	n, _ = strconv.ParseInt(string(v), 10, 64) // beyond 64 bits, n is the nearest that there is
	if n < least || n > most {
		d.fault(member, fmt.Sprintf("must be from %d to %d", least, most))
	}
	return n, nil
}

func wrongKind(want string, got jsontext.Kind) string {
	if got == 'n' {
		return "must be " + want + ", not null; leave it out instead"
	}
	return "must be " + want + ", not " + kindName(got)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	default:
		return "something else"
	}
}

// grammar returns what a caller is told of an error of the decoder.
func grammar(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return &problem{kind: invalidRequest, detail: "The body is empty; send a JSON object."}
	}
	p := &problem{kind: invalidRequest, detail: "The body is not JSON: it ends too early."}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return p
	}
	f := fault{member: memberAt(syntax.JSONPointer)}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		f.detail = "is there twice; keep one"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return p
	default:
		f.detail = fmt.Sprintf("is not JSON at byte %d: %s", syntax.ByteOffset, clip(syntax.Err.Error()))
	}
	if f.member == "" {
		p.detail = "The body " + f.detail + "."
		return p
	}
	p.detail, p.faults = f.member+" "+f.detail+".", []fault{f}
	return p
}

// memberAt says a JSON pointer as members are named in problems: "checks[3].cost". A
// request is 4 names deep at most; what lies deeper is named by where it begins.
func memberAt(at jsontext.Pointer) string {
	var b strings.Builder
	deep := 0
	for token := range at.Tokens() {
		_, err := strconv.ParseUint(token, 10, 31)
		switch {
		case err == nil && b.String() == "checks":
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
		if deep++; deep == 4 {
			break
		}
	}
	return clip(b.String())
}

// maxQuoted is how much of what a caller sent is sent back, in bytes.
const maxQuoted = 80

// clip cuts a text of the caller's to what is bearable.
func clip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	end := maxQuoted
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
