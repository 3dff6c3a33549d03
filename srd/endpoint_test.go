package srd_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// stranger is an attacker who knows only a host's public key.
type stranger struct {
	t  testing.TB
	id *handshake.Identity
	to handshake.PublicKey
	n  int64
}

func newStranger(p *pair, to handshake.PublicKey) *stranger {
	var priv [32]byte
	reader{p.rng}.Read(priv[:])
	id, err := handshake.NewIdentity(priv)
	if err != nil {
		p.t.Fatal(err)
	}
	return &stranger{t: p.t, id: id, to: to}
}

// initiation returns an initiation with a correct first MAC and a newer timestamp than the
// last one.
func (s *stranger) initiation() []byte { return s.stamped(nil) }

// stamped returns an initiation with a mac2, if stamp has a cookie.
func (s *stranger) stamped(stamp *handshake.Stamper) []byte {
	s.n++
	hello := handshake.Hello{
		Timestamp: handshake.TimestampOf(time.Unix(1e9, s.n)), Incarnation: 1,
		Offers: handshake.OffersOf(handshake.AES256GCM),
	}
	rng := reader{rand.New(rand.NewPCG(uint64(s.n), 7))}
	_, msg, err := s.id.Initiate(rng, s.to, handshake.PSK{}, uint32(s.n), hello, stamp)
	if err != nil {
		s.t.Fatal(err)
	}
	return msg
}

var elsewhere = srd.Tuple{Local: srd.UplinkOf(netip.MustParseAddr("10.0.0.2"), 0), Remote: netip.MustParseAddrPort("192.0.2.9:999")}

func nobody(uint32) *srd.Conn { return nil }

func TestWhatEndpointsDropIsCounted(t *testing.T) {
	p := newPair(t, 20, four(0, 0)...)
	h := p.host[1]
	s := newStranger(p, h.id.Public())
	spoilt := func(at int) []byte {
		b := s.initiation()
		b[at] ^= 1
		return b
	}
	other := newStranger(p, p.host[0].id.Public())
	response := make([]byte, handshake.ResponseSize)
	response[0] = 0x22
	cookie := make([]byte, handshake.CookieSize)
	cookie[0] = 0x23
	for _, c := range []struct {
		name string
		msg  []byte
		want srd.EndpointReason
	}{
		{"stranger", s.initiation(), srd.EndUnknownPeer},
		{"spoilt in the middle", spoilt(60), srd.EndBadMAC},
		{"spoilt mac1", spoilt(handshake.InitiationSize - 20), srd.EndBadMAC},
		{"meant for another", other.initiation(), srd.EndBadMAC},
		{"response without a MAC", response, srd.EndBadMAC},
		{"cookie of nobody", cookie, srd.EndNoIndex},
		{"other version", []byte{0x21, 0, 0, 0}, srd.EndUnknownType},
		{"empty", nil, srd.EndUnknownType},
		{"too long", append(s.initiation(), 0), srd.EndUnknownType},
	} {
		before := h.end.Drops
		a, reply := h.end.Receive(p.now, elsewhere, c.msg, nobody)
		if a.Conn != nil || reply != nil {
			t.Errorf("%s: reaches a connection or is answered", c.name)
		}
		before[c.want]++
		if h.end.Drops != before {
			t.Errorf("%s: counters %v, want %v", c.name, h.end.Drops, before)
		}
		if c.want == srd.EndNoIndex {
			continue
		}
		var key handshake.PublicKey
		if c.want == srd.EndUnknownPeer {
			key = s.id.Public()
		}
		if got := h.end.Refused[c.want]; got.From != elsewhere.Remote || got.Key != key {
			t.Errorf("%s: refused %+v", c.name, got)
		}
	}
}

// flood makes `rate` initiations of a stranger arrive at h each second.
func flood(p *pair, h *host, rate int) {
	s := newStranger(p, h.id.Public())
	var pool [][]byte
	for range 64 {
		pool = append(pool, s.initiation())
	}
	n := 0
	var next func()
	next = func() {
		n++
		h.end.Receive(p.now, elsewhere, pool[n%len(pool)], nobody)
		p.at(p.now.Add(time.Second/time.Duration(rate)), next)
	}
	next()
}

