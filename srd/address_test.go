package srd

import (
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// These tests have two attackers. One is an observer: it forwards copies of a peer's
// packets from other addresses, and the copies arrive before the originals. The other is a
// peer that forges its source address.

// at returns the tuple from this host to the given address and port: those of a victim, or
// new ones of the peer.
func at(addr string, port int) Tuple {
	return Tuple{Local: UplinkOf(netip.MustParseAddr("10.0.0.1"), 0), Remote: netip.AddrPortFrom(netip.MustParseAddr(addr), uint16(port))}
}

const victim = "192.0.2.7"

// bytesTo returns how many bytes were sent to addr, without the first `from` packets.
func (s *script) bytesTo(from int, addr string) (n int) {
	for _, p := range s.sent[from:] {
		if p.to.Remote.Addr() == netip.MustParseAddr(addr) {
			n += p.size
		}
	}
	return n
}

// challengesTo returns how many challenges were sent to addr.
func (s *script) challengesTo(addr string) (n int) {
	for _, p := range s.sent {
		if p.to.Remote.Addr() == netip.MustParseAddr(addr) && p.has(wire.KindChallenge) {
			n++
		}
	}
	return n
}

// active returns how many active paths lead to addr.
func (s *script) active(addr string) (n int) {
	for _, p := range s.c.paths.table {
		if p.state == PathActive && p.tuple.Remote.Addr() == netip.MustParseAddr(addr) {
			n++
		}
	}
	return n
}

func repeated(n int, secret byte, k wire.Kind) (b []byte) {
	for i := range n {
		b = wire.AppendSecret(b, k, &wire.Secret{secret, byte(i), byte(i >> 8)})
	}
	return b
}

// A lying peer sends packets with a victim's source address, from any ports and in any path
// slots. The victim gets at most three times the bytes that the peer sent.
func TestScriptNoReflection(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newScript(t, 2)
		s.mute = true
		came := 0
		for range rapid.IntRange(1, 100).Draw(r, "packets") {
			var b []byte
			switch rapid.IntRange(0, 5).Draw(r, "frames") {
			case 0:
				b = repeated(rapid.IntRange(1, 129).Draw(r, "challenges"), byte(rapid.IntRange(0, 255).Draw(r, "secret")), wire.KindChallenge)
			case 1:
				b = wire.AppendMessage(nil, rapid.Uint32Range(0, 300).Draw(r, "number"), &Imm{}, make([]byte, rapid.IntRange(0, 1300).Draw(r, "size")))
			case 2:
				b = wire.AppendPing(nil)
			case 3:
				b = make([]byte, rapid.IntRange(1, 1400).Draw(r, "padding"))
			case 4:
				b = repeated(70, 1, wire.KindResponse)
			case 5:
				b = wire.AppendAck(nil, s.c.recovery.out.next, 0, nil, nil)
			}
			n := len(b) + wire.Overhead
			from := at(victim, rapid.IntRange(1, 40).Draw(r, "port"))
			if rapid.IntRange(0, 3).Draw(r, "whose") == 0 {
				s.arrive(0, n, b) // from the peer's true address
			} else {
				came += n
				s.arriveOn(from, uint16(rapid.IntRange(0, steer.MaxPaths).Draw(r, "slot")), n, b)
			}
			for _, ok := s.c.Recv(); ok; _, ok = s.c.Recv() {
			}
			s.left = rapid.IntRange(0, 5).Draw(r, "messages")
			s.wait(time.Duration(rapid.Int64Range(0, int64(300*time.Millisecond)).Draw(r, "wait")))
			if n := s.bytesTo(0, victim); n > 3*came {
				r.Fatalf("%d bytes to an address that %d came from", n, came)
			}
		}
		s.wantSound(r)
	})
}

