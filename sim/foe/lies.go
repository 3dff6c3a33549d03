package foe

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/liar"
)

// Act is one attack that a liar performs with its session keys.
type Act struct {
	Name    string
	do      func(v *end, s *liar.Session)
	Records bool // the attack acknowledges packets
}

// Acts lists all attacks of a liar.
var Acts = [...]Act{
	{"challenges", func(v *end, s *liar.Session) { v.challenges(s, v.own()) }, false},
	{"challenges from V", func(v *end, s *liar.Session) { v.challenges(s, v.others()) }, false},
	{"asks from where nobody is", (*end).asks, false},
	{"guesses from V", (*end).guesses, false},
	{"borrowed secrets from V", (*end).borrows, false},
	{"acknowledges what was never sent", (*end).acksNever, true},
	{"acknowledges what was left out", (*end).acksLeftOut, true},
	{"acknowledges blindly", (*end).acksBlindly, false},
	{"messages far ahead", (*end).farAhead, false},
	{"frames far ahead", (*end).wildFrames, false},
	{"unfinished frames", (*end).unfinished, false},
	{"tombstones", (*end).tombstones, false},
	{"closes", func(v *end, s *liar.Session) { v.send(v.own(), v.to(), s.Seal(0, liar.Frames{}.Close())) }, false},
	{"pings", (*end).pings, false},
	{"stamps", (*end).stamps, false},
	{"nonsense", (*end).nonsense, true},
	{"from many ports", func(v *end, s *liar.Session) { v.scatter(s, v.own) }, false},
	{"from many V", func(v *end, s *liar.Session) { v.scatter(s, v.others) }, false},
	{"over many slots", (*end).slots, false},
	{"calls", func(v *end, _ *liar.Session) { v.call() }, false},
	{"calls from V", func(v *end, _ *liar.Session) { v.callFrom(v.others(), 1) }, false},
	{"calls, and uses it from V", (*end).lures, false},
	{"is another process", (*end).restarts, false},
	{"old keys", (*end).oldKeys, false},
}

// These constants bound the packets and times of a single attack.
const (
	mostChallenges = 65 // number in a packet of 1,200 bytes
	scattered      = 40 // packets
	// trapFresh is the time for which an unacknowledged packet is certainly in flight. Until then the
	// sender stores the packet numbers that it skipped after this packet.
	trapFresh = 20 * time.Millisecond
	wilds     = 30 // messages
)

// act performs one of the attacks drawn for this run.
func (v *end) act() {
	if len(v.l.Acts) == 0 {
		return
	}
	s := v.session()
	if s == nil {
		v.call()
		return
	}
	a := &Acts[v.l.Acts[v.l.rng.IntN(len(v.l.Acts))]]
	v.l.engine.Note(v.l.noun, a.Name, 0, 0, 0)
	a.do(v, s)
}

// call initiates a handshake from one of the liar's addresses.
func (v *end) call() { v.callFrom(v.own(), 1) }

// callFrom initiates a handshake from an address, and sends several copies of the initiation.
func (v *end) callFrom(from netip.AddrPort, copies int) {
	now := v.l.engine.Now()
	b := v.p.Call(now, handshake.TimestampOf(time.Unix(2e9, 0).Add(now.Sub(0))))
	to := v.to()
	for range copies {
		v.send(from, to, b)
	}
}

// lures sends an initiation from the liar's own address, and a copy of it from a mute address.
// After this handshake the liar uses the session keys from the mute address.
func (v *end) lures(*liar.Session) {
	now := v.l.engine.Now()
	b := v.p.Call(now, handshake.TimestampOf(time.Unix(2e9, 0).Add(now.Sub(0))))
	to := v.to()
	v.lured = v.others()
	v.send(v.own(), to, b)
	v.send(v.lured, to, b)
}

// restarts makes the liar appear as a new process in its next handshake.
func (v *end) restarts(*liar.Session) {
	v.p.Restart()
	v.book, v.number = liar.Book{}, 0
	v.call()
}

func (v *end) secret() (x liar.Secret) {
	net.Bytes(v.l.rng).Read(x[:])
	return x
}