// links returns n links of unlimited rate.
func links(n int) []*link {
	var v []*link
	for range n {
		v = append(v, &link{delay: 50 * time.Microsecond, limit: time.Second})
	}
	return v
}

// Under a flood of initiations from forged addresses the host spends little work on them,
// and its peer gets a session by means of a cookie. The peer has more paths than an
// initiation is sent on, and a cookie is valid on only one of them.
func TestPeerGetsThroughAFlood(t *testing.T) {
	for _, ports := range []int{1, 4, 16, 40} {
		p := newPair(t, 21, links(ports)...)
		flood(p, p.host[1], 5000)
		p.run(1500*time.Millisecond, never)
		drops := &p.host[1].end.Drops
		if drops[srd.EndUnderLoad] < 7000 || drops[srd.EndUnknownPeer] > 300 {
			t.Fatalf("%d ports: counters %v", ports, drops)
		}
		start := p.now
		p.connect()
		if d := p.now.Sub(start); d > time.Second {
			t.Errorf("%d ports: a session after %v", ports, d)
		}
	}
}

// A stranger who does not forge its address can use a cookie, too. It gets a fixed share of
// the host's time, and the peer still gets a session.
func TestOneSourceCannotFlood(t *testing.T) {
	p := newPair(t, 27, links(4)...)
	h := p.host[1]
	s := newStranger(p, h.id.Public())
	stamp := handshake.NewStamper(h.id.Public())
	var next func()
	next = func() {
		p.at(p.now.Add(time.Second/1000), next)
		_, reply := h.end.Receive(p.now, elsewhere, s.stamped(stamp), nobody)
		if reply == nil {
			return
		}
		if err := stamp.ConsumeCookie(p.now, reply); err != nil {
			t.Fatal(err)
		}
	}
	next()
	p.run(200*time.Millisecond, never)
	before := h.end.Drops
	p.run(2*time.Second, never)
	if n := h.end.Drops[srd.EndUnknownPeer] - before[srd.EndUnknownPeer]; n > 2*(100+20)+120 {
		t.Errorf("%d initiations of a stranger were opened in 2 s", n)
	}
	start := p.now
	p.connect()
	if d := p.now.Sub(start); d > time.Second {
		t.Errorf("a session after %v", d)
	}
}

// A peer whose clock went back still gets a session, even if copies of all its packets from
// an observer arrive first. In that case the first copy of a stale initiation comes from
// another address, and so does the first copy with the cookie.
func TestPeerWithAnOldClock(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		for _, ports := range []int{1, 16, 40} {
			p := newPair(t, 22, links(ports)...)
			p.connect()
			p.run(time.Second, never)
			p.late = 1000 * time.Hour
			p.host[0].start()
			if overtaken {
				p.tap = (&forwarder{p: p, from: func(int) netip.AddrPort { return elsewhere.Remote }}).tap
			}
			start := p.now
			p.connect()
			p.host[0].src = source{left: 100, size: 100}
			p.host[0].service()
			p.run(3*time.Second, func() bool { return len(p.host[1].got) == 100 })
			if n := len(p.host[1].got); n != 100 {
				t.Errorf("%d ports, overtaken %v: %d messages of 100", ports, overtaken, n)
			}
			if d := p.now.Sub(start); d > time.Second && !overtaken {
				t.Errorf("%d ports: it took %v", ports, d)
			}
		}
	}
}

// One initiation arrives over many paths, and each packet arrives twice. The result is one
// handshake, one session and one set of keys.
func TestCopiesMakeOneSession(t *testing.T) {
	l := links(8)
	for _, l := range l {
		l.dup = 1
	}
	p := newPair(t, 23, l...)
	p.connect()
	p.run(time.Second, never)
	for side, h := range p.host {
		if n := h.conn.Stats().Handshakes; n != 1 {
			t.Errorf("side %d: %d handshakes", side, n)
		}
		if n := len(h.index); n != 1 {
			t.Errorf("side %d: %d indices in use", side, n)
		}
	}
	if n := p.host[0].conn.Stats().Drops[srd.DropHandshakeCopy]; n < 8 {
		t.Errorf("%d copies of the response counted", n)
	}
	// Of 16, the first was handled, and all others were answered as copies of it.
	if n := p.host[1].conn.Stats().Drops[srd.DropHandshakeCopy]; n != 0 {
		t.Errorf("%d copies of the initiation were not answered", n)
	}
}

