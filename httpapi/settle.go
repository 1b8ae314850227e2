package httpapi

import (
	"context"
	"net/http"

	"github.com/seed43908478/penstock/engine"
	"github.com/seed43908478/penstock/quota"
	"github.com/seed43908478/penstock/receipt"
)

// charged is the memory that a receipt is put together in.
type charged struct {
	receipt receipt.Receipt
	limits  []receipt.Limit
}

// appendReceipt appends the receipt of a decision as a JSON string; it is empty when nothing was charged.
func (s *server) appendReceipt(dst []byte, m *charged, tenant string, d *engine.Decision) []byte {
	dst = append(dst, '"')
	if s.receipts != nil {
		if charges := d.Charges(); len(charges) > 0 {
			dst = s.receipts.Append(dst, m.fill(tenant, d, charges)) // no letter of it needs an escape
		}
	}
	return append(dst, '"')
}

func (m *charged) fill(tenant string, d *engine.Decision, charges []engine.Charge) *receipt.Receipt {
	items := m.receipt.Items[:0]
	m.limits = m.limits[:0]
	for i := range charges {
		begin := len(m.limits)
		for _, l := range charges[i].Limits {
			m.limits = append(m.limits, receipt.Limit(l))
		}
		items = append(items, receipt.Item{Key: charges[i].Key, Limits: m.limits[begin:]})
	}
	m.receipt = receipt.Receipt{Tenant: tenant, At: d.At, Cost: d.Granted, Items: items}
	return &m.receipt
}

// A settleRequest is the body of a settlement.
type settleRequest struct {
	receipt receipt.Receipt
	cost    int64
}

// settle answers POST /v1/settle.
func (s *server) settle(w http.ResponseWriter, r *http.Request) {
	sc := newScratch()
	defer sc.release()
	q, err := s.readSettle(r, sc)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	settled, err := s.settleCharges(r.Context(), q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	o := &sc.answer
	o.open()
	o.str("tenant", q.receipt.Tenant)
	o.num("cost", settled.Cost)
	o.num("charged", q.receipt.Cost)
	o.flag("repeat", settled.Repeat)
	o.str("outcome", outcome(settled.Unknown))
	o.close()
	respond(w, http.StatusOK, jsonType, append(o.text, '\n'))
}

// settleCharges has what a receipt is for charged at another cost.
func (s *server) settleCharges(ctx context.Context, q settleRequest) (engine.Settled, error) {
	r := &q.receipt
	t := engine.Settlement{
		ID: r.ID, At: r.At, Charged: r.Cost, Cost: q.cost,
		Charges: make([]engine.Charge, len(r.Items)), Items: make([]quota.Item, len(r.Items)),
	}
	for i, item := range r.Items {
		c := engine.Charge{Key: item.Key, Limits: make([]engine.ChargedLimit, len(item.Limits))}
		for j, l := range item.Limits {
			c.Limits[j] = engine.ChargedLimit(l)
		}
		var err error
		if t.Items[i], err = s.plans.Item(ctx, r.Tenant, item.Key); err != nil {
			return engine.Settled{}, err
		}
		t.Charges[i] = c
	}
	return s.decider.Settle(ctx, t)
}

// readSettle finds out who calls, and what is to be settled. A forged receipt is a fault
// of the request as any other: who sent it may have cut it short.
func (s *server) readSettle(r *http.Request, sc *scratch) (q settleRequest, err error) {
	who, err := s.read(r, sc, maxCheckBody, func(d *document, _ caller) (err error) {
		q, err = d.settlement(s.receipts)
		return err
	})
	if err == nil && who.tenant != "" && who.tenant != q.receipt.Tenant {
		err = &problem{kind: forbidden, detail: "This receipt is for a charge of another tenant than the key's; settle it with the key that the check was made with."}
	}
	return q, err
}

// settlement reads a settlement.
func (d *document) settlement(receipts *receipt.Sealer) (q settleRequest, err error) {
	if !d.isObject("a settlement") {
		return q, d.skip()
	}
	if err := d.open(); err != nil {
		return q, err
	}
	var hasReceipt, hasCost bool
	for d.more() {
		name, err := d.name()
		if err != nil {
			return q, err
		}
		switch string(name) {
		case "receipt":
			hasReceipt = true
			q.receipt, err = d.receipt(receipts)
		case "cost":
			hasCost = true
			q.cost, err = d.integer("cost", 0, maxCost)
		default:
			d.fault(clip(string(name)), "is not a member of a settlement; those are receipt and cost")
			err = d.skip()
		}
		if err != nil {
			return q, err
		}
	}
	if !hasReceipt {
		d.fault("receipt", "is required: that of the answer to the check")
	}
	if !hasCost {
		d.fault("cost", "is required: how many permits were needed in the end")
	}
	return q, d.close()
}

func (d *document) receipt(receipts *receipt.Sealer) (r receipt.Receipt, err error) {
	text, ok, err := d.str("receipt")
	if !ok {
		return r, err
	}
	if len(text) == 0 {
		d.fault("receipt", "must not be empty: a call without a receipt was not charged, and has nothing to settle")
		return r, nil
	}
	if receipts != nil {
		if r, err := receipts.Open(string(text)); err == nil {
			return r, nil
		}
	}
	d.fault("receipt", "is not one that was given here; send it whole, as it came in the answer to the check")
	return r, nil
}
