package srd

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// script is one Conn, whose peer is the test. The test delivers single packets, and sees
// the packets of the Conn before they are sealed. The test sets the session without a
// handshake; nothing is encrypted.
type script struct {
	OneFlow
	t     testing.TB
	c     *Conn
	now   mono.Time
	keys  *RecvKeys
	train *Train
	pin   *pin
	fixed *fixed

	left, size int // messages that the application still has to send, and their size in bytes
	class      Class
	released   counter

	peerPN map[uint16]uint64 // next packet number in each of the peer's slots
	sent   []sent            // all packets but handshake packets, in order
	mute   bool              // the peer answers no challenge
	deaf   func(Tuple) bool  // if set, nor those to tuples for which it returns true
}

// sent is one packet that the Conn sent.
type sent struct {
	at     mono.Time
	to     Tuple
	slot   uint16
	pn     uint64
	size   int
	frames []wire.Frame
}

func (p *sent) numbers() (v []uint32) {
	for _, f := range p.frames {
		if f.Kind == wire.KindMessage || f.Kind == wire.KindTombstone {
			v = append(v, f.Number)
		}
	}
	return v
}

func (p *sent) has(k wire.Kind) bool {
	for _, f := range p.frames {
		if f.Kind == k {
			return true
		}
	}
	return false
}

// pin is a policy that sends every train on the path in the slot `on`, if that path may be
// used.
type pin struct{ on int }

func (p *pin) Pick(now mono.Time, usable *steer.Set, c steer.Context) int {
	for i := range steer.MaxPaths {
		if q := (p.on + i) % steer.MaxPaths; usable.Has(q) {
			return q
		}
	}
	panic("no path")
}
func (p *pin) Sample(mono.Time, int, steer.Sample) {}
func (p *pin) Reset(int)                           {}
func (p *pin) Weight(int) float64                  { return 1 }

// fixed is a controller with a constant window and pacing rate. With the rate 0 there is no
// pacing.
type fixed struct {
	window, lost, acked int
	rate                float64
	resets              int
	told                cc.Ack // the last one
}

func (f *fixed) Packet(int)                                             {}
func (f *fixed) Ack(_ mono.Time, a cc.Ack, _ bool)                      { f.acked += a.Bytes; f.told = a }
func (f *fixed) Lost(now mono.Time, bytes int)                          { f.lost += bytes }
func (f *fixed) Believed(_ mono.Time, back time.Duration) time.Duration { return back }
func (f *fixed) Reset()                                                 { f.resets++ }
func (f *fixed) Window() int                                            { return f.window }
func (f *fixed) Rate() float64                                          { return f.rate }
func (f *fixed) Queue() time.Duration                                   { return 0 }
func (f *fixed) Queued() cc.Whose                                       { return cc.Ours }
func (f *fixed) Arrived() float64                                       { return 1e9 }
func (f *fixed) Target() time.Duration                                  { return cc.TargetFloor }

// noIndexes returns ascending indices, and does not store them.
type noIndexes struct{ next uint32 }

func (i *noIndexes) Reserve(*Conn) uint32      { i.next++; return i.next }
func (i *noIndexes) Publish(uint32, *RecvKeys) {}
func (i *noIndexes) Release(uint32)            {}

// counting is a source of different numbers that are not secret.
type counting struct{ n uint64 }

func (r *counting) Read(b []byte) (int, error) {
	clear(b)
	r.n++
	for i := range min(8, len(b)) {
		b[i] = byte(r.n >> (8 * i))
	}
	return len(b), nil
}

