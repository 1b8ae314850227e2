package httpapi

import (
	"fmt"
	"net/http"
)

// maxChecks is how many checks a batch may have.
const maxChecks = 25

// A batchEntry is a check of a batch, or why it is none.
type batchEntry struct {
	checkRequest
	problem error
}

// checks answers POST /v1/checks. All of it is read before anything is decided, so
// a document that is malformed charges nothing.
func (s *server) checks(w http.ResponseWriter, r *http.Request) {
	sc := newScratch()
	defer sc.release()
	entries, err := s.readChecks(r, sc)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	o := &sc.answer
	o.open()
	o.name("results")
	o.text = append(o.text, '[')
	for i := range entries {
		if i > 0 {
			o.text = append(o.text, ',')
		}
		o.open()
		s.answerEntry(r, sc, &entries[i])
		o.close()
	}
	o.text = append(o.text, ']')
	o.close()
	respond(w, http.StatusOK, jsonType, append(o.text, '\n'))
}

// answerEntry decides one check and appends the members of its result: those of the
// answer it would have got by itself, and the status.
func (s *server) answerEntry(r *http.Request, sc *scratch, e *batchEntry) {
	o := &sc.answer
	if e.problem != nil {
		o.problem(s.reported(r.Context(), e.problem))
		return
	}
	d, err := s.decide(r.Context(), &e.checkRequest)
	if err != nil {
		o.problem(s.reported(r.Context(), err))
		return
	}
	k := kindOf(&e.checkRequest, d)
	if k == nil {
		o.num("status", http.StatusOK)
	}
	s.answer(sc, k, &e.checkRequest, d)
}

// readChecks finds out who calls and what is asked.
func (s *server) readChecks(r *http.Request, sc *scratch) (entries []batchEntry, err error) {
	_, err = s.read(r, sc, maxBatchBody, func(d *document, who caller) (err error) {
		entries, err = d.batch(who)
		return err
	})
	return entries, err
}

// batch reads the document of a batch. Faults of the batch itself are noted; those of a
// check are its entry's.
func (d *document) batch(who caller) (entries []batchEntry, err error) {
	if !d.isObject("a batch") {
		return nil, d.skip()
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	found := false
	for d.more() {
		name, err := d.name()
		if err != nil {
			return nil, err
		}
		if string(name) != "checks" {
			d.fault(clip(string(name)), "is not a member of a batch; the only one is checks")
			err = d.skip()
		} else {
			found = true
			entries, err = d.batchEntries(who)
		}
		if err != nil {
			return nil, err
		}
	}
	if !found {
		d.fault("checks", "is required: an array of checks")
	}
	return entries, d.close()
}

func (d *document) batchEntries(who caller) (entries []batchEntry, err error) {
	switch k := d.kind(); k {
	case '[', 0:
	default:
		d.fault("checks", wrongKind("an array of checks", k))
		return nil, d.skip()
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	n := 0
	for ; d.kind() != ']'; n++ {
		if n >= maxChecks {
			err = d.skip()
		} else {
			var e batchEntry
			e, err = d.batchEntry(who)
			entries = append(entries, e)
		}
		if err != nil {
			return nil, err
		}
	}
	if n == 0 || n > maxChecks {
		d.fault("checks", fmt.Sprintf("must have from 1 to %d checks, but has %d", maxChecks, n))
	}
	return entries, d.close()
}

// batchEntry reads one check and keeps its faults apart from the document's.
func (d *document) batchEntry(who caller) (e batchEntry, _ error) {
	outer, dropped := d.faults, d.dropped
	d.faults, d.dropped = nil, 0
	defer func() { d.faults, d.dropped = outer, dropped }()
	if err := d.check(&e.checkRequest, who); err != nil {
		return e, err
	}
	if p := d.invalid(); p != nil {
		e.problem = p
	} else {
		e.problem = who.admit(e.Tenant)
	}
	return e, nil
}
