package order_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/srdtun/srdtun/internal/inspect"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// victim is an end whose peer is malicious. It has a connection and a Reassembler, as in the
// daemon. The test passes the decrypted content of the peer's packets to it.
type victim struct {
	srd.OneFlow
	conn   *srd.Conn
	gather *order.Reassembler
	keys   *srd.RecvKeys
	train  *srd.Train
	ready  []*frame.Frame
	now    mono.Time
	left   int // number of messages that it still has to send

	pn       [8]uint64
	number   uint32
	sequence uint32
	packets  int // packets received
	bytes    int
	answered int // bytes sent
	messages int // messages delivered
}

// Reserve, Retake, Publish and Release implement srd.Indexes.
func (v *victim) Reserve(*srd.Conn) uint32             { v.number++; return v.number }
func (v *victim) Retake(*srd.Conn, uint32) bool        { return false }
func (v *victim) Publish(_ uint32, keys *srd.RecvKeys) { v.keys = keys }
func (v *victim) Release(uint32)                       {}

// Pull implements srd.Source.
func (v *victim) Pull(_ mono.Time, most int) (srd.Message, bool) {
	if v.left == 0 {
		return srd.Message{}, false
	}
	v.left--
	return srd.Message{Data: payload[:min(most, len(payload))]}, true
}

// Backlog implements srd.Source.
func (v *victim) Backlog() bool { return v.left > 0 }

var payload = make([]byte, 9000)

type chance struct{ *rand.Rand }

func (r chance) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return len(b), nil
}

// newVictim returns a victim that has a session with the peer.
func newVictim(t testing.TB) *victim {
	rng := chance{rand.New(rand.NewPCG(1, 2))}
	var ends [2]*victim
	var ids [2]*handshake.Identity
	for i := range ids {
		ids[i], _ = handshake.NewIdentity(handshake.PrivateKey{byte(i + 1)})
	}
	for i := range ends {
		v := &victim{now: 1e9, train: srd.NewTrain()}
		v.gather = order.NewReassembler(order.Config{Alloc: alloc(), Least: 20})
		v.conn = srd.New(srd.Config{
			Identity: ids[i], Remote: ids[1-i].Public(), Offers: handshake.OffersOf(handshake.AES256GCM),
			Incarnation: uint64(i + 1), Rand: rng, Indexes: v,
			Timestamp: func(now mono.Time) handshake.Timestamp { return handshake.TimestampOf(time.Unix(1e9, int64(now))) },
			MTU:       func(srd.Tuple) int { return 1472 }, Policy: steer.NewSpray(1), Control: cc.New(0),
		})
		ends[i] = v
	}
	liar, v := ends[0], ends[1]
	end := srd.NewEndpoint(ids[1], rng)
	end.Add(v.conn)
	back := srd.NewEndpoint(ids[0], rng)
	back.Add(liar.conn)
	liar.conn.SetTuples(liar.now, []srd.Tuple{tuple})
	liar.conn.Connect(liar.now)
	for range 100 {
		if liar.conn.Next(liar.now, liar.train, nil) {
			if index, ok := srd.DataIndex(liar.train.Buf); ok {
				liar.train.Seal()
				_ = index
				p, ok := v.keys.Open(liar.train.Buf, new(srd.Nonce))
				if !ok {
					t.Fatal("does not open")
				}
				p.Tuple = tuple
				v.conn.Handle(v.now, &p)
			} else if a, _ := end.Receive(v.now, tuple, liar.train.Buf, func(uint32) *srd.Conn { return nil }); a.Conn != nil {
				a.Deliver(v.now)
			}
		}
		if v.conn.Next(v.now, v.train, nil) {
			if _, ok := srd.DataIndex(v.train.Buf); !ok {
				if a, _ := back.Receive(liar.now, tuple, v.train.Buf, func(uint32) *srd.Conn { return liar.conn }); a.Conn != nil {
					a.Deliver(liar.now)
				}
			}
		}
		liar.now, v.now = liar.now+1e5, v.now+1e5
		liar.conn.Advance(liar.now)
		v.conn.Advance(v.now)
	}
	if !v.conn.Session(v.now).Ready {
		t.Fatal("no session")
	}
	v.number = 0
	return v
}

