package srd_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// greets passes a handshake packet from the tuple t to h. It returns the immediate reply,
// if any, without sending it.
func (h *host) greets(t srd.Tuple, b []byte) (reply []byte) {
	a, reply := h.end.Receive(h.p.now, t, b, h.lookup)
	if a.Conn != nil && a.Deliver(h.p.now) {
		reply = h.end.Stale(h.p.now, &a)
	}
	h.service()
	return reply
}

func (h *host) lookup(i uint32) *srd.Conn {
	if e := h.index[i]; e != nil {
		return e.conn
	}
	return nil
}

// forger makes cookie replies that seem to come from the host with a given public key.
type forger struct {
	checker *handshake.Checker
	rng     reader
}

func newForger(key handshake.PublicKey) *forger {
	rng := reader{rand.New(rand.NewPCG(3, 3))}
	return &forger{handshake.NewChecker(key, rng), rng}
}

// cookie returns a reply to msg with a cookie that the host has not made.
func (f *forger) cookie(now mono.Time, msg []byte) []byte {
	return f.checker.CookieReply(f.rng, now, msg, netip.MustParseAddrPort("203.0.113.1:1"))
}

// every sends n messages, at intervals of d.
func (h *host) every(d time.Duration, n int) {
	if n == 0 {
		return
	}
	h.src.left, h.src.size = h.src.left+1, 100
	h.service()
	h.p.at(h.p.now.Add(d), func() { h.every(d, n-1) })
}

// An observer sees each initiation and replies first, with a false cookie, from its own
// address or with the source address of the responder. The handshake takes at most two
// round trips and a second, keys are renewed, and no message is given up.
func TestFalseCookiesStopNothing(t *testing.T) {
	for _, rtt := range []time.Duration{25, 30, 40, 100, 400} {
		for _, called := range []bool{false, true} {
			rtt := rtt * time.Millisecond
			t.Run(fmt.Sprintf("%v/called=%v", rtt, called), func(t *testing.T) {
				var l []*link
				for range 4 {
					l = append(l, &link{delay: rtt / 2})
				}
				p := newPair(t, 31, l...)
				h, f := p.host[0], newForger(p.host[1].id.Public())
				astray := 0
				p.tap = func(side, i int, b []byte) {
					if side != 0 || handshake.Kind(b) != handshake.TypeInitiation {
						return
					}
					from := p.tuple(0, i)
					if h.train.Tuple.Remote == elsewhere.Remote {
						astray++
					}
					if !called {
						from.Remote = elsewhere.Remote
					}
					p.at(p.now.Add(time.Millisecond), func() { h.greets(from, f.cookie(p.now, b)) })
				}
				start := p.now
				p.connect()
				if d := p.now.Sub(start); d > rtt*2+time.Second {
					t.Errorf("a session after %v", d)
				}
				h.every(time.Second, 400)
				p.run(410*time.Second, never)
				p.wantAll(1, 400)
				s := h.conn.Stats()
				if s.Handshakes < 3 || s.GivenUp > 0 {
					t.Errorf("%d handshakes in 400 s, %d payloads given up", s.Handshakes, s.GivenUp)
				}
				if astray > 0 {
					t.Errorf("%d initiations go to somebody who was not called", astray)
				}
			})
		}
	}
}

// anybody makes about `rate` initiations of a stranger arrive at h each second, until the
// test is over or stop() returns true. The source of each is the address that from()
// returns.
func (h *host) anybody(rate int, from func() netip.AddrPort, stop func() bool) {
	p, s := h.p, newStranger(h.p, h.id.Public())
	var pool [][]byte
	for range 64 {
		pool = append(pool, s.initiation())
	}
	n := 0
	var next func()
	next = func() {
		if stop() {
			return
		}
		n++
		h.end.Receive(p.now, srd.Tuple{Local: elsewhere.Local, Remote: from()}, pool[n%len(pool)], nobody)
		// The interval is random, at most twice the mean, because real senders are not periodic.
		p.at(p.now.Add(time.Duration(p.rng.Int64N(2*int64(time.Second)/int64(rate)))), next)
	}
	next()
}

// sources returns functions that choose the source addresses of a flood.
func sources(p *pair) map[string]func() netip.AddrPort {
	return map[string]func() netip.AddrPort{
		"one address": func() netip.AddrPort { return elsewhere.Remote },
		"anywhere": func() netip.AddrPort {
			v := p.rng.Uint32()
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}), uint16(p.rng.Uint32()))
		},
		"the peer's address": func() netip.AddrPort {
			return netip.AddrPortFrom(p.tuple(1, 0).Remote.Addr(), uint16(p.rng.Uint32()))
		},
	}
}

