package foe

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/handshake"
)

const (
	// capturesKept bounds the number of packets that a tap stores. Handshake packets have a separate
	// bound, callsKept, so that those of former processes and keys are kept.
	capturesKept = 128
	callsKept    = 64
	// callShare is the chance that the tap replays a handshake packet rather than another packet.
	callShare = 0.3
	// lureNext is the number of packets after an initiation whose copies the tap also delivers
	// first.
	lureNext = 12
	// relayed is the number of addresses from which a tap relays packets.
	relayed = 256
	mac2Len = 16
	// mostCrowd is the largest number of addresses that send copies of one initiation at the same
	// time. It is more than the number of copies to which a host responds.
	mostCrowd = 24
)

// Tap is an attacker on the link in front of a host, and observes all incoming and outgoing
// packets. A tap may replay a packet from any address, deliver a copy before the original, and
// reflect, corrupt or invent packets. It knows the hosts' public keys, and receives packets to its
// own addresses. It cannot break cryptography, and cannot drop packets.
type Tap struct {
	To   net.Node
	Back net.Node   // next node for the host's packets, to which some are reflected
	Addr netip.Addr // its own

	// Race is the chance that a copy of a packet arrives before the original, from another
	// address.
	Race float64

	Injected  uint64 // bytes of UDP payload sent from its own address
	Collected uint64 // bytes of UDP payload received at its own address

	engine *net.Engine
	noun   net.Noun
	rng    *rand.Rand
	host   *host.Host // the host behind the tap
	ground *Ground    // nil: the tap makes only the attacks of Race and Attack
	kept   captures
	calls  captures // handshake packets to the host
	called captures // initiations from the host

	foes   Strangers
	mute   []netip.Addr
	mail   []netip.Addr
	lure   lure
	relays []relay
	turn   int
	waits  *Flood // a flood that waits for an initiation; nil: none
	forger forger
}

// lure is an address from which copies of a handshake's first packets arrive before the originals.
type lure struct {
	from netip.AddrPort
	who  netip.Addr // source of the packets
	left int
}

// relay is an address of the tap, and the address to which the tap relays packets that arrive
// there.
type relay struct{ at, to netip.AddrPort }

// captures stores packets that the tap has observed. A newly captured packet replaces the oldest
// one.
type captures struct {
	packets []*net.Packet
	seen    int
}

func (c *captures) add(p *net.Packet, most int) {
	if len(c.packets) < most {
		c.packets = append(c.packets, p)
	} else {
		c.packets[c.seen%most] = p
	}
	c.seen++
}

// any returns a random stored packet, or nil if there are none.
func (c *captures) any(rng *rand.Rand) *net.Packet {
	if len(c.packets) == 0 {
		return nil
	}
	return c.packets[rng.IntN(len(c.packets))]
}

// newest returns the newest stored packet, or nil if there are none.
func (c *captures) newest() *net.Packet {
	if len(c.packets) == 0 {
		return nil
	}
	return c.packets[(c.seen-1)%len(c.packets)]
}

// NewTap returns a tap in front of a host. The tap passes the host's packets to the node `back`.
func NewTap(e *net.Engine, name string, addr netip.Addr, h *host.Host, back net.Node) *Tap {
	return &Tap{To: h, Back: back, Addr: addr, host: h, engine: e, noun: e.Name(name), rng: e.Fork()}
}

// Receive implements net.Node for a packet to the host.
func (t *Tap) Receive(p *net.Packet) {
	t.kept.add(p, capturesKept)
	kind := handshake.Kind(p.Data)
	if kind != 0 {
		t.calls.add(p, callsKept)
	}
	switch l := &t.lure; {
	case kind == handshake.TypeInitiation && t.dares(t.foes.Crowd):
		for range 1 + t.rng.IntN(mostCrowd) {
			t.inject("crowds", t.from(t.elsewhere(), p))
		}
	case kind == handshake.TypeInitiation && t.dares(t.foes.Lure):
		*l = lure{t.elsewhere(), p.Src.Addr(), lureNext}
		t.inject("lures", t.from(l.from, p))
	case l.left > 0 && l.who == p.Src.Addr():
		l.left--
		t.inject("lures", t.from(l.from, p))
	case t.dares(t.Race):
		t.overtake(p)
	}
	t.To.Receive(p)
}

// dares decides at random, with the given probability, whether an attack happens. If the
// probability is zero, it draws no random number.
func (t *Tap) dares(chance float64) bool { return chance > 0 && t.rng.Float64() < chance }

// overtake delivers a copy of p from another address before p itself.
func (t *Tap) overtake(p *net.Packet) {
	from := t.elsewhere()
	if t.dares(t.foes.Relay) {
		from = netip.AddrPortFrom(t.mail[0], uint16(1+t.turn))
		r := relay{from, p.Src}
		if t.turn < len(t.relays) {
			t.relays[t.turn] = r
		} else {
			t.relays = append(t.relays, r)
		}
		t.turn = (t.turn + 1) % relayed
	}
	t.inject("races", t.from(from, p))
}

// Out returns the node for packets from the host, which the tap passes on to the node `next`.
func (t *Tap) Out(next net.Node) net.Node { return out{t, next} }