// Replayed handshake packets neither begin nor end a session, and they are counted.
func TestPlayedAgain(t *testing.T) {
	p := newPair(t, 24, links(4)...)
	type packet struct {
		side, link int
		b          []byte
	}
	var tape []packet
	p.tap = func(side, i int, b []byte) {
		if _, data := srd.DataIndex(b); !data {
			tape = append(tape, packet{side, i, b})
		}
	}
	p.connect()
	for range 2 {
		p.run(130*time.Second, never) // until keys are renewed, if there is traffic
		p.host[0].src = source{left: 10, size: 100, next: p.host[0].src.next}
		p.host[0].service()
	}
	p.run(time.Second, never)
	if len(tape) < 8 {
		t.Fatalf("%d handshake packets", len(tape))
	}
	p.tap = nil
	before := [2]srd.Stats{*p.host[0].conn.Stats(), *p.host[1].conn.Stats()}
	for _, k := range tape {
		p.host[1-k.side].receive(k.link, append([]byte(nil), k.b...))
	}
	p.host[0].src = source{left: 10, size: 100, next: p.host[0].src.next}
	p.host[0].service()
	p.run(time.Second, never)
	p.wantAll(1, 30)
	for side, h := range p.host {
		s := h.conn.Stats()
		if s.Handshakes != before[side].Handshakes || s.Drops[srd.DropIncarnation] != 0 {
			t.Errorf("side %d: %d handshakes, before %d", side, s.Handshakes, before[side].Handshakes)
		}
	}
	counted := p.host[0].end.Drops[srd.EndNoIndex] + p.host[0].conn.Stats().Drops[srd.DropHandshakeCopy] +
		p.host[1].conn.Stats().Drops[srd.DropHandshakeCopy] + p.host[1].conn.Stats().Drops[srd.DropHandshakeReplay]
	if counted < uint64(len(tape)) {
		t.Errorf("%d packets played, %d counted", len(tape), counted)
	}
}

// Both sides restart and renew keys, on links that lose, duplicate and reorder packets. The
// harness fails if a key is used with the same nonce twice. At the end a session must carry
// messages.
func TestRestartsUseNoNonceTwice(t *testing.T) {
	l := four(20*mbit, 3*time.Millisecond)
	for _, l := range l {
		l.loss, l.dup, l.swap = 0.2, 0.2, 0.2
	}
	p := newPair(t, 25, l...)
	p.connect()
	for round := range 8 {
		if round%2 == 1 {
			p.host[round/2%2].start()
		}
		h := p.host[0]
		h.conn.SetTuples(p.now, p.tuples(0))
		h.conn.Connect(p.now)
		h.src = source{left: 300, size: 1200, next: uint64(round) * 300}
		h.service()
		p.run(3*time.Second, never)
	}
	p.host[1].got = nil
	p.host[0].src = source{left: 300, size: 1200}
	p.host[0].service()
	p.run(3*time.Second, never)
	if n := len(p.host[1].got); n != 300 {
		t.Errorf("%d messages of 300 on the last session", n)
	}
	if p.sealed.packets < 2000 || len(p.sealed.last) < 20 {
		t.Errorf("%d packets sealed under %d pairs of key and path", p.sealed.packets, len(p.sealed.last))
	}
}

// Remove deletes all references of an endpoint to the connection.
func TestRemovedPeerIsUnknown(t *testing.T) {
	p := newPair(t, 26, links(1)...)
	var hello []byte
	p.tap = func(side, i int, b []byte) {
		if side == 0 && hello == nil {
			hello = b
		}
	}
	p.connect()
	h := p.host[1]
	h.end.Remove(h.conn)
	a, reply := h.end.Receive(mono.Time(p.now), elsewhere, hello, nobody)
	if a.Conn != nil || reply != nil || h.end.Drops[srd.EndUnknownPeer] != 1 {
		t.Fatalf("conn %v, reply %v, counters %v", a.Conn != nil, reply != nil, h.end.Drops)
	}
}
