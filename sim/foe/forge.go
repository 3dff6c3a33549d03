package foe

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/liar"
)

const (
	// floodStep is the number of packets of a flood that arrive at the same time. Separate
	// arrivals would need one simulation event for each packet.
	floodStep = 8
	// cookiesHeld is the number of cookies that a tap stores.
	cookiesHeld = 16
	// mostForged bounds the number of forged initiations that a tap sends one by one. Each forged
	// initiation costs two Diffie-Hellman operations, which the simulation must compute as well.
	mostForged = 60
)

// forger creates forged packets for a tap, and has only public keys.
type forger struct {
	made    int
	noise   *net.Packet // the last forged initiation, sent from an address of the tap
	cookies []held
}

// held is a cookie that a host sent to one of the tap's addresses.
type held struct {
	at     netip.AddrPort
	cookie liar.Cookie
}

// forged returns a packet from the tap with the given addresses.
func forged(src, dst netip.AddrPort, data []byte) *net.Packet {
	q := net.UDP(src, dst, data)
	q.Forged = true
	return q
}

// answer sends a forged response to an outgoing initiation before the peer can respond. If a
// flood waits for an initiation, it starts.
func (t *Tap) answer(p *net.Packet) {
	if v := t.waits; v != nil {
		t.waits = nil
		t.flood(*v, v.N)
	}
	if t.dares(t.foes.Cookies) {
		t.falseCookie(p, p.Dst)
	}
	if t.dares(t.foes.Responses) {
		t.falseResponse(p, p.Dst)
	}
}

// answerFalsely sends a forged response to an initiation after a delay, from the initiation's
// destination or another address.
func (t *Tap) answerFalsely(p *net.Packet) {
	from := p.Dst
	if t.rng.IntN(2) == 0 {
		from = t.elsewhere()
	}
	if t.rng.IntN(2) == 0 {
		t.falseCookie(p, from)
	} else {
		t.falseResponse(p, from)
	}
}

func (t *Tap) falseCookie(p *net.Packet, from netip.AddrPort) {
	if t.ground == nil {
		return
	}
	for _, v := range t.ground.Places {
		if v.Host != t.host {
			b := liar.FalseCookie(net.Bytes(t.rng), p.Data, v.Host.Public())
			t.inject("bakes", forged(from, p.Src, b))
		}
	}
}

func (t *Tap) falseResponse(p *net.Packet, from netip.AddrPort) {
	if attempt, ok := handshake.SenderIndex(p.Data); ok && t.ground != nil {
		b := liar.NoiseResponse(net.Bytes(t.rng), t.host.Public(), attempt)
		t.inject("responds", forged(from, p.Src, b))
	}
}

// forge sends a forged initiation to the destination of p.
func (t *Tap) forge(p *net.Packet) {
	if t.ground == nil {
		return
	}
	from, cookie := t.elsewhere(), (*liar.Cookie)(nil)
	if n := len(t.forger.cookies); n > 0 && t.rng.IntN(2) == 0 {
		c := &t.forger.cookies[t.rng.IntN(n)]
		from, cookie = c.at, &c.cookie
	}
	b := liar.NoiseInitiation(net.Bytes(t.rng), t.host.Public(), t.rng.Uint32(), cookie)
	q := forged(from, p.Dst, b)
	t.forger.noise = q
	t.inject("forges", q)
}

// read handles a packet to one of the tap's addresses. The tap responds to an initiation with a
// false cookie, and stores a received cookie for its own forged initiations.
func (t *Tap) read(p *net.Packet) {
	if t.ground == nil {
		return
	}
	by := t.ground.place(p.Origin.By)
	switch handshake.Kind(p.Data) {
	case handshake.TypeInitiation:
		if t.dares(t.foes.Cookies) && by != nil {
			q := p.Readdressed(p.Src, p.Dst)
			by.Tap.falseCookie(q, p.Dst)
		}
	case handshake.TypeCookie:
		asked := t.forger.noise
		if asked == nil || by == nil {
			return
		}
		if c, ok := liar.OpenCookie(p.Data, asked.Data, by.Host.Public()); ok {
			t.forger.cookies = append(t.forger.cookies[max(0, len(t.forger.cookies)-cookiesHeld+1):], held{p.Dst, c})
		}
	}
}

// aim prepares a flood of packets. Like a real observer, a flood of responses may wait for the
// first initiation. Forged responses do most harm during a handshake attempt.
func (t *Tap) aim(v Flood) {
	if v.Kind == FloodResponses && t.rng.IntN(2) == 0 {
		t.waits = &v
		return
	}
	t.engine.At(net.Start.Add(v.At), func() { t.flood(v, v.N) })
}

// flood delivers the remaining packets of a flood (left) to the host.
func (t *Tap) flood(v Flood, left int) {
	p := t.kept.any(t.rng)
	if p == nil && v.Kind != FloodResponses || t.foes.Ports == 0 {
		return
	}
	for range min(left, floodStep) {
		if q := t.flooded(v.Kind, p); q != nil {
			t.inject("floods", q)
		}
	}
	if left > floodStep {
		t.engine.After(time.Duration(floodStep/v.Rate*1e9), func() { t.flood(v, left-floodStep) })
	}
}

// flooded creates one packet of a flood to the destination of p.
func (t *Tap) flooded(kind int, p *net.Packet) *net.Packet {
	switch kind {
	case FloodNoise:
		t.forge(p)
		return nil
	case FloodCopies:
		if c := t.calls.any(t.rng); c != nil {
			return t.from(t.elsewhere(), c)
		}
	case FloodResponses:
		if c := t.called.newest(); c != nil {
			t.falseResponse(c, t.elsewhere())
		}
	case FloodData:
		if _, ok := srd.DataIndex(p.Data); ok {
			return t.from(t.elsewhere(), t.spoil(p))
		}
	}
	return nil
}
