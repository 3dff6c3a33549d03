package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/srdtun/srdtun/srd"
)

// Audit holds a simulation to what must always be true. The first breach ends
// the run.
type Audit struct {
	engine  *Engine
	err     error
	streams []*Stream
	tunnels []*Tunnel
	nonces  map[nonce]uint64
}

// nonce is one packet number space: the keys a host seals with, by the receiver
// index of the other side, and the path slot.
type nonce struct {
	host  int
	index uint32
	slot  uint16
}

// NewAudit returns an audit without streams.
func NewAudit(e *Engine) *Audit { return &Audit{engine: e, nonces: map[nonce]uint64{}} }

// Err returns the first breach, or nil.
func (a *Audit) Err() error { return a.err }

// Fail notes a breach.
func (a *Audit) Fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("at %.6f s: %s", a.engine.Since().Seconds(), fmt.Sprintf(format, args...))
		a.engine.Say("BREACH %v", a.err)
	}
}

// NewStream registers what a process sends to a peer.
func (a *Audit) NewStream(from, to int, gen uint16, rng *rand.Rand) *Stream {
	s := &Stream{From: from, To: to, Gen: gen, audit: a, rng: rng}
	a.streams = append(a.streams, s)
	return s
}

// Arrived takes a message that a connection between two hosts has delivered.
func (a *Audit) Arrived(from, at int, m *srd.Message) {
	host, gen := int(m.Imm[0]), binary.BigEndian.Uint16(m.Imm[1:])
	for i := len(a.streams) - 1; i >= 0; i-- {
		if s := a.streams[i]; s.From == host && s.To == at && s.Gen == gen && host == from {
			s.arrive(m)
			return
		}
	}
	a.Fail("host %d got a message as from %d that says host %d, process %d", at, from, host, gen)
}

// Sealed takes a packet as it leaves. The packet numbers of one key and slot
// must rise; then no nonce is used twice.
func (a *Audit) Sealed(host int, b []byte) {
	index, ok := srd.DataIndex(b)
	if !ok {
		return
	}
	slot, pn := srd.DataNumber(b)
	k := nonce{host, index, slot}
	if last, met := a.nonces[k]; met && pn <= last {
		a.Fail("host %d seals index %08x slot %d number %d after %d", host, index, slot, pn, last)
	}
	a.nonces[k] = pn
}
