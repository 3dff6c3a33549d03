package srd

import (
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// MaxTrain is the largest number of packets in one train. UDP_SEGMENT allows 64 packets. On a
// path with 1500-byte packets, 44 packets fill the 65,507 bytes of one send.
const (
	MaxTrain      = 64
	MaxTrainBytes = 65507
)

// Train is a run of packets for one path, back to back in one buffer. Each packet has Size
// bytes, except that the last may be shorter. One sendmsg with UDP_SEGMENT sends the train. The
// caller owns the buffer, and the next call of Next overwrites it.
type Train struct {
	Tuple Tuple
	Buf   []byte // the packets: plaintext after Next, encrypted after Seal
	Size  int    // bytes of each packet but the last
	Probe bool   // a path MTU probe: EMSGSIZE is a valid result, not an error

	at    mono.Time // time of sending of all its packets
	nonce Nonce
	keys  *SendKeys // nil: Buf is a handshake packet and complete
	loans loans     // payloads that Seal copies
}

// NewTrain returns a train with room for the largest run.
func NewTrain() *Train { return &Train{Buf: make([]byte, 0, MaxTrainBytes)} }

// After Borrow, the payloads of new messages with Shared owners are copied by Seal instead of
// Next. Copying is half of the work of Next, which needs the connection's lock, while Seal
// needs none. Buf is then complete only after Seal. Borrow returns t.
func (t *Train) Borrow() *Train {
	t.loans.wanted = true
	return t
}

// Packets returns the number of packets.
func (t *Train) Packets() int {
	if t.Size == 0 {
		return 0
	}
	return (len(t.Buf) + t.Size - 1) / t.Size
}

// Seal encrypts the train in place. The caller of Seal needs no lock.
func (t *Train) Seal() {
	t.loans.collect(t.Buf)
	if t.keys == nil {
		return
	}
	for b := t.Buf; len(b) > 0; {
		n := min(t.Size, len(b))
		t.keys.seal(b[:n], &t.nonce)
		b = b[n:]
	}
}

func (t *Train) reset(tuple Tuple, k *SendKeys) {
	t.loans.forget() // payloads borrowed for the last train, if it was not sealed
	*t = Train{Buf: t.Buf[:0], Tuple: tuple, at: t.at, keys: k, loans: t.loans}
}

// open begins a packet and returns the buffer up to the end of the packet's header.
func (t *Train) open(slot uint16, pn uint64) []byte {
	n := len(t.Buf)
	b := t.Buf[:n+wire.HeaderLen]
	wire.Header{Slot: slot, Index: t.keys.remote, PN: pn}.Put(b[n:])
	return b
}

// close ends the packet that began at the offset `from`, after the frames in b. The packet is
// padded with zeros to `pad` bytes; 0: no padding.
func (t *Train) close(b []byte, from, pad int) {
	if n := pad - wire.TagLen - (len(b) - from); n > 0 {
		z := len(b)
		b = b[:z+n]
		clear(b[z:])
	}
	t.Buf = b[:len(b)+wire.TagLen]
	if t.Size == 0 {
		t.Size = len(t.Buf) - from
	}
}

// Raw returns a train of one packet that needs no sealing.
func Raw(to Tuple, b []byte) *Train { return &Train{Tuple: to, Buf: b, Size: len(b)} }