var tuple = srd.Tuple{Local: srd.UplinkOf(netip.MustParseAddr("10.0.0.1"), 0), Remote: netip.MustParseAddrPort("10.0.0.2:7")}

// alloc returns the allocator of a pool with a bin for each power of two. All frames share the same
// bytes, which no test reads. So the test measures only the other allocations.
func alloc() func(n int) *frame.Frame {
	shared := make([]byte, 1<<16)
	var bins [18][]*frame.Frame
	bin := func(n int) int {
		i := 8
		for 1<<i < n {
			i++
		}
		return i
	}
	put := func(f *frame.Frame) { i := bin(len(f.Buf)); bins[i] = append(bins[i], f) }
	return func(n int) *frame.Frame {
		i := bin(n)
		if last := len(bins[i]) - 1; last >= 0 {
			f := bins[i][last]
			bins[i] = bins[i][:last]
			f.Reset(f.Buf[:n])
			return f
		}
		f := frame.New(nil, put)
		f.Buf = shared[: 1<<i : 1<<i]
		f.Data = f.Buf[:n]
		return f
	}
}

// A step is four bytes of the fuzzed input: a packet's content, its parameter, the number of such
// packets, and the time between them.
const stepLen = 4

// play passes the packets of one step to the victim.
func (v *victim) play(step []byte) {
	kind, what, count := step[0], uint32(step[1]), 1+int(step[2])
	for range count {
		v.now = v.now.Add(time.Duration(1) << (step[3] % 24))
		v.left = min(v.left+1, 64)
		v.packet(v.fill(kind, what), uint16(step[3]>>5))
	}
}

// fill returns a packet that is filled with frames of one kind.
func (v *victim) fill(kind byte, what uint32) (b []byte) {
	size := 1440
	if kind&64 != 0 {
		size = 40
	}
	for len(b) < size {
		from := len(b)
		if b = v.frame(b, kind%12, what); len(b) > 1440 {
			return b[:from]
		}
	}
	return b
}

// frame appends one frame of the transport (docs/wire.md).
func (v *victim) frame(b []byte, kind byte, what uint32) []byte {
	message := func(slot, seq uint32, offset, length, n int) []byte {
		b = append(b, 1)
		b = binary.BigEndian.AppendUint16(b, uint16(n))
		b = binary.BigEndian.AppendUint32(b, v.number)
		b = immediate(b, slot, seq, offset, length)
		v.number++
		return append(b, payload[:n]...)
	}
	v.sequence++
	q := v.sequence
	switch kind {
	case 0: // far ahead, but within the window
		return message(0, q*(8191-what), 0, 20, 20)
	case 1: // distributed over all slots, out of order
		return message(q, 1+q/4096*(1+what), 0, 20, 20)
	case 2: // unfinished
		return message(q, 1+q/4096, int(what), 10_300+200*int(what), 1)
	case 3: // unfinished, late, in pieces
		return message(q/40*what, -q/2000, int(2*(q%40)), 2000, 1)
	case 4: // tombstones
		b = append(b, 7)
		b = binary.BigEndian.AppendUint32(b, v.number)
		v.number++
		return immediate(b, q*what, 1+q/4096, 0, 100)
	case 5: // numbers with gaps, or repeated numbers
		v.number += what - 2
		return message(what, q, 0, 20, 20)
	case 6: // an acknowledgement without records
		return acknowledge(b, uint64(what), 0, what%97, uint64(q))
	case 7: // an acknowledgement with records
		return acknowledge(b, uint64(what%8), int(what%17), what%3, uint64(q))
	case 8:
		b = append(b, 3+byte(what%2))
		return append(binary.BigEndian.AppendUint64(b, uint64(q)), make([]byte, 8)...)
	case 9:
		return append(b, 6)
	case 10:
		return append(b, 9, 0, byte(what), 7, 8, 1, 2, 3, byte(q))
	}
	return append(b, byte(what))
}

func immediate(b []byte, slot, seq uint32, offset, length int) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(slot%order.Slots))
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint16(b, uint16(offset))
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	return append(b, 0, 0, 16)
}

