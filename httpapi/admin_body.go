package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// How long a body may be.
const (
	maxAdminBody  = 1 << 20
	maxConfigBody = 32 << 20
)

// read reads the body of a request into a struct, strictly: no members that are not
// its own, none twice, no null, nothing after it.
func (c *adminCall) read(into any, most int64) error {
	sc := newScratch()
	defer sc.release()
	if err := sc.readBody(c.Request, most); err != nil {
		return err
	}
	data := sc.body.Bytes()
	if err := noNulls(data); err != nil {
		return err
	}
	return misfit(json.Unmarshal(data, into, json.RejectUnknownMembers(true)))
}

// readIfAny is read for a request that needs no body.
func (c *adminCall) readIfAny(into any) error {
	if c.ContentLength == 0 || c.Body == nil {
		return nil
	}
	return c.read(into, maxAdminBody)
}

// noNulls checks that data is one JSON object, and that no member of it is null: what
// there is not is left out.
func noNulls(data []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	if kind := d.PeekKind(); kind != '{' && kind != 0 {
		return &problem{kind: invalidRequest, detail: "The body must be a JSON object, not " + kindName(kind) + "."}
	}
	var faults []fault
	for depth := -1; depth != 0; depth = d.StackDepth() {
		token, err := d.ReadToken()
		if err != nil {
			return adminGrammar(err)
		}
		if token.Kind() == 'n' {
			faults = append(faults, fault{pathAt(d.StackPointer()), "must not be null; leave it out instead"})
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return &problem{kind: invalidRequest, detail: "Something follows the JSON document; send one object only."}
	}
	return faulted(faults)
}

// adminGrammar is grammar with the members of configurations.
func adminGrammar(err error) error {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok || !errors.Is(err, jsontext.ErrDuplicateName) {
		return grammar(err)
	}
	return faulted([]fault{{pathAt(syntax.JSONPointer), "is there twice; keep one"}})
}

// misfit is what a caller is told of JSON that does not fit a struct.
func misfit(err error) error {
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err
	}
	f := fault{member: pathAt(e.JSONPointer)}
	switch {
	case errors.Is(err, json.ErrUnknownName):
		f.detail = "is not a member here; those are " + strings.Join(membersOf(e.GoType), ", ")
	case e.JSONKind == '0' && isInteger(e.GoType):
		f.detail = fmt.Sprintf("must be a whole number such as 100, not %s", clip(string(e.JSONValue)))
	default:
		f.detail = wrongKind(wanted(e.GoType), e.JSONKind)
	}
	return faulted([]fault{f})
}

func isInteger(t reflect.Type) bool { return t != nil && t.Kind() == reflect.Int64 }

// wanted says what JSON a type is written as.
func wanted(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "another value"
	}
}

// membersOf are the names of a struct's members.
func membersOf(t reflect.Type) (names []string) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// pathAt says a JSON pointer as members are named in problems: "tenants.acme.limits[0].quota".
func pathAt(at jsontext.Pointer) string {
	var b strings.Builder
	last := ""
	for token := range at.Tokens() {
		_, err := strconv.ParseUint(token, 10, 31)
		switch {
		case err == nil && isList(last):
			b.WriteString("[" + token + "]")
		case !isWord(token):
			fmt.Fprintf(&b, "[%q]", clip(token))
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
		last = token
	}
	return b.String()
}

// isList reports whether a member of that name is an array.
func isList(name string) bool { return name == "limits" || name == "by" || name == "scopes" }

// isWord reports whether a name needs no quotes in a path.
func isWord(name string) bool {
	return name != "" && len(name) <= maxTenant && strings.IndexFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	}) < 0
}
