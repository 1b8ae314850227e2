package receipt

import (
	"encoding/binary"
	"math"
	"time"
)

// A receipt is, after the version: a nonce, the tenant, the time in ms since 1970, the cost, and the items.
// Of an item, how many of the tenant's characters its key begins with, the rest of the
// key, and the limits with their marks. A text stands after its length, and a list
// after its number; all numbers are varints.

// appendReceipt appends all but the version and the mac.
func appendReceipt(b []byte, r *Receipt, nonce uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b, nonce)
	b = appendText(b, r.Tenant)
	b = binary.AppendVarint(b, r.At.UnixMilli())
	b = binary.AppendVarint(b, r.Cost)
	b = binary.AppendUvarint(b, uint64(len(r.Items)))
	for i := range r.Items {
		item := &r.Items[i]
		shared := commonPrefix(r.Tenant, item.Key)
		b = binary.AppendUvarint(b, uint64(shared))
		b = appendText(b, item.Key[shared:])
		b = binary.AppendUvarint(b, uint64(len(item.Limits)))
		for _, l := range item.Limits {
			b = appendText(b, l.ID)
			b = binary.AppendVarint(b, l.Mark)
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// parse reads what appendReceipt appended; ok is false for anything else. What is read
// was signed here, so this only has to hold against defects of ours.
func parse(data []byte) (r Receipt, ok bool) {
	p := parser{data: data, ok: true}
	p.take(nonceLen)
	r.Tenant = p.text()
	r.At = time.UnixMilli(p.varint())
	r.Cost = p.varint()
	r.Items = make([]Item, p.count())
	for i := range r.Items {
		r.Items[i] = p.item(r.Tenant)
	}
	return r, p.ok && len(p.data) == 0
}

// A parser takes a receipt apart. Once something is wrong, all that follows is empty.
type parser struct {
	data []byte
	ok   bool
}

func (p *parser) item(tenant string) (i Item) {
	shared := p.uvarint()
	if shared > uint64(len(tenant)) {
		p.ok = false
		return i
	}
	i.Key = tenant[:shared] + p.text()
	i.Limits = make([]Limit, p.count())
	for j := range i.Limits {
		i.Limits[j] = Limit{ID: p.text(), Mark: p.varint()}
	}
	return i
}

func (p *parser) take(n uint64) []byte {
	if !p.ok || n > uint64(len(p.data)) {
		p.ok = false
		return nil
	}
	taken := p.data[:n]
	p.data = p.data[n:]
	return taken
}

func (p *parser) text() string { return string(p.take(p.uvarint())) }

func (p *parser) uvarint() uint64 {
	v, n := binary.Uvarint(p.data)
	if n <= 0 {
		p.ok, n = false, 0
	}
	p.data = p.data[n:]
	return v
}

func (p *parser) varint() int64 {
	v, n := binary.Varint(p.data)
	if n <= 0 {
		p.ok, n = false, 0
	}
	p.data = p.data[n:]
	return v
}

// count returns how many follow, each of two bytes at least.
func (p *parser) count() int {
	n := p.uvarint()
	if n > uint64(len(p.data))/2 || n > math.MaxInt32 {
		p.ok = false
	}
	if !p.ok {
		return 0
	}
	return int(n)
}
