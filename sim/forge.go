package sim

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/liar"
)

const (
	// floodStep is how many packets of a flood arrive at once: with less there are as
	// many events as packets.
	floodStep = 8
	// cookiesHeld is how many cookies a tap keeps.
	cookiesHeld = 16
	// mostForged is how many initiations of noise a tap sends one by one: each costs the
	// host two Diffie-Hellman operations, and the simulation as well.
	mostForged = 60
)

// forger is what a tap makes itself, with public keys alone.
type forger struct {
	made    int
	noise   *Packet // the last initiation of noise from an address of the tap's
	cookies []held
}

// held is a cookie that was sent to an address of the tap's.
type held struct {
	at     netip.AddrPort
	cookie liar.Cookie
}

// forged returns a packet that the tap has made of p's addresses.
func forged(src, dst netip.AddrPort, data []byte) *Packet {
	q := UDP(src, dst, data)
	q.Forged = true
	return q
}

// answer answers an initiation that goes out, before the peer can. A flood that waits for
// one begins.
func (t *Tap) answer(p *Packet) {
	if v := t.waits; v != nil {
		t.waits = nil
		t.flood(*v, v.n)
	}
	if t.dares(t.foes.cookies) {
		t.falseCookie(p, p.Dst)
	}
	if t.dares(t.foes.responses) {
		t.falseResponse(p, p.Dst)
	}
}

// answerFalsely answers it some time later, from wherever.
func (t *Tap) answerFalsely(p *Packet) {
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

func (t *Tap) falseCookie(p *Packet, from netip.AddrPort) {
	if t.ground == nil {
		return
	}
	for _, v := range t.ground.Places {
		if v.Host != t.host {
			b := liar.FalseCookie(Bytes(t.rng), p.Data, v.Host.Public())
			t.inject("bakes", forged(from, p.Src, b))
		}
	}
}

func (t *Tap) falseResponse(p *Packet, from netip.AddrPort) {
	if attempt, ok := handshake.SenderIndex(p.Data); ok && t.ground != nil {
		b := liar.NoiseResponse(Bytes(t.rng), t.host.Public(), attempt)
		t.inject("responds", forged(from, p.Src, b))
	}
}

// forge sends one initiation of noise to where p went.
func (t *Tap) forge(p *Packet) {
	if t.ground == nil {
		return
	}
	from, cookie := t.elsewhere(), (*liar.Cookie)(nil)
	if n := len(t.forger.cookies); n > 0 && t.rng.IntN(2) == 0 {
		c := &t.forger.cookies[t.rng.IntN(n)]
		from, cookie = c.at, &c.cookie
	}
	b := liar.NoiseInitiation(Bytes(t.rng), t.host.Public(), t.rng.Uint32(), cookie)
	q := forged(from, p.Dst, b)
	t.forger.noise = q
	t.inject("forges", q)
}

// read takes what was sent to an address of the tap's: an initiation, which gets a false
// cookie, or a cookie for noise of its own.
func (t *Tap) read(p *Packet) {
	if t.ground == nil {
		return
	}
	by := t.ground.place(p.Origin.By)
	switch handshake.Kind(p.Data) {
	case handshake.TypeInitiation:
		if t.dares(t.foes.cookies) && by != nil {
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

// aim plans a flood. One of responses may wait for the first initiation, as an observer
// would: they are worth most while the attempt lasts.
func (t *Tap) aim(v flood) {
	if v.kind == floodResponses && t.rng.IntN(2) == 0 {
		t.waits = &v
		return
	}
	t.engine.At(start.Add(v.at), func() { t.flood(v, v.n) })
}

// flood lets packets arrive at the host, left of them.
func (t *Tap) flood(v flood, left int) {
	p := t.kept.any(t.rng)
	if p == nil && v.kind != floodResponses || t.foes.ports == 0 {
		return
	}
	for range min(left, floodStep) {
		if q := t.flooded(v.kind, p); q != nil {
			t.inject("floods", q)
		}
	}
	if left > floodStep {
		t.engine.After(time.Duration(floodStep/v.rate*1e9), func() { t.flood(v, left-floodStep) })
	}
}

// flooded makes one packet of a flood to where p went.
func (t *Tap) flooded(kind int, p *Packet) *Packet {
	switch kind {
	case floodNoise:
		t.forge(p)
		return nil
	case floodCopies:
		if c := t.calls.any(t.rng); c != nil {
			return t.from(t.elsewhere(), c)
		}
	case floodResponses:
		if c := t.called.newest(); c != nil {
			t.falseResponse(c, t.elsewhere())
		}
	case floodData:
		if _, ok := srd.DataIndex(p.Data); ok {
			return t.from(t.elsewhere(), t.spoil(p))
		}
	}
	return nil
}
