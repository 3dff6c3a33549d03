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
	owner Shared
	first bool // of its owner's in a row, for which it is retained
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
	owner, ok := m.Owner.(Shared)
	if !ok || !t.borrows {
		return wire.AppendMessage(b, number, &m.Imm, m.Data)
	}
	b = wire.AppendMessageHead(b, number, &m.Imm, len(m.Data))
	last := len(t.borrowed) - 1
	first := last < 0 || t.borrowed[last].owner != owner
	if first {
		owner.Retain()
	}
	t.borrowed = append(t.borrowed, borrowed{len(b), m.Data, owner, first})
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
		if s := &t.borrowed[i]; s.first {
			s.owner.Release()
		}
	}
	clear(t.borrowed)
	t.borrowed = t.borrowed[:0]
}