// newScript returns a Conn with n validated paths to its peer.
func newScript(t testing.TB, n int) *script {
	id, err := handshake.NewIdentity(handshake.PrivateKey{1})
	if err != nil {
		t.Fatal(err)
	}
	other, _ := handshake.NewIdentity(handshake.PrivateKey{2})
	s := &script{t: t, now: mono.Time(time.Hour), train: NewTrain(), pin: &pin{}, fixed: &fixed{window: 1 << 20}, size: 1400, peerPN: map[uint16]uint64{}}
	s.c = New(Config{
		Eager:    true,
		Identity: id, Remote: other.Public(), Offers: handshake.OffersOf(handshake.AES256GCM), Incarnation: 1,
		Rand: &counting{}, Indexes: &noIndexes{}, MTU: func(Tuple) int { return 1472 }, Policy: s.pin, Control: s.fixed,
		Timestamp: func(now mono.Time) handshake.Timestamp { return handshake.TimestampOf(time.Unix(0, int64(now))) },
	})
	s.keys = &RecvKeys{Conn: s.c, local: 1}
	s.c.session.send = &epoch{keys: &SendKeys{remote: 9}, recv: s.keys, created: s.now, initiator: true}
	s.c.recovery.nextSkip = 1 << 30
	var tuples []Tuple
	for i := range n {
		tuples = append(tuples, s.tuple(uint16(i)))
	}
	s.c.SetTuples(s.now, tuples)
	for range 3 + n/6 {
		s.pump()
		s.wait(2 * time.Millisecond)
	}
	for _, p := range s.c.paths.table {
		if p.state != PathActive || p.mtu != 1472 {
			t.Fatalf("path %d is %v with %d bytes", p.slot, p.state, p.mtu)
		}
	}
	s.sent = nil
	return s
}

func (s *script) tuple(slot uint16) Tuple {
	return Tuple{Sock: slot, Local: UplinkOf(netip.MustParseAddr("10.0.0.1"), 0), Remote: netip.MustParseAddrPort("10.0.0.2:7")}
}

// Pull implements Source.
func (s *script) Pull(now mono.Time, most int) (Message, bool) {
	if s.left == 0 {
		return Message{}, false
	}
	s.left--
	return Message{Data: make([]byte, min(most, s.size)), Owner: &s.released, Class: s.class, Imm: Imm{1, 2, 3}}, true
}

// Backlog implements Source. It always returns true, so that Pull is always called.
func (s *script) Backlog() bool { return true }

// wait lets d pass, and calls the Conn at each of its deadlines.
func (s *script) wait(d time.Duration) {
	end := s.now.Add(d)
	for range 100_000 {
		at, _ := s.c.Deadline()
		if s.left > 0 {
			at = at.Min(s.c.SendDeadline(s.now, s))
		}
		if at > end {
			s.now = end
			s.c.Advance(s.now)
			s.pump()
			return
		}
		s.now = max(s.now+1, at)
		s.c.Advance(s.now)
		s.pump()
	}
	s.t.Fatal("the Conn wants to be woken for ever")
}

// pump takes all packets that the Conn sends now.
func (s *script) pump() {
	for s.one() {
	}
}

// one takes one train, and reports whether there was one.
func (s *script) one() bool {
	if !s.c.Next(s.now, s.train, s) {
		return false
	}
	if s.train.keys == nil {
		return true
	}
	for b := s.train.Buf; len(b) > 0; {
		n := min(s.train.Size, len(b))
		s.take(b[:n])
		b = b[n:]
	}
	return true
}

// take records a packet and answers the challenges in it.
func (s *script) take(b []byte) {
	h := wire.ParseHeader(b)
	p := sent{at: s.now, to: s.train.Tuple, slot: h.Slot, pn: h.PN, size: len(b)}
	for rest := append([]byte(nil), b[wire.HeaderLen:len(b)-wire.TagLen]...); len(rest) > 0; {
		var f wire.Frame
		var ok bool
		if rest, ok = wire.Next(rest, &f); !ok {
			s.t.Fatalf("sent what is no frame: %x", rest)
		}
		p.frames = append(p.frames, f)
		if f.Kind == wire.KindChallenge && !s.mute && (s.deaf == nil || !s.deaf(p.to)) {
			s.arriveOn(p.to, p.to.Sock%steer.MaxPaths, len(b), wire.AppendSecret(nil, wire.KindResponse, &f.Secret))
		}
	}
	s.sent = append(s.sent, p)
}

