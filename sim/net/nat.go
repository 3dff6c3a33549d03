package net

import "net/netip"

// natFirstPort is the first port that a translator assigns.
const natFirstPort = 20000

// NAT translates the source addresses of the host behind it, with endpoint-independent mapping (RFC
// 4787, section 4.1). Rebind removes all mappings of the translator. After Rebind the host has
// another public address or port, and packets to the former one are dropped.
type NAT struct {
	Inside  Node // the host
	Outside Node // where translated packets go
	Public  []netip.Addr

	Forgotten uint64 // packets dropped without a mapping

	engine *Engine
	noun   Noun
	turn   int // index of the public address in use
	port   uint16
	out    map[netip.AddrPort]netip.AddrPort
	in     map[netip.AddrPort]netip.AddrPort
}

// NewNAT returns a translator that owns several public addresses and uses one of them at a time.
func (e *Engine) NewNAT(name string, public []netip.Addr, inside, outside Node) *NAT {
	n := &NAT{Inside: inside, Outside: outside, engine: e, noun: e.Name(name), Public: public, port: natFirstPort}
	n.forget()
	return n
}

func (n *NAT) forget() {
	n.out, n.in = map[netip.AddrPort]netip.AddrPort{}, map[netip.AddrPort]netip.AddrPort{}
}

// Rebind removes all mappings. If `move` is true, Rebind also changes the public address.
func (n *NAT) Rebind(move bool) {
	n.engine.Note(n.noun, "rebinds", uint64(n.port), 0, 0)
	n.forget()
	if move {
		n.turn = (n.turn + 1) % len(n.Public)
	}
}

// Send translates and forwards a packet from the host behind the translator.
func (n *NAT) Send(p *Packet) {
	ext, ok := n.out[p.Src]
	if !ok {
		ext = netip.AddrPortFrom(n.Public[n.turn], n.port)
		n.port++
		n.out[p.Src], n.in[ext] = ext, p.Src
	}
	n.Outside.Receive(p.Readdressed(ext, p.Dst))
}

// Receive implements net.Node for a packet from outside.
func (n *NAT) Receive(p *Packet) {
	inner, ok := n.in[p.Dst]
	if !ok {
		n.Forgotten++
		n.engine.Note(n.noun, "drops: no mapping", p.Digest(), 0, 0)
		return
	}
	n.Inside.Receive(p.Readdressed(p.Src, inner))
}

// Behind returns the node that receives packets of the host behind the translator.
func (n *NAT) Behind() Node { return natSide{n} }

// natSide is the inner side of a translator.
type natSide struct{ n *NAT }

func (s natSide) Receive(p *Packet) { s.n.Send(p) }