// A flood of 200,000 initiations a second does not prevent a peer with a session from
// renewing its keys, whether the initiations come from one address, from many addresses, or
// from the peer's own. No message is lost during the flood, and little processor time is
// spent on the strangers.
func TestFloodOfInitiationsLeavesRekeys(t *testing.T) {
	for _, name := range []string{"one address", "anywhere", "the peer's address"} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 33, links(8)...)
			p.connect()
			h := p.host[0]
			h.every(time.Second, 140)
			p.run(119*time.Second, never)
			renewed := func() bool { return p.host[1].conn.Stats().Handshakes > 1 && h.conn.Stats().Handshakes > 1 }
			before := p.host[1].end.Drops[srd.EndUnknownPeer]
			p.host[1].anybody(200_000, sources(p)[name], renewed)
			start := p.now
			p.run(30*time.Second, renewed)
			took := p.now.Sub(start)
			if !renewed() {
				t.Errorf("keys are not renewed %v after they were due", took-time.Second)
			}
			work := p.host[1].end.Drops[srd.EndUnknownPeer] - before
			if most := uint64(200 + 200*took.Seconds()); work > most {
				t.Errorf("%d initiations of strangers opened in %v, want %d at most", work, took, most)
			}
			t.Logf("%v after they were due, %d initiations opened", took-time.Second, work)
			p.run(145*time.Second-took, never)
			if p.wantAll(1, 140); h.conn.Stats().GivenUp > 0 {
				t.Errorf("%d payloads given up", h.conn.Stats().GivenUp)
			}
		})
	}
}

// The flooded host can send initiations itself, because their responses are not part of the
// flood. So keys are renewed in time even if no initiation of the peer is handled.
func TestFloodedEndRenewsKeys(t *testing.T) {
	p := newPair(t, 35, links(8)...)
	p.host[1].life = 80 * time.Second // as responder it begins a handshake after 100 s
	p.host[1].start()
	p.connect()
	p.host[0].every(time.Second, 105)
	p.run(99*time.Second, never)
	renewed := func() bool { return p.host[1].conn.Stats().Handshakes > 1 }
	p.host[1].anybody(200_000, sources(p)["the peer's address"], renewed)
	p.run(5*time.Second, renewed)
	if s := p.host[1].conn.Session(p.now); !renewed() || !s.Initiator || p.now.Sub(s.Since) > time.Second {
		t.Errorf("%+v at %v", s, p.now)
	}
}

// A flood of initiations does not prevent a first session with a peer.
func TestFloodOfInitiationsLeavesSessions(t *testing.T) {
	for _, name := range []string{"one address", "anywhere"} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 34, links(8)...)
			p.host[1].anybody(200_000, sources(p)[name], func() bool { return p.host[1].conn.Session(p.now).Ready })
			p.run(500*time.Millisecond, never)
			start := p.now
			p.connect()
			if d := p.now.Sub(start); d > 10*time.Second {
				t.Errorf("a session after %v", d)
			} else {
				t.Logf("a session after %v", d)
			}
		})
	}
}

// observer is an attacker that sees packets, and sends forged ones from any address. It can
// do everything that needs no private key: it makes valid first MACs, decrypts the cookies
// that it sees, and uses them.
type observer struct {
	to  handshake.PublicKey
	rng *rand.Rand
}

func (o *observer) key(label string) []byte {
	k := blake2s.Sum256(append([]byte(label), o.to[:]...))
	return k[:]
}

func (o *observer) mac(key, b []byte) []byte {
	h, _ := blake2s.New128(key)
	h.Write(b)
	return h.Sum(nil)
}

// response returns a response to the attempt with the receiver index, which fails to
// decrypt. If a cookie is given, it has a valid second MAC.
func (o *observer) response(index uint32, cookie []byte) []byte {
	b := make([]byte, handshake.ResponseSize)
	reader{o.rng}.Read(b)
	copy(b, []byte{0x22, 0, 0, 0})
	binary.BigEndian.PutUint32(b[8:], index)
	at1, at2 := len(b)-32, len(b)-16
	copy(b[at1:], o.mac(o.key("srdtun mac1"), b[:at1]))
	if cookie != nil {
		copy(b[at2:], o.mac(cookie, b[:at2]))
	}
	return b
}

// open decrypts the cookie in the reply to msg.
func (o *observer) open(reply, msg []byte) []byte {
	aead, _ := chacha20poly1305.NewX(o.key("srdtun cookie"))
	cookie, err := aead.Open(nil, reply[8:32], reply[32:], msg[len(msg)-32:len(msg)-16])
	if err != nil {
		panic(err)
	}
	return cookie
}