// Own returns the node for packets to the tap's own addresses.
func (t *Tap) Own() net.Node { return sink{t} }

// out is the node for the host's outgoing packets.
type out struct {
	t    *Tap
	next net.Node
}

// Receive implements net.Node for a packet from the host.
func (o out) Receive(p *net.Packet) {
	if handshake.Kind(p.Data) == handshake.TypeInitiation {
		o.t.called.add(p, callsKept)
		o.t.answer(p)
	}
	o.next.Receive(p)
}

// sink is the node for packets to the tap's own addresses.
type sink struct{ t *Tap }

func (s sink) Receive(p *net.Packet) { s.t.collect(p) }

// collect handles a packet to one of the tap's addresses.
func (t *Tap) collect(p *net.Packet) {
	t.Collected += uint64(len(p.Data))
	t.engine.Note(t.noun, "collects", p.Digest(), uint64(len(p.Data)), 0)
	for _, r := range t.relays {
		if r.at == p.Dst && t.foes.Relay > 0 {
			t.engine.Note(t.noun, "passes on", p.Digest(), 0, 0)
			t.Back.Receive(p.Readdressed(p.Src, r.to))
			return
		}
	}
	t.read(p)
}

// elsewhere draws a source address and port: a mute address, one of the tap's addresses, or another
// port of a packet's source.
func (t *Tap) elsewhere() netip.AddrPort {
	addr, ports := t.Addr, max(1, t.foes.Ports)
	switch n := t.rng.IntN(10); {
	case len(t.mute) == 0:
		ports = 4
	case n < 6:
		addr = t.mute[t.rng.IntN(len(t.mute))]
	case n < 9:
		addr = t.mail[t.rng.IntN(len(t.mail))]
	default:
		if p := t.kept.any(t.rng); p != nil {
			addr = p.Src.Addr()
		}
	}
	return netip.AddrPortFrom(addr, uint16(1+t.rng.IntN(ports)))
}

// from returns a copy of p with another source address.
func (t *Tap) from(a netip.AddrPort, p *net.Packet) *net.Packet {
	if a.Addr() == t.Addr {
		t.Injected += uint64(len(p.Data))
	}
	return p.Readdressed(a, p.Dst)
}

func (t *Tap) inject(what string, p *net.Packet) {
	t.engine.Note(t.noun, what, p.Digest(), 0, 0)
	t.To.Receive(p)
}

// Harass attacks at random intervals, until a given time after the start of the simulation.
func (t *Tap) Harass(every, until time.Duration) {
	var again func()
	again = func() {
		if t.engine.Since() > until {
			return
		}
		t.Attack()
		t.engine.After(1+time.Duration(t.rng.ExpFloat64()*float64(every)), again)
	}
	t.engine.After(every, again)
}

// Attack performs one random attack.
func (t *Tap) Attack() {
	from := &t.kept
	if t.rng.Float64() < callShare {
		from = &t.calls
	}
	p := from.any(t.rng)
	if p == nil {
		return
	}
	switch t.rng.IntN(8) {
	case 0:
		t.inject("replays", p)
	case 1:
		t.inject("replays elsewhere", t.from(t.elsewhere(), p))
	case 2:
		t.inject("spoils", t.spoil(p))
	case 3:
		t.inject("cuts", t.cut(p))
	case 4:
		t.inject("invents", t.invent(p))
	case 5:
		t.engine.Note(t.noun, "reflects", p.Digest(), 0, 0)
		t.Back.Receive(p.Readdressed(p.Dst, p.Src))
	case 6:
		if t.forger.made++; t.forger.made <= mostForged {
			t.forge(p)
		}
	case 7:
		if q := t.called.any(t.rng); q != nil {
			t.answerFalsely(q)
		}
	}
}

// spoil returns a copy of a packet with some corrupted bytes. A handshake packet that differs only
// in mac2 is still valid if the receiver does not require mac2.
func (t *Tap) spoil(p *net.Packet) *net.Packet {
	c := *p
	c.Data = append([]byte(nil), p.Data...)
	for range 1 + t.rng.IntN(4) {
		c.Data[t.rng.IntN(len(c.Data))] = byte(t.rng.Uint32())
	}
	same := len(c.Data)
	if handshake.Kind(p.Data) != 0 {
		same = max(0, same-mac2Len)
	}
	c.Forged = !bytes.Equal(c.Data[:same], p.Data[:same])
	return &c
}

func (t *Tap) cut(p *net.Packet) *net.Packet {
	c := *p
	c.Forged = true
	c.Data = p.Data[:t.rng.IntN(len(p.Data))]
	return &c
}

// invent creates a packet of random bytes after a valid beginning.
func (t *Tap) invent(p *net.Packet) *net.Packet {
	c := *p
	c.Forged = true
	c.Data = make([]byte, t.rng.IntN(1500))
	net.Bytes(t.rng).Read(c.Data)
	copy(c.Data, p.Data[:min(len(p.Data), t.rng.IntN(17))])
	return &c
}

// Calm stops all attacks that a tap performs on its own.
func (t *Tap) Calm() {
	t.foes, t.waits = Strangers{}, nil
	t.Race = 0
}
