package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/seed43908478/penstock/engine"
)

// A scratch is the memory that one request is read and answered in.
type scratch struct {
	body     bytes.Buffer
	limited  io.LimitedReader
	document document
	request  checkRequest
	answer   object
	fields   fields
}

var scratches = sync.Pool{New: func() any { return &scratch{document: newDocument()} }}

// maxKept is how much memory a scratch may take along to its next request.
const maxKept = maxCheckBody

func newScratch() *scratch {
	sc := scratches.Get().(*scratch)
	sc.body.Reset()
	sc.answer.text = sc.answer.text[:0]
	return sc
}

func (sc *scratch) release() {
	sc.limited.R, sc.request = nil, checkRequest{}
	if sc.body.Cap() <= maxKept && cap(sc.answer.text) <= maxKept {
		scratches.Put(sc)
	}
}

// check answers POST /v1/check.
func (s *server) check(w http.ResponseWriter, r *http.Request) {
	sc := newScratch()
	defer sc.release()
	c, err := s.readCheck(r, sc)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d, err := s.decide(r.Context(), c)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	k := kindOf(c, d)
	sc.answer.open()
	s.answer(&sc.answer, k, c, d)
	sc.answer.close()
	s.setFields(w.Header(), &sc.fields, k, d)
	status, contentType := http.StatusOK, jsonType
	if k != nil {
		status, contentType = k.status, problemType
	}
	respond(w, status, contentType, append(sc.answer.text, '\n'))
}

// readCheck finds out who calls and what is asked.
func (s *server) readCheck(r *http.Request, sc *scratch) (*checkRequest, error) {
	who, err := s.identify(r)
	if err != nil {
		return nil, err
	}
	if err := sc.readBody(r, maxCheckBody); err != nil {
		return nil, err
	}
	d := &sc.document
	d.begin(&sc.body)
	sc.request, err = d.check(who)
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return nil, err
	}
	if p := d.invalid(); p != nil {
		return nil, p
	}
	return &sc.request, who.admit(sc.request.Tenant)
}

// decide decides a check that may be made.
func (s *server) decide(ctx context.Context, c *checkRequest) (*engine.Decision, error) {
	items, err := s.plans.Match(ctx, c.Request)
	if err != nil {
		return nil, err
	}
	d, err := s.decider.Decide(ctx, engine.Call{Items: items, Cost: c.cost, RequestID: c.requestID})
	return &d, err
}

// kindOf returns the problem that a decision is to its caller; nil when it is none.
// Looking (cost 0) never is.
func kindOf(c *checkRequest, d *engine.Decision) *kind {
	switch {
	case d.Allowed || c.cost == 0:
		return nil
	case d.Reason == engine.StoreError:
		return reducedCapacity
	}
	return quotaExceeded
}
