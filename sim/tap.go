package sim

import (
	"math/rand/v2"
	"net/netip"

	"github.com/srdtun/srdtun/srd/handshake"
)

const (
	// capturesKept bounds what a tap remembers, and callsKept what it remembers of
	// handshakes: those of former processes and keys too.
	capturesKept = 128
	callsKept    = 64
	// callShare is how often it takes one of these.
	callShare = 0.3
)

// Tap is somebody on the wire before a host: it sees all that comes in, and may
// play it again, reflect it, spoil it or invent packets. It cannot break
// cryptography. What hosts send to its own address it counts.
type Tap struct {
	To   Node
	Back Node       // where the host's packets go, to reflect some
	Addr netip.Addr // its own

	// Race is the chance that a packet arrives first in a copy that seems to
	// come from the tap's address.
	Race float64

	Injected  uint64 // bytes of UDP payload sent from its own address
	Collected uint64 // bytes that came to it

	engine *Engine
	noun   Noun
	rng    *rand.Rand
	kept   captures
	calls  captures // handshake packets
}

// captures are packets seen, of which the newest take the place of the oldest.
type captures struct {
	packets []*Packet
	seen    int
}

func (c *captures) add(p *Packet, most int) {
	if len(c.packets) < most {
		c.packets = append(c.packets, p)
	} else {
		c.packets[c.seen%most] = p
	}
	c.seen++
}

// NewTap returns a tap before a node.
func (e *Engine) NewTap(name string, addr netip.Addr, to Node) *Tap {
	return &Tap{To: to, Addr: addr, engine: e, noun: e.Name(name), rng: e.Fork()}
}

// Receive implements Node.
func (t *Tap) Receive(p *Packet) {
	t.kept.add(p, capturesKept)
	if handshake.Kind(p.Data) != 0 {
		t.calls.add(p, callsKept)
	}
	if t.Race > 0 && t.rng.Float64() < t.Race && !opens(p) {
		t.inject("races", t.spoofed(p))
	}
	t.To.Receive(p)
}

// opens reports whether p begins a handshake. Those are not passed on from the
// tap's address: somebody who wins the race with an initiation and again with
// the first packet under the keys that come of it is believed to be there, which
// the transport has in common with QUIC (RFC 9000 section 8.1).
func opens(p *Packet) bool { return handshake.Kind(p.Data) == handshake.TypeInitiation }

// sink is the tap's own address.
type sink struct{ t *Tap }

func (s sink) Receive(p *Packet) {
	s.t.Collected += uint64(len(p.Data))
	s.t.engine.Note(s.t.noun, "collects", p.digest(), uint64(len(p.Data)), 0)
}

// spoofed returns p as if the tap had sent it, from one of a few ports.
func (t *Tap) spoofed(p *Packet) *Packet {
	t.Injected += uint64(len(p.Data))
	return p.readdressed(netip.AddrPortFrom(t.Addr, uint16(1+t.rng.IntN(4))), p.Dst)
}

func (t *Tap) inject(what string, p *Packet) {
	t.engine.Note(t.noun, what, p.digest(), 0, 0)
	t.To.Receive(p)
}

// Attack does one hostile thing.
func (t *Tap) Attack() {
	from := t.kept.packets
	if t.rng.Float64() < callShare {
		from = t.calls.packets
	}
	if len(from) == 0 {
		return
	}
	p := from[t.rng.IntN(len(from))]
	switch t.rng.IntN(6) {
	case 0:
		t.inject("replays", p)
	case 1:
		if !opens(p) {
			t.inject("replays elsewhere", t.spoofed(p))
		}
	case 2:
		t.inject("spoils", t.spoil(p))
	case 3:
		t.inject("cuts", t.cut(p))
	case 4:
		t.inject("invents", t.invent(p))
	case 5:
		t.engine.Note(t.noun, "reflects", p.digest(), 0, 0)
		t.Back.Receive(p.readdressed(p.Dst, p.Src))
	}
}

func (t *Tap) spoil(p *Packet) *Packet {
	c := *p
	c.Data = append([]byte(nil), p.Data...)
	for range 1 + t.rng.IntN(4) {
		c.Data[t.rng.IntN(len(c.Data))] = byte(t.rng.Uint32())
	}
	return &c
}

func (t *Tap) cut(p *Packet) *Packet {
	c := *p
	c.Data = p.Data[:t.rng.IntN(len(p.Data))]
	return &c
}

// invent makes a packet of noise that begins as real ones do.
func (t *Tap) invent(p *Packet) *Packet {
	c := *p
	c.Data = make([]byte, t.rng.IntN(1500))
	reader{t.rng}.Read(c.Data)
	copy(c.Data, p.Data[:min(len(p.Data), t.rng.IntN(17))])
	return &c
}