func acknowledge(b []byte, first uint64, records int, words uint32, q uint64) []byte {
	b = append(b, 2, byte(records), byte(words))
	b = binary.BigEndian.AppendUint64(b, first)
	b = append(b, 0, 0, 0, 0)
	for range records {
		b = append(b, 0, 0, 0, 0)
		b = binary.BigEndian.AppendUint64(b, q%32)
		b = binary.BigEndian.AppendUint64(b, q*0x9e3779b97f4a7c15)
		b = append(b, 0, 0, 0, 0)
	}
	for range words {
		b = binary.BigEndian.AppendUint64(b, q*0x9e3779b97f4a7c15)
	}
	return b
}

// packet handles one packet as the daemon does.
func (v *victim) packet(plain []byte, slot uint16) {
	p := srd.Packet{Tuple: tuple, Slot: slot, PN: v.pn[slot] + 1000, Size: len(plain) + srd.Overhead, Plain: plain, Keys: v.keys}
	v.pn[slot]++
	v.packets, v.bytes = v.packets+1, v.bytes+p.Size
	if v.conn.Fresh(slot, p.PN) {
		v.conn.Handle(v.now, &p)
	}
	for m, ok := v.conn.Recv(); ok; m, ok = v.conn.Recv() {
		v.messages++
		v.gather.Add(v.now, &m)
	}
	v.conn.Advance(v.now)
	v.gather.Advance(v.now)
	v.ready = v.gather.TakeReady(v.ready[:0])
	for _, f := range v.ready {
		f.Release()
	}
	for v.conn.Next(v.now, v.train, v) {
		v.answered += len(v.train.Buf)
	}
}

// FuzzLyingPeer passes sequences of packets of an authenticated, malicious peer to a victim. In any
// order of packets, memory must stay within its bound. Each received byte may cause only a bounded
// number of bytes to be allocated, sent and delivered.
func FuzzLyingPeer(f *testing.F) {
	for kind := range byte(12) {
		f.Add([]byte{kind, 0, 255, 16, kind, 0, 255, 20})
		f.Add([]byte{kind + 12*5, 1, 255, 10, kind, 200, 100, 12, 64 + kind, 9, 255, 1})
	}
	f.Add([]byte{0, 0, 255, 16, 5, 2, 255, 16, 1, 3, 255, 16, 6, 255, 255, 16, 8, 0, 255, 16})
	f.Add([]byte{2, 255, 255, 16, 3, 255, 255, 16, 4, 7, 255, 16, 9, 0, 255, 16, 7, 16, 255, 16})
	f.Fuzz(func(t *testing.T, steps []byte) {
		const mostSteps = 24
		v := newVictim(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for n := 0; len(steps) >= stepLen && n < mostSteps; n++ {
			v.play(steps[:stepLen])
			steps = steps[stepLen:]
			if m := v.gather.Stats().Memory; m > order.DefaultHeldBytes {
				t.Fatalf("%d bytes of memory wait for order", m)
			}
			if err := inspect.Within(v.conn); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		v.wantCheap(t, after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs)
	})
}

// These constants are the limits of the memory and the replies that a sequence may cause.
const (
	// once bounds the bytes that are allocated only once, for held frames, tables and rings.
	once      = 48 << 20
	perByte   = 16 // bytes allocated for each received byte, in addition to `once`
	perPacket = 1  // allocations for each packet, in addition to those of `once`
	objects   = 600_000
	// A packet causes an acknowledgement of at most the smallest packet size, and may open the
	// window for a few packets of data.
	answerMost = 4 * 1472
)

func (v *victim) wantCheap(t *testing.T, allocated, mallocs uint64) {
	if most := once + perByte*v.bytes; allocated > uint64(most) {
		t.Errorf("%d bytes allocated for %d received in %d packets", allocated, v.bytes, v.packets)
	}
	if most := objects + perPacket*v.packets; mallocs > uint64(most) {
		t.Errorf("%d allocations for %d packets", mallocs, v.packets)
	}
	if v.answered > 1<<20+answerMost*v.packets {
		t.Errorf("%d bytes in answer to %d in %d packets", v.answered, v.bytes, v.packets)
	}
	if v.messages > v.bytes/18 {
		t.Errorf("%d messages of %d bytes", v.messages, v.bytes)
	}
}
