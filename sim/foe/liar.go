package foe

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/liar"
	"github.com/srdtun/srdtun/srd/mono"
)

// These constants bound a lying peer's memory and times.
const (
	// sessionsKept is the number of sessions whose keys the liar stores.
	sessionsKept = 3
	seenKept     = 8
	secretsKept  = 16
	// ackAfter is the usual delay of the liar's acknowledgements.
	ackAfter = time.Millisecond
	// ackLater is a longer delay of acknowledgements, which leaves more packets in flight.
	ackLater = 10 * time.Millisecond
)

// Lies describes the lying peer of a run. A run has a lying peer if Every is not 0.
type Lies struct {
	Every  time.Duration // mean time between its attacks
	Acts   []int         // indices in Acts of the attacks from which it chooses
	Ports  int           // number of source ports at each address
	Known  bool          // hosts know its address, and begin handshakes
	Honest float64       // share of packets to which it responds as an honest peer
	Blank  bool          // its acknowledgements have no records
	Greedy bool          // it acknowledges skipped packet numbers at once, to get more data
	Near   bool          // at addresses that are not configured, it returns wrong secrets
	Leaves bool          // when the faults end, it disappears; otherwise it becomes honest
	Delay  time.Duration // one-way delay of its links
	Rate   float64       // rate of the link to it
}

func (x *Lies) String() string {
	if x.Every == 0 {
		return "none"
	}
	s := fmt.Sprintf("every %v, %d ports, known %v, honest %.2f, blank %v, greedy %v, near %v, leaves %v, %v away, %.0f bytes/s:",
		x.Every, x.Ports, x.Known, x.Honest, x.Blank, x.Greedy, x.Near, x.Leaves, x.Delay, x.Rate)
	for _, i := range x.Acts {
		s += " " + Acts[i].Name + ","
	}
	return s
}

// Liar is a lying peer that is configured and authenticated at all hosts. The liar has several
// addresses. The hosts' configurations contain at most the liar's first address. The liar also
// sends from addresses that it does not own.
type Liar struct {
	Lies

	host   *host.Host // its host in the configurations, on which no program runs
	addrs  []netip.Addr
	ground *Ground
	engine *net.Engine
	noun   net.Noun
	rng    *rand.Rand
	ends   []*end
}

// end holds the liar's state for one host.
type end struct {
	l     *Liar
	h     *host.Host
	place *Place // place of h
	p     *liar.Peer

	link     *net.Link // link to the host
	sessions []*liar.Session
	book     liar.Book
	seen     []netip.AddrPort // addresses from which the host's packets arrived
	secrets  []liar.Secret
	number   uint64 // number of its next message
	seq      uint32 // sequence number of its next frame
	acking   bool
	met      []byte             // the newest initiation
	answered []byte             // the response to it
	lured    netip.AddrPort     // source address of the first packet of the next session
	trap     net.Trap           // trap of the next packet
	open     map[uint16]unacked // oldest packets with messages since the last acknowledgement
	gone     bool
	asked    int // number of packets with challenges that it sent
	told     int // number of packets with responses that arrived
}

// unacked is a packet with messages that the liar has not acknowledged.
type unacked struct {
	pn uint64
	at mono.Time
}

// liarAddrs is the number of addresses that the liar has.
const liarAddrs = 3

func liarAddr(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + n)}) }

// AddLiar adds a lying peer to the network and to the configurations of all hosts.
func (g *Ground) AddLiar(x Lies) *Liar {
	e, first := g.Engine, g.Places[0].Host
	cfg := host.Config{Offers: first.Offers}
	l := &Liar{Lies: x, ground: g, engine: e, noun: e.Name("liar"), rng: e.Fork()}
	l.host = host.New(e, "liar's", len(g.Places), cfg, first.Audit)
	for n := range liarAddrs {
		l.addrs = append(l.addrs, g.Addr(liarAddr(n)))
	}
	for i, p := range g.Places {
		var psk handshake.PSK
		net.Bytes(l.rng).Read(psk[:])
		r := host.Remote{Host: l.host, PSK: psk, Lies: true, App: l.above}
		if x.Known && !p.Passive {
			r.Addrs = []netip.AddrPort{netip.AddrPortFrom(l.addrs[0], host.FirstPort)}
		}
		p.Host.Peer(r)
		l.meet(i, p, psk)
	}
	return l
}

// above creates the application of a host on its connection to the liar.
func (l *Liar) above(h *host.Host, gen uint16) host.App {
	return newDoubt(h, l.host.Index, gen, l.Blank)
}

