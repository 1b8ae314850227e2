package httpapi

import (
	"bytes"
	"context"
	"errors"
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
	receipt  charged
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
	s.decideOne(w, r, (*document).check)
}

// decideOne answers a request for one decision, which parse reads.
func (s *server) decideOne(w http.ResponseWriter, r *http.Request, parse func(*document, *checkRequest, caller) error) {
	sc := newScratch()
	defer sc.release()
	c, err := s.readCall(r, sc, parse)
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
	s.answer(sc, k, c, d)
	sc.answer.close()
	s.setFields(w.Header(), &sc.fields, k, d)
	status, contentType := http.StatusOK, jsonType
	if k != nil {
		status, contentType = k.status, problemType
	}
	respond(w, status, contentType, append(sc.answer.text, '\n'))
}

// readCall finds out who calls and what is asked.
func (s *server) readCall(r *http.Request, sc *scratch, parse func(*document, *checkRequest, caller) error) (*checkRequest, error) {
	who, err := s.read(r, sc, maxCheckBody, func(d *document, who caller) error {
		return parse(d, &sc.request, who)
	})
	if err != nil {
		return nil, err
	}
	return &sc.request, who.admit(sc.request.Tenant)
}

// read finds out who calls, and has parse read the body of the request, of at most so
// many bytes.
func (s *server) read(r *http.Request, sc *scratch, most int64, parse func(*document, caller) error) (caller, error) {
	who, err := s.identify(r)
	if err != nil {
		return who, err
	}
	if err := sc.readBody(r, most); err != nil {
		return who, err
	}
	d := &sc.document
	d.begin(&sc.body)
	if err := parse(d, who); err != nil {
		return who, err
	}
	if err := d.end(); err != nil {
		return who, err
	}
	if p := d.invalid(); p != nil {
		return who, p
	}
	return who, nil
}

// decide decides a call that may be made. Where a newer configuration has counted than the
// one in force here, that one is looked for, and what is found decides: a call is not kept
// waiting for what cannot be read.
func (s *server) decide(ctx context.Context, c *checkRequest) (*engine.Decision, error) {
	call := engine.Call{Tenant: c.Tenant, Cost: c.cost, RequestID: c.requestID, MaxWait: c.maxWait, Least: c.least, TTL: c.ttl}
	for {
		var err error
		if call.Items, err = s.plans.Match(ctx, c.Request); err != nil {
			return nil, err
		}
		d, err := s.decider.Decide(ctx, call)
		if call.AnyRevision || !errors.Is(err, engine.ErrOutdated) {
			return &d, err
		}
		call.AnyRevision = true
		if len(call.Items) > 0 {
			s.plans.Outdated(call.Items[0].Revision)
		}
	}
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
