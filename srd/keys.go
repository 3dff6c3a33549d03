package srd

import (
	"crypto/cipher"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// Overhead is the number of bytes that a sealed packet has in addition to its frames.
const Overhead = wire.Overhead

// HeaderLen is the part of Overhead before the frames, in bytes.
const HeaderLen = wire.HeaderLen

// self reserves and releases receiver indices for its connection, in the driver's table.
type self struct{ conn *Conn }

func (s self) reserve() uint32      { return s.conn.env.cfg.Indexes.Reserve(s.conn) }
func (s self) publish(k *RecvKeys)  { s.conn.env.cfg.Indexes.Publish(k.local, k) }
func (s self) release(index uint32) { s.conn.env.cfg.Indexes.Release(index) }

// SendKeys seal the packets of one session in one direction. SendKeys are immutable and
// safe for concurrent use. A nonce is computed from the packet header: the Conn that owns
// the keys never uses a (path slot, packet number) pair twice, not even in different
// sessions.
type SendKeys struct {
	aead   cipher.AEAD
	iv     Nonce
	remote uint32 // receiver index
}

// Nonce is the scratch space of one goroutine that seals or opens packets. A local nonce
// would escape to the heap through an interface, and so cost an allocation for each packet.
type Nonce = [wire.NonceLen]byte

// seal encrypts the packet b in place. The packet consists of header, frames, and room for
// the tag.
func (k *SendKeys) seal(b []byte, n *Nonce) {
	wire.Nonce(n, &k.iv, b)
	end := len(b) - wire.TagLen
	k.aead.Seal(b[wire.HeaderLen:wire.HeaderLen], n[:], b[wire.HeaderLen:end], b[:wire.HeaderLen])
}

// RecvKeys open the packets of one session. RecvKeys are immutable and safe for
// concurrent use.
type RecvKeys struct {
	Conn  *Conn
	aead  cipher.AEAD
	iv    Nonce
	local uint32
}

// Open decrypts the data packet b in place. If b is not authentic, ok is false, and the
// overwritten b must not be used.
func (k *RecvKeys) Open(b []byte, n *Nonce) (p Packet, ok bool) {
	if !wire.IsData(b) {
		return p, false
	}
	wire.Nonce(n, &k.iv, b)
	plain, err := k.aead.Open(b[wire.HeaderLen:wire.HeaderLen], n[:], b[wire.HeaderLen:], b[:wire.HeaderLen])
	if err != nil {
		return p, false
	}
	h := wire.ParseHeader(b)
	return Packet{Slot: h.Slot, PN: h.PN, Size: len(b), Plain: plain, Keys: k}, true
}

// DataIndex returns the receiver index of b. If b is not a data packet of this version,
// ok is false.
func DataIndex(b []byte) (index uint32, ok bool) {
	if !wire.IsData(b) {
		return 0, false
	}
	return wire.ParseHeader(b).Index, true
}

// DataNumber returns the path slot and packet number of b. The caller must have checked b
// with DataIndex.
func DataNumber(b []byte) (slot uint16, pn uint64) {
	h := wire.ParseHeader(b)
	return h.Slot, h.PN
}

// Indexes reserves receiver indices, which are random and unique in the process.
type Indexes interface {
	Reserve(*Conn) uint32
	Publish(uint32, *RecvKeys)
	Release(uint32)
}

// Packet is one data packet after decryption.
type Packet struct {
	Tuple Tuple
	Slot  uint16
	PN    uint64
	At    mono.Time // arrival time by the kernel's timestamp; 0 or an impossible time: the time of handling counts
	ECN   ECN
	Load  uint8 // congestion metric that the network wrote into the packet, plus one; 0: none
	Size  int   // bytes of UDP payload
	Plain []byte
	Keys  *RecvKeys // the keys that opened it
}