// liarQueue is the queue size in bytes of a link to or from the liar. The queue of such a link is
// so large that it never overflows.
const liarQueue = 8 << 20

// meet creates the links between the liar and host i.
func (l *Liar) meet(i int, p *Place, psk handshake.PSK) {
	e := l.engine
	v := &end{l: l, h: p.Host, place: p, open: map[uint16]unacked{}, p: liar.New(liar.Config{
		Identity: l.host.Identity(), Remote: p.Host.Public(), PSK: psk, Offers: l.host.Offers, Incarnation: l.rng.Uint64(), Rand: net.Bytes(l.rng),
	})}
	v.link = e.NewLink(fmt.Sprintf("to%d", i), net.Quality{Delay: l.Delay}, p.Leaf)
	back := e.NewLink(fmt.Sprintf("from%d", i), net.Quality{Delay: l.Delay, Rate: l.Rate, Queue: liarQueue}, v)
	for _, a := range l.addrs {
		p.Leaf.Route(a, back)
	}
	l.ends = append(l.ends, v)
}

// Begin starts the liar's attacks, which continue until the faults of the run end.
func (l *Liar) Begin(until time.Duration) {
	for _, v := range l.ends {
		l.engine.After(l.wait(), v.call)
		var again func()
		again = func() {
			if l.engine.Since() > until {
				return
			}
			v.act()
			l.engine.After(l.wait(), again)
		}
		l.engine.After(l.wait(), again)
	}
}

// End stops the liar's attacks.
func (l *Liar) End() {
	if l.Leaves {
		for _, v := range l.ends {
			v.gone = true
		}
	}
	l.Honest, l.Near = 1, false
}

func (l *Liar) wait() time.Duration { return 1 + time.Duration(l.rng.ExpFloat64()*float64(l.Every)) }

// Receive implements net.Node for a packet from the host.
func (v *end) Receive(p *net.Packet) {
	if p.Origin.By != net.Node(v.h) || v.gone {
		return // a packet of a stranger
	}
	l := v.l
	if !v.nearly(p) || handshake.Kind(p.Data) != 0 {
		// A handshake response proves an address if the response was sent only to this address and
		// its keys are used.
		l.host.Witness(p)
	}
	if v.seen = append(v.seen, p.Src); len(v.seen) > seenKept {
		v.seen = v.seen[1:]
	}
	switch handshake.Kind(p.Data) {
	case handshake.TypeInitiation:
		v.answer(p)
	case handshake.TypeResponse:
		if s := v.p.Respond(p.Data); s != nil {
			v.keep(s)
			v.first(s, p)
		}
	case handshake.TypeCookie:
		v.p.Cookie(l.engine.Now(), p.Data)
	default:
		v.data(p)
	}
}

// answer responds to an initiation, and responds to copies of the newest initiation with the same
// response.
func (v *end) answer(p *net.Packet) {
	if !bytes.Equal(p.Data, v.met) {
		s, answer := v.p.Answer(p.Data)
		if s == nil {
			return
		}
		v.keep(s)
		v.met, v.answered = p.Data, answer
	}
	v.send(p.Dst, p.Src, v.answered)
}

// first sends the first packet under the keys of a handshake that the liar initiated.
func (v *end) first(s *liar.Session, p *net.Packet) {
	from := p.Dst
	if v.lured.IsValid() {
		from, v.lured = v.lured, netip.AddrPort{}
	}
	v.send(from, p.Src, s.Seal(0, liar.Frames{}.Ping()))
}

func (v *end) keep(s *liar.Session) {
	clear(v.open)
	if n := len(v.sessions); n > 0 && v.sessions[n-1].Incarnation != s.Incarnation {
		v.book = liar.Book{}
	}
	if v.sessions = append(v.sessions, s); len(v.sessions) > sessionsKept {
		v.sessions = v.sessions[1:]
	}
}

// session returns the newest session, or nil if there is none.
func (v *end) session() *liar.Session {
	if len(v.sessions) == 0 {
		return nil
	}
	return v.sessions[len(v.sessions)-1]
}

// data handles a packet that is encrypted with session keys.
func (v *end) data(p *net.Packet) {
	for i := len(v.sessions) - 1; i >= 0; i-- {
		s := v.sessions[i]
		h, plain, ok := s.Open(p.Data)
		if !ok {
			continue
		}
		if s.Own == v.p.Incarnation {
			before := len(v.book.LeftOut(h.Slot))
			v.book.Packet(&h, len(p.Data))
			if v.l.Greedy && len(v.book.LeftOut(h.Slot)) > before {
				v.acksLeftOut(s)
			}
			v.frames(s, p, &h, plain)
		}
		return
	}
}