func (v *end) challenges(s *liar.Session, from netip.AddrPort) {
	f := liar.Frames{}
	for range 1 + v.l.rng.IntN(mostChallenges)>>v.l.rng.IntN(7) {
		f = f.Challenge(v.secret())
	}
	to := v.to()
	for range 1 + v.l.rng.IntN(4) {
		v.asked++
		v.send(from, to, s.Seal(uint16(v.l.rng.IntN(4)), f))
	}
}

// asks sends one path challenge from an address that sends no other packet. The host may therefore
// send almost nothing to the source of that challenge.
func (v *end) asks(s *liar.Session) {
	a := netip.AddrFrom4([4]byte{198, 18, byte(1 + v.l.rng.IntN(200)), byte(v.l.rng.IntN(256))})
	v.asked++
	v.send(netip.AddrPortFrom(v.l.ground.Addr(a), v.port()), v.to(), s.Seal(0, liar.Frames{}.Challenge(v.secret())))
}

func (v *end) guesses(s *liar.Session) {
	f := liar.Frames{}
	for range mostChallenges {
		f = f.Response(v.secret())
	}
	v.send(v.others(), v.to(), s.Seal(0, f))
}

// borrows sends responses from a mute address, with challenge secrets that the host sent to the
// liar's own addresses.
func (v *end) borrows(s *liar.Session) {
	f := liar.Frames{}
	for _, x := range v.secrets {
		f = f.Response(x)
	}
	v.send(v.others(), v.to(), s.Seal(0, f.Ping()))
}

func (v *end) acksNever(s *liar.Session) {
	slot := uint16(v.l.rng.IntN(8))
	r := liar.Record{Slot: slot, Highest: v.book.Highest(slot) + v.l.rng.Uint64()>>v.l.rng.IntN(64), Below: v.l.rng.Uint64()}
	v.send(v.own(), v.to(), s.Seal(0, liar.Frames{}.Ack(v.book.FirstMissing()+uint64(v.l.rng.IntN(3)), 0, []liar.Record{r}, nil)))
}

// acksLeftOut acknowledges the last packet number that the host skipped in a slot, together with
// the newest number.
func (v *end) acksLeftOut(s *liar.Session) {
	for _, slot := range v.book.Slots(srdSlots) {
		out, highest := v.book.LeftOut(slot), v.book.Highest(slot)
		if len(out) == 0 || highest-out[len(out)-1] > 64 {
			continue
		}
		n := out[len(out)-1]
		r := liar.Record{Slot: slot, Highest: highest, Below: 1 << (highest - n - 1)}
		o, some := v.open[slot]
		if some && o.pn < n && v.l.engine.Now().Sub(o.at) < trapFresh {
			v.trap = net.Trap{Slot: slot, Above: n + 1}
		}
		v.send(v.own(), v.to(), s.Seal(0, liar.Frames{}.Ack(v.book.FirstMissing(), 0, []liar.Record{r}, nil)))
		return
	}
}

// srdSlots is the number of path slots that a peer's packets may name.
const srdSlots = 257

// acksBlindly acknowledges messages that have not arrived but may have been sent.
func (v *end) acksBlindly(s *liar.Session) {
	words := make([]uint64, 1+v.l.rng.IntN(96))
	for i := range words {
		words[i] = v.l.rng.Uint64()
	}
	clear(v.open)
	first := v.book.FirstMissing() + uint64(v.l.rng.IntN(2))*uint64(v.l.rng.IntN(1000))
	v.send(v.own(), v.to(), s.Seal(0, liar.Frames{}.Ack(first, v.l.rng.Uint32(), nil, words)))
}

// imm returns the immediate of a message, in the format of the overlay, or in the format of a
// stream between other hosts.
func (v *end) imm(seq uint32, offset, length uint16) *liar.Imm {
	var b liar.Imm
	if v.l.rng.IntN(8) == 0 {
		b[0] = byte(v.l.rng.IntN(len(v.l.ground.Places)))
		binary.BigEndian.PutUint64(b[3:], uint64(v.l.rng.IntN(100)))
		return &b
	}
	binary.BigEndian.PutUint16(b[0:], uint16(v.l.rng.IntN(4096)))
	if v.l.rng.IntN(2) == 0 {
		b[0], b[1] = 0, 7
	}
	binary.BigEndian.PutUint32(b[2:], seq)
	binary.BigEndian.PutUint16(b[6:], offset)
	binary.BigEndian.PutUint16(b[8:], length)
	b[12] = byte(v.l.rng.IntN(2)) << 4
	return &b
}

