package srd

import "github.com/srdtun/srdtun/srd/internal/wire"

// Shared is an Owner whose payload others can hold beside the transport: it stays as it is
// until there was a Release for each Retain. Any goroutine may call these.
type Shared interface {
	Owner
	Retain()
	Release()
}

// borrowed is a payload that is not in its buffer yet.
type borrowed struct {
	at    int // where it belongs in the buffer
	data  []byte
	owner Shared // retained; nil: it is that of the one before
}

// loans are the payloads that belong into a buffer and are not in it yet. The zero value has
// none, and takes none.
type loans struct {
	wanted bool       // payloads of Shared owners are lent; others are copied at once
	lent   []borrowed // where they belong, in the order of the buffer
	lender Owner      // of the last of these
}

// message appends a MESSAGE frame to b, which is in the buffer and has room for it.
func (l *loans) message(b []byte, number uint32, m *Message) []byte {
	var owner Shared
	if len(l.lent) == 0 || m.Owner != l.lender {
		// Whether it is one is found out once for a row: that takes longer than the rest.
		var ok bool
		if owner, ok = m.Owner.(Shared); !ok || !l.wanted {
			return wire.AppendMessage(b, number, &m.Imm, m.Data)
		}
		owner.Retain()
		l.lender = m.Owner
	}
	b = wire.AppendMessageHead(b, number, &m.Imm, len(m.Data))
	l.lent = append(l.lent, borrowed{len(b), m.Data, owner})
	return b[:len(b)+len(m.Data)]
}

// collect puts the payloads into the buffer.
func (l *loans) collect(buf []byte) {
	for i := range l.lent {
		s := &l.lent[i]
		copy(buf[s.at:], s.data)
	}
	l.forget()
}

// forget gives back what is still lent.
func (l *loans) forget() {
	for i := range l.lent {
		if s := &l.lent[i]; s.owner != nil {
			s.owner.Release()
		}
	}
	clear(l.lent)
	l.lent, l.lender = l.lent[:0], nil
}