// A packet with many challenges gets one response. The number of responses on a path in one
// round trip is limited to what an honest peer needs.
func TestScriptChallengesAreBounded(t *testing.T) {
	s := newScript(t, 1)
	s.arrive(0, 1400, repeated(80, 1, wire.KindChallenge))
	s.arriveOn(at(victim, 1), 1, 1193, repeated(64, 2, wire.KindChallenge))
	s.mute = true
	s.pump()
	responses := func(from int, to Tuple) (n int) {
		for _, p := range s.sent[from:] {
			for _, f := range p.frames {
				if f.Kind == wire.KindResponse && p.to == to {
					n++
				}
			}
		}
		return n
	}
	if n, m := responses(0, s.tuple(0)), responses(0, at(victim, 1)); n != 1 || m != 1 {
		t.Errorf("%d and %d responses to one packet each", n, m)
	}
	s.wait(time.Second)
	from := len(s.sent)
	for i := range 1000 {
		s.now += mono.Time(answersLeast / 2000)
		s.arrive(0, keepaliveSize, repeated(1, byte(i), wire.KindChallenge))
		s.pump()
	}
	if n := responses(from, s.tuple(0)); n > 2*answersMost {
		t.Errorf("%d responses in a round trip", n)
	}
	if s.c.env.stats.Drops[DropChallenge] < 900 {
		t.Errorf("%d challenges counted as not answered", s.c.env.stats.Drops[DropChallenge])
	}
}

// All paths of a peer are challenged at once, and all are answered.
func TestScriptAllPathsAreAnswered(t *testing.T) {
	const n = 128
	s := newScript(t, n)
	for i := range n {
		s.arrive(uint16(i), BasePacket, repeated(1, byte(i), wire.KindChallenge))
	}
	s.pump()
	on := map[uint16]bool{}
	for _, p := range s.sent {
		if p.has(wire.KindResponse) {
			on[p.slot] = true
		}
	}
	if len(on) != n {
		t.Errorf("%d of %d paths were answered", len(on), n)
	}
}

// An observer forwards packets from hundreds of ports. The active paths stay active, the
// forwarded packets take no slot of the path table, and few challenges are sent to these
// ports.
func TestScriptForwardedPacketsTakeNoPath(t *testing.T) {
	const n = steer.MaxPaths
	s := newScript(t, n)
	s.mute = true
	s.wait(5 * time.Second) // no path has traffic
	for i := range 300 {
		s.arriveOn(at(victim, 1+i), uint16(i%n), 1400, wire.AppendPing(nil))
		s.wait(13 * time.Millisecond)
	}
	if len(s.c.paths.table) != n || s.active("10.0.0.2") < n-2 {
		t.Errorf("%d paths, %d of them in use", len(s.c.paths.table), s.active("10.0.0.2"))
	}
	if n := s.challengesTo(victim); n > 10 {
		t.Errorf("%d challenges in 4 s", n)
	}
	s.wantSound(t)
}

// An observer forwards a fifth of all packets from one address with four ports. The
// challenges to this address back off.
func TestScriptChallengesToAnAddressBackOff(t *testing.T) {
	s := newScript(t, 2)
	s.mute = true
	for i := range 7000 {
		s.now += 1e6
		if i%5 == 0 {
			s.arriveOn(at(victim, i%4), 1, 1400, wire.AppendPing(nil))
		} else {
			s.arrive(0, 1400, wire.AppendPing(nil))
		}
		s.c.Advance(s.now)
		s.pump()
	}
	if n := s.challengesTo(victim); n < 2 || n > 10 {
		t.Errorf("%d challenges in 7 s", n)
	}
}

// The peer's NAT has forgotten a mapping, and the next packet is the smallest possible one.
// This packet is enough: the new tuple becomes a path within two round trips. A challenge
// then tests at once whether the path carries full packets. The path that it replaces is
// challenged as well.
func TestScriptMovedPeerIsFound(t *testing.T) {
	for _, addr := range []string{"192.0.2.1", "10.0.0.2"} {
		s := newScript(t, 2)
		s.wait(20 * time.Second)
		from := len(s.sent)
		s.deaf = func(t Tuple) bool { return t == s.tuple(1) }
		s.arriveOn(at(addr, 999), 1, keepaliveSize, repeated(1, 1, wire.KindChallenge))
		s.pump()
		if n := s.sent[from].size; n > 3*keepaliveSize {
			t.Errorf("%s: %d bytes before it is proven", addr, n)
		}
		p := s.c.paths.find(at(addr, 999))
		if p == nil || p.state != PathActive || p.mtu != 1472 || p.unsized {
			t.Fatalf("%s: path %+v", addr, p)
		}
		if old := s.c.paths.table[1]; old.state != PathSuspect {
			t.Errorf("%s: the path before is %v", addr, old.state)
		}
		if s.c.paths.last != p {
			t.Errorf("%s: acknowledgements do not go there", addr)
		}
		s.deaf = nil
		s.wait(time.Second)
		if old := s.c.paths.table[1]; old.state != PathActive {
			t.Errorf("%s: the path before answers, and is %v", addr, old.state)
		}
		if got := s.c.Proven(); got[0] != at(addr, 999).Remote && got[1] != at(addr, 999).Remote {
			t.Errorf("%s: proven are %v", addr, got)
		}
		s.wantSound(t)
	}
}

