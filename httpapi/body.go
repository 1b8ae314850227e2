package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// How long a body may be.
const (
	maxCheckBody = 64 << 10
	maxBatchBody = 256 << 10
)

// readBody reads the body of a request, at most so many bytes of it, into the scratch.
func (sc *scratch) readBody(r *http.Request, most int64) error {
	if err := acceptsType(r.Header); err != nil {
		return err
	}
	if r.ContentLength > most {
		return bodyTooLarge(most)
	}
	if r.Body == nil { // made by hand: no server does that
		return nil
	}
	sc.limited = io.LimitedReader{R: r.Body, N: most + 1}
	n, err := sc.body.ReadFrom(&sc.limited)
	if _, tooBig := errors.AsType[*http.MaxBytesError](err); n > most || tooBig {
		return bodyTooLarge(most)
	}
	if err != nil {
		return &problem{kind: invalidRequest, detail: "The body could not be read to its end."}
	}
	return nil
}

func bodyTooLarge(most int64) *problem {
	return &problem{kind: tooLarge, detail: fmt.Sprintf("The body may have %d KB at most.", most>>10)}
}

// acceptsType checks that a body is what we can read: JSON, in UTF-8, not compressed.
func acceptsType(h http.Header) error {
	if encoding := strings.Join(h["Content-Encoding"], ","); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &problem{kind: unsupportedMedia, detail: "The body must not be compressed: leave the header Content-Encoding out."}
	}
	switch types := h["Content-Type"]; {
	case len(types) == 1 && (types[0] == "application/json" || isJSON(types[0])):
		return nil
	case len(types) == 0:
		return &problem{kind: unsupportedMedia, detail: "The header Content-Type is missing; it must be application/json."}
	}
	return &problem{kind: unsupportedMedia, detail: "The header Content-Type must be application/json, once, in UTF-8."}
}

func isJSON(contentType string) bool {
	name, parameters, err := mime.ParseMediaType(contentType)
	charset, given := parameters["charset"]
	return err == nil && name == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}
