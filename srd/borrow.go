package srd

import "github.com/srdtun/srdtun/srd/internal/wire"

// Shared is an Owner whose payload others can hold beside the transport: it stays as it is
// until there was a Release for each Retain. Any goroutine may call these.
type Shared interface {
	Owner
	Retain()
	Release()
}

// borrowed is a payload that is not in its train yet.
type borrowed struct {
	at    int // where it belongs in Train.Buf
	data  []byte
	owner Shared // retained; nil: it is that of the one before
}

// Borrow has Seal copy the payloads of new messages whose owners are Shared, and not Next:
// whoever locks the connection needs no lock for Seal, and copying is half of what Next
// takes. Buf is complete only after Seal then. It returns t.
func (t *Train) Borrow() *Train {
	t.borrows = true
	return t
}

// message appends a MESSAGE frame to b, which is in t.Buf and has room for it.
func (t *Train) message(b []byte, number uint32, m *Message) []byte {
	var owner Shared
	if len(t.borrowed) == 0 || m.Owner != t.lender {
		// Whether it is one is found out once for a row: that takes longer than the rest.
		var ok bool
		if owner, ok = m.Owner.(Shared); !ok || !t.borrows {
			return wire.AppendMessage(b, number, &m.Imm, m.Data)
		}
		owner.Retain()
		t.lender = m.Owner
	}
	b = wire.AppendMessageHead(b, number, &m.Imm, len(m.Data))
	t.borrowed = append(t.borrowed, borrowed{len(b), m.Data, owner})
	return b[:len(b)+len(m.Data)]
}

// collect puts the payloads into the train.
func (t *Train) collect() {
	for i := range t.borrowed {
		s := &t.borrowed[i]
		copy(t.Buf[s.at:], s.data)
	}
	t.forget()
}

// forget gives back what the train still holds.
func (t *Train) forget() {
	for i := range t.borrowed {
		if s := &t.borrowed[i]; s.owner != nil {
			s.owner.Release()
		}
	}
	clear(t.borrowed)
	t.borrowed, t.lender = t.borrowed[:0], nil
}