// frames handles the frames of a packet, and in most cases responds as an honest peer would.
func (v *end) frames(s *liar.Session, p *net.Packet, h *liar.Header, plain []byte) {
	responses, ack := 0, false
	liar.Each(plain, func(f *liar.Frame) {
		switch f.Kind {
		case liar.KindMessage, liar.KindTombstone:
			if _, some := v.open[h.Slot]; !some {
				v.open[h.Slot] = unacked{h.PN, v.l.engine.Now()}
			}
			v.book.Message(f.Number)
			ack = true
		case liar.KindPing:
			ack = true
		case liar.KindResponse:
			responses++
		case liar.KindChallenge:
			v.challenged(s, p, h.Slot, f.Secret)
		}
	})
	if responses > 0 {
		v.told++
	}
	if v.told > v.asked {
		v.h.Audit.Fail("host %d answers %d times what has %d packets with challenges", v.h.Index, v.told, v.asked)
	}
	if ack && !v.acking {
		v.acking = true
		after := ackAfter
		if v.l.Greedy {
			after = ackLater
		}
		v.l.engine.After(after, func() { v.acknowledge(p.Dst, p.Src) })
	}
}

// challenged responds to a path challenge at the address from which the challenge came.
func (v *end) challenged(s *liar.Session, p *net.Packet, slot uint16, secret liar.Secret) {
	if v.nearly(p) {
		secret[len(secret)-1-v.l.rng.IntN(8)] ^= byte(1 + v.l.rng.IntN(255))
	} else if v.secrets = append(v.secrets, secret); len(v.secrets) > secretsKept {
		v.secrets = v.secrets[1:]
	}
	if v.l.rng.Float64() > v.l.Honest {
		return
	}
	v.send(p.Dst, p.Src, s.Seal(slot, liar.Frames{}.Response(secret).Pad(min(len(p.Data), 1200))))
}

// nearly reports whether the liar responds to the challenge in p with a wrong secret.
func (v *end) nearly(p *net.Packet) bool { return v.l.Near && p.Dst.Addr() != v.l.addrs[0] }

// acknowledge sends an acknowledgement for all or most of the received packets.
func (v *end) acknowledge(from, to netip.AddrPort) {
	v.acking = false
	s := v.session()
	if s == nil || v.l.rng.Float64() > v.l.Honest {
		return
	}
	clear(v.open)
	f := liar.Frames{}
	if v.l.Blank {
		f = f.Ack(v.book.FirstMissing(), 0, nil, v.book.Words())
	} else {
		f = v.book.Ack(f)
	}
	v.send(from, to, s.Seal(0, f))
}

// send sends a packet to the host from any source address.
func (v *end) send(from, to netip.AddrPort, b []byte) {
	trap := v.trap
	v.trap = net.Trap{} // even if this packet cannot be sent, because the trap belongs to it alone
	if b == nil || !to.IsValid() {
		return
	}
	p := net.UDP(from, to, b)
	p.Origin = net.Origin{By: v.l.host, Gen: 1, Aim: to.Addr(), At: v.l.engine.Now()}
	p.Trap = trap
	v.l.engine.Note(v.l.noun, "sends", p.Digest(), uint64(len(b)), 0)
	v.link.Receive(p)
}

// to returns one of the host's addresses.
func (v *end) to() netip.AddrPort {
	if n := len(v.seen); n > 0 && v.l.rng.IntN(4) > 0 {
		return v.seen[v.l.rng.IntN(n)]
	}
	if v.place.Hidden {
		return netip.AddrPort{}
	}
	addrs := v.h.Addrs
	return netip.AddrPortFrom(addrs[v.l.rng.IntN(len(addrs))], host.FirstPort+uint16(v.l.rng.IntN(v.h.Ports)))
}

// own returns one of the liar's addresses, mostly the first one, from which hosts expect its
// packets.
func (v *end) own() netip.AddrPort {
	if v.l.rng.IntN(2) == 0 {
		return netip.AddrPortFrom(v.l.addrs[0], host.FirstPort)
	}
	return netip.AddrPortFrom(v.l.addrs[v.l.rng.IntN(len(v.l.addrs))], v.port())
}

// others returns a mute address, which the liar does not own.
func (v *end) others() netip.AddrPort {
	mute := v.place.Tap.mute
	if len(mute) == 0 {
		return v.own()
	}
	return netip.AddrPortFrom(mute[v.l.rng.IntN(len(mute))], v.port())
}

func (v *end) port() uint16 { return uint16(1 + v.l.rng.IntN(v.l.Ports)) }
