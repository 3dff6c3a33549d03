package liar

import (
	"crypto/cipher"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

type aead = cipher.AEAD

// Session holds one set of keys shared with the other side.
type Session struct {
	Local, Remote uint32 // receiver indices: in the other side's packets, and in ours
	Incarnation   uint64 // incarnation of the other side
	Own           uint64 // our incarnation when the session was made

	seal, open     aead
	sendIV, recvIV [wire.NonceLen]byte
	numbers        *[1 << 16]uint64 // next packet number of each slot, shared by all sessions
}

func (p *Peer) session(r *handshake.Result) *Session {
	seal, err1 := r.Cipher.New(r.Send.Key)
	open, err2 := r.Cipher.New(r.Recv.Key)
	if err1 != nil || err2 != nil {
		return nil
	}
	return &Session{
		Local: r.LocalIndex, Remote: r.RemoteIndex, Incarnation: r.Hello.Incarnation, Own: p.Incarnation,
		seal: seal, open: open, sendIV: r.Send.IV, recvIV: r.Recv.IV, numbers: &p.numbers,
	}
}

// Seal returns a packet with the frames f and the next packet number of a slot.
func (s *Session) Seal(slot uint16, f Frames) []byte {
	n := s.numbers[slot]
	s.numbers[slot]++
	return s.SealAs(Header{Slot: slot, Index: s.Remote, PN: n}, f)
}

// Skip skips n packet numbers of a slot.
func (s *Session) Skip(slot uint16, n uint64) { s.numbers[slot] += n }

// SealAs returns a packet with the frames f and an arbitrary header.
func (s *Session) SealAs(h Header, f Frames) []byte {
	b := make([]byte, wire.HeaderLen, wire.Overhead+len(f))
	h.Put(b)
	var n [wire.NonceLen]byte
	wire.Nonce(&n, &s.sendIV, b)
	return s.seal.Seal(b, n[:], f, b)
}

// Open returns the header and the frames of a packet from the other side. If the packet does not
// belong to this session, ok is false.
func (s *Session) Open(b []byte) (h Header, plain []byte, ok bool) {
	if !wire.IsData(b) {
		return h, nil, false
	}
	if h = wire.ParseHeader(b); h.Index != s.Local {
		return h, nil, false
	}
	var n [wire.NonceLen]byte
	wire.Nonce(&n, &s.recvIV, b)
	plain, err := s.open.Open(nil, n[:], b[wire.HeaderLen:], b[:wire.HeaderLen])
	return h, plain, err == nil
}