// arrive delivers the peer's next packet in the slot.
func (s *script) arrive(slot uint16, size int, plain []byte) {
	s.arriveOn(s.tuple(slot), slot, size, plain)
}

func (s *script) arriveOn(t Tuple, slot uint16, size int, plain []byte) {
	p := Packet{Tuple: t, Slot: slot, PN: s.peerPN[slot], Size: size, Plain: plain, Keys: s.keys}
	s.peerPN[slot]++
	if s.c.Fresh(slot, p.PN) {
		s.c.Handle(s.now, &p)
	}
}

// send sends n messages of the application on the path `on`, each in its own packet, and
// returns the packets.
func (s *script) send(n, on int) []sent {
	s.t.Helper()
	s.pin.on, s.left = on, n
	from := len(s.sent)
	s.pump()
	var v []sent
	for _, p := range s.sent[from:] {
		if p.has(wire.KindMessage) {
			v = append(v, p)
		}
	}
	if len(v) != n {
		s.t.Fatalf("%d packets for %d messages", len(v), n)
	}
	return v
}

// sendTrain is like send, but the packets form one train.
func (s *script) sendTrain(n, on int) []sent {
	s.t.Helper()
	before := s.fixed.rate
	s.fixed.rate = float64(n*s.c.paths.packet) / s.c.env.hosts.train().Seconds()
	v := s.send(n, on)
	s.fixed.rate = before
	return v
}

// resent returns the numbers of the messages in all packets after the first `from`. It
// fails if one of these packets was sent on the path `not`.
func (s *script) resent(from int, not uint16) (v []uint32) {
	s.t.Helper()
	for _, p := range s.sent[from:] {
		if n := p.numbers(); len(n) > 0 {
			v = append(v, n...)
			if p.slot == not {
				s.t.Errorf("messages %v go on path %d again", n, not)
			}
		}
	}
	return v
}

// ack delivers an acknowledgement without message numbers.
func (s *script) ack(r ...wire.Record) { s.ackAll(0, nil, r...) }

func (s *script) ackAll(first uint64, words []uint64, r ...wire.Record) {
	s.now = s.now.Add(200 * time.Microsecond)
	s.arrive(0, 100, wire.AppendAck(nil, first, 0, r, words))
	s.pump()
}

// got returns an acknowledgement record of these packets.
func got(slot uint16, pns ...uint64) wire.Record {
	r := wire.Record{Slot: slot}
	for _, pn := range pns {
		r.Highest = max(r.Highest, pn)
	}
	for _, pn := range pns {
		if pn < r.Highest {
			r.Below |= 1 << (r.Highest - 1 - pn)
		}
	}
	return r
}

// wantLost fails unless exactly these packets of the path in the slot are declared lost.
func (s *script) wantLost(slot uint16, pns ...uint64) {
	s.t.Helper()
	var v []uint64
	l := &s.c.paths.table[slot].sent
	for pn := l.First(); pn < l.Next(); pn++ {
		if l.At(pn).State == ledger.Lost {
			v = append(v, pn)
		}
	}
	if n := s.c.paths.table[slot].stats.Lost; int(n) != len(pns) {
		s.t.Errorf("path %d: %d packets lost, want %v", slot, n, pns)
	}
	for _, pn := range v {
		found := false
		for _, w := range pns {
			found = found || w == pn
		}
		if !found {
			s.t.Errorf("path %d: lost %v, want %v", slot, v, pns)
		}
	}
}

// wantEnded fails unless the session ended because of a lie.
func (s *script) wantEnded(ended bool) {
	s.t.Helper()
	if got := s.c.env.stats.Drops[DropAckInvalid] > 0; got != ended || s.c.session.ready(s.now) == ended {
		s.t.Errorf("invalid %v, session ready %v, want it ended %v", got, s.c.session.ready(s.now), ended)
	}
}

// wantSound fails if the state of the Conn is inconsistent (sound).
func (s *script) wantSound(t interface{ Fatalf(string, ...any) }) {
	if err := sound(s.c); err != nil {
		t.Fatalf("%v", err)
	}
}

// seeded returns a random generator for the choices of a test.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 9)) }