// message appends the liar's next message.
func (v *end) message(f liar.Frames, imm *liar.Imm, payload []byte) liar.Frames {
	f = f.Message(uint32(v.number), imm, payload)
	v.number++
	return f
}

func (v *end) farAhead(s *liar.Session) {
	f := liar.Frames{}
	for range wilds {
		n := uint32(v.number) + v.l.rng.Uint32()>>v.l.rng.IntN(32)
		f = f.Message(n, v.imm(v.l.rng.Uint32(), 0, 1), []byte{1})
	}
	v.send(v.own(), v.to(), s.Seal(0, f))
}

// wildFrames sends frames of one byte. Successive sequence numbers differ by the largest gap that
// the receiver accepts, or by a larger gap.
func (v *end) wildFrames(s *liar.Session) {
	f := liar.Frames{}
	step := []uint32{1, 4096, 8191, 8192, 1 << 31}[v.l.rng.IntN(5)]
	for range wilds {
		v.seq += step
		f = v.message(f, v.imm(v.seq, 0, 1), []byte{1})
	}
	v.send(v.own(), v.to(), s.Seal(0, f))
}

func (v *end) unfinished(s *liar.Session) {
	f := liar.Frames{}
	payload := make([]byte, v.l.rng.IntN(20)+1)
	for range wilds {
		v.seq++
		f = v.message(f, v.imm(v.seq, uint16(v.l.rng.IntN(1000)), uint16(2000+v.l.rng.IntN(60000))), payload)
	}
	v.send(v.own(), v.to(), s.Seal(0, f))
}

func (v *end) tombstones(s *liar.Session) {
	f := liar.Frames{}
	for range wilds {
		f = f.Tombstone(uint32(v.number), v.imm(v.seq+v.l.rng.Uint32()>>v.l.rng.IntN(32), 0, 1+uint16(v.l.rng.IntN(2000))))
		v.number++
	}
	v.send(v.own(), v.to(), s.Seal(0, f))
}

func (v *end) pings(s *liar.Session) {
	for range scattered {
		v.send(v.own(), v.to(), s.Seal(uint16(v.l.rng.IntN(2)), liar.Frames{}.Ping()))
	}
}

func (v *end) stamps(s *liar.Session) {
	f := liar.Frames{}.Stamp(v.l.rng.Uint32())
	for slot := range uint16(200) {
		f = f.Metric(slot*uint16(1+v.l.rng.IntN(300)), byte(v.l.rng.Uint32()))
	}
	v.send(v.own(), v.to(), s.Seal(0, f.Ping()))
}

// nonsense sends random plaintext of any size under the session's keys.
func (v *end) nonsense(s *liar.Session) {
	f := make(liar.Frames, []int{0, 1, 17, 1168, 1440, 9500}[v.l.rng.IntN(6)])
	net.Bytes(v.l.rng).Read(f)
	if len(f) > 0 {
		f[0] %= 12
	}
	v.asked++ // the random plaintext may contain a challenge
	v.send(v.own(), v.to(), s.Seal(uint16(v.l.rng.IntN(3)), f))
}

// scatter sends packets from many addresses and ports.
func (v *end) scatter(s *liar.Session, from func() netip.AddrPort) {
	to := v.to()
	for range scattered {
		v.send(from(), to, s.Seal(uint16(v.l.rng.IntN(64)), liar.Frames{}.Ping().Pad(v.l.rng.IntN(1400))))
	}
}

// slots sends packets on many path slots, and skips packet numbers.
func (v *end) slots(s *liar.Session) {
	for range scattered {
		slot := uint16(v.l.rng.IntN(300))
		s.Skip(slot, v.l.rng.Uint64()>>(20+v.l.rng.IntN(44)))
		v.send(v.own(), v.to(), s.Seal(slot, liar.Frames{}.Ping()))
	}
}

func (v *end) oldKeys(*liar.Session) {
	s := v.sessions[0]
	v.send(v.own(), v.to(), s.Seal(0, liar.Frames{}.Ping().Challenge(v.secret())))
	v.asked++
}