// A path is not used if a small packet has proven it but full packets do not pass.
func TestScriptSmallPathIsNotUsed(t *testing.T) {
	s := newScript(t, 2)
	s.mute = true
	s.arriveOn(at("192.0.2.1", 9), 1, keepaliveSize, wire.AppendPing(nil))
	s.pump()
	k := s.c.paths.candidates.Find(at("192.0.2.1", 9))
	if k == nil || !k.Challenged() {
		t.Fatal("not challenged")
	}
	s.arriveOn(at("192.0.2.1", 9), 1, keepaliveSize, wire.AppendSecret(nil, wire.KindResponse, &k.Secret))
	p := s.c.paths.find(at("192.0.2.1", 9))
	if p == nil || p.state != PathActive {
		t.Fatal("no path")
	}
	s.pump()
	s.wait(time.Second)
	if p.state == PathActive {
		t.Errorf("path is %v though no full packet was answered", p.state)
	}
	if n := s.c.Stats().PathsTooSmall; n != 1 {
		t.Errorf("%d paths counted as too small, want 1", n)
	}
	if s.c.paths.packet != 1472 {
		t.Errorf("full packets have %d bytes", s.c.paths.packet)
	}
	s.wantSound(t)
}

// A returned secret proves a tuple only if its packet is sealed with the keys in use.
func TestScriptProofUnderCurrentKeys(t *testing.T) {
	s := newScript(t, 1)
	s.mute = true
	s.arriveOn(at(victim, 9), 1, 100, wire.AppendPing(nil))
	s.pump()
	k := s.c.paths.candidates.Find(at(victim, 9))
	old := s.keys
	s.c.session.prev = s.c.session.send
	s.c.session.prev.dies = mono.Never
	s.keys = &RecvKeys{Conn: s.c, local: 2}
	s.c.session.send = &epoch{keys: &SendKeys{remote: 10}, recv: s.keys, created: s.now, initiator: true}
	now := s.keys
	secret := k.Secret
	s.keys = old
	s.arriveOn(at(victim, 9), 1, 100, wire.AppendSecret(nil, wire.KindResponse, &secret))
	if s.c.paths.find(at(victim, 9)) != nil {
		t.Error("proven under keys that were replaced")
	}
	s.keys = now
	s.arriveOn(at(victim, 9), 1, 100, wire.AppendSecret(nil, wire.KindResponse, &secret))
	if s.c.paths.find(at(victim, 9)) == nil {
		t.Error("not proven under the keys in use")
	}
}

// Packets in the path slot of candidates are not acknowledged, so frames that request an
// acknowledgement are invalid in this slot.
func TestScriptNothingIsAcknowledgedOnTheCandidatesSlot(t *testing.T) {
	s := newScript(t, 1)
	for _, b := range [][]byte{wire.AppendPing(nil), wire.AppendMessage(nil, 0, &Imm{}, []byte("x")), wire.AppendTombstone(nil, 0, &Imm{})} {
		s.arriveOn(s.tuple(0), candidateSlot, 100, b)
	}
	if _, ok := s.c.Recv(); ok || len(s.c.receiver.pending) > 0 || s.c.env.stats.Drops[DropMalformed] != 3 {
		t.Errorf("taken: %d to acknowledge, %d dropped", len(s.c.receiver.pending), s.c.env.stats.Drops[DropMalformed])
	}
}

// The proven addresses of the peer are kept after its paths were freed.
func TestScriptProvenOutlivesPaths(t *testing.T) {
	s := newScript(t, 1)
	for i := range 40 {
		s.arriveOn(at("192.0.2.1", 1+i), 1, 1400, wire.AppendPing(nil))
		s.wait(2 * time.Second)
		s.c.paths.freePath(s.c.paths.find(at("192.0.2.1", 1+i)))
	}
	got := s.c.Proven()
	if len(got) != provenMost || got[0] != s.tuple(0).Remote || got[1] != at("192.0.2.1", 40).Remote {
		t.Errorf("%d addresses: %v", len(got), got)
	}
	s.wantSound(t)
}
