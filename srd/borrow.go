package srd

import "github.com/srdtun/srdtun/srd/internal/wire"

// Shared is an Owner of a reference-counted payload. The payload stays unchanged until
// Release was called as often as Retain. Any goroutine may call Retain and Release.
type Shared interface {
	Owner
	Retain()
	Release()
}

// borrowed is a payload that is not yet copied to its buffer.
type borrowed struct {
	at    int // its offset in the buffer
	data  []byte
	owner Shared // retained; nil: the same owner as in the previous entry
}

// loans is a list of payloads that are not yet copied to their positions in a buffer. The
// zero value of loans copies every payload at once.
type loans struct {
	wanted bool       // payloads of Shared owners are lent; others are copied at once
	lent   []borrowed // lent payloads, in the order of their positions in the buffer
	lender Owner      // owner of the last entry
}

// message appends a MESSAGE frame to b, a part of the buffer with room for the frame.
func (l *loans) message(b []byte, number uint32, m *Message) []byte {
	var owner Shared
	if len(l.lent) == 0 || m.Owner != l.lender {
		// Messages in a row with the same owner share one type assertion, because a type
		// assertion is slow.
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

// collect copies the lent payloads into the buffer.
func (l *loans) collect(buf []byte) {
	for i := range l.lent {
		s := &l.lent[i]
		copy(buf[s.at:], s.data)
	}
	l.forget()
}

// forget releases all owners and clears the list.
func (l *loans) forget() {
	for i := range l.lent {
		if s := &l.lent[i]; s.owner != nil {
			s.owner.Release()
		}
	}
	clear(l.lent)
	l.lent, l.lender = l.lent[:0], nil
}