// besiege sends h about `rate` bogus responses a second to h's newest attempt, with the
// source addresses to which h sent the initiation. It uses the cookies in h's replies.
func (o *observer) besiege(h *host, rate int) {
	p := h.p
	var index uint32
	p.tap = func(side, i int, b []byte) {
		if side == h.side && handshake.Kind(b) == handshake.TypeInitiation {
			index, _ = handshake.SenderIndex(b)
		}
	}
	cookies := make([][]byte, len(p.links))
	var next func()
	next = func() {
		i := o.rng.IntN(len(p.links))
		b := o.response(index, cookies[i])
		if reply := h.greets(p.tuple(h.side, i), b); reply != nil {
			cookies[i] = o.open(reply, b)
		}
		p.at(p.now.Add(time.Duration(o.rng.Int64N(2*int64(time.Second)/int64(rate)))), next)
	}
	next()
}

// Responses that fail to decrypt cost at most a fixed share of a core, however many arrive
// from any address. A session with the peer still begins, and its keys are renewed.
func TestBogusResponsesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds: make test runs it")
	}
	t.Run("work", func(t *testing.T) {
		p := newPair(t, 36, links(8)...)
		for _, l := range p.links {
			l.dead[1] = true // so that it repeats its initiation
		}
		h := p.host[0]
		h.conn.SetTuples(p.now, p.tuples(0))
		h.conn.Connect(p.now)
		h.service()
		o := &observer{h.id.Public(), rand.New(rand.NewPCG(4, 4))}
		o.besiege(h, 5000)
		p.run(5*time.Second, never)
		failed, drops := h.conn.Stats().Drops[srd.DropHandshakeBad], h.end.Drops
		if most := uint64(256 + 200*5); failed > most || failed < 100 {
			t.Errorf("%d responses opened in 5 s, want %d at most", failed, most)
		}
		if drops[srd.EndUnderLoad] == 0 || drops[srd.EndSourceLimit]+drops[srd.EndBudget] < 20_000 {
			t.Errorf("counters %v", drops)
		}
	})
	t.Run("session under load", func(t *testing.T) {
		// The true response arrives while the host demands cookies. The responder gets a cookie,
		// and sends its response again.
		p := newPair(t, 39, links(8)...)
		for _, l := range p.links {
			l.dead[1] = true
		}
		h := p.host[0]
		h.conn.SetTuples(p.now, p.tuples(0))
		h.conn.Connect(p.now)
		h.service()
		o := &observer{h.id.Public(), rand.New(rand.NewPCG(4, 4))}
		o.besiege(h, 400)
		p.run(3*time.Second, never)
		for _, l := range p.links {
			l.dead[1] = false
		}
		under := h.end.Drops[srd.EndUnderLoad]
		ready := func() bool { return h.conn.Session(p.now).Ready }
		if p.run(2*time.Second, ready); !ready() {
			t.Errorf("no session two seconds after the path is whole; counters %v", h.end.Drops)
		}
		if h.end.Drops[srd.EndUnderLoad] == under {
			t.Error("no cookie was asked for: nothing was tested")
		}
	})
	t.Run("session", func(t *testing.T) {
		p := newPair(t, 37, links(8)...)
		h := p.host[0]
		o := &observer{h.id.Public(), rand.New(rand.NewPCG(4, 4))}
		o.besiege(h, 1000)
		start := p.now
		p.connect()
		if d := p.now.Sub(start); d > time.Second {
			t.Errorf("a session after %v", d)
		}
		h.every(time.Second, 130)
		p.run(132*time.Second, never)
		if p.wantAll(1, 130); h.conn.Stats().Handshakes < 2 {
			t.Error("keys are not renewed")
		}
	})
}

// A peer that lies at the beginning of each session gets only few sessions.
func TestLiarWaits(t *testing.T) {
	p := newPair(t, 38, links(4)...)
	liar, h := p.host[1], p.host[0]
	liar.conn.SetTuples(p.now, p.tuples(1))
	lies := 0
	var next func()
	next = func() {
		for _, e := range h.index {
			if e.keys != nil && h.conn.Session(p.now).Ready {
				lies++
				h.conn.Handle(p.now, &srd.Packet{
					Tuple: p.tuple(0, 0), PN: 1<<20 + uint64(lies), Size: 100, Keys: e.keys,
					Plain: wire.AppendAck(nil, 1<<40, 0, nil, nil),
				})
				h.service()
				break
			}
		}
		for _, s := range p.host {
			s.conn.Connect(p.now)
			s.service()
		}
		p.at(p.now.Add(time.Millisecond), next)
	}
	next()
	p.run(60*time.Second, never)
	// There is one handshake after each wait of 0.5, 1, 2, 4, 8, 16 and 32 s, or two if both
	// ends begin one.
	if n := h.conn.Stats().Handshakes; n > 16 || lies < 5 {
		t.Errorf("%d handshakes and %d lies in a minute", n, lies)
	}
}
