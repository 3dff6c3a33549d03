package flows

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

// ip returns a frame with an IPv4 packet of `size` bytes.
func ip(proto byte, from, to string, size int) *frame.Frame {
	a, b := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
	d := make([]byte, size)
	d[0], d[8], d[9] = 0x45, 64, proto
	binary.BigEndian.PutUint16(d[2:], uint16(size))
	copy(d[12:], a.Addr().AsSlice())
	copy(d[16:], b.Addr().AsSlice())
	if proto == packet.ProtoICMP {
		d[20] = 8 // echo request
		binary.BigEndian.PutUint16(d[24:], a.Port())
		return frame.New(d, nil)
	}
	binary.BigEndian.PutUint16(d[20:], a.Port())
	binary.BigEndian.PutUint16(d[22:], b.Port())
	if proto == packet.ProtoTCP {
		d[32] = 0x50
	}
	return frame.New(d, nil)
}

func table() *Table { return New(maphash.MakeSeed()) }

// Both directions of a connection are one flow, and super-frames count as their packets.
func TestBothDirectionsAreOneFlow(t *testing.T) {
	v := table()
	big := ip(packet.ProtoTCP, "10.0.0.1:5000", "10.0.0.2:80", 40+3*1000+1)
	big.Facts = frame.Facts{GSO: frame.GSOTCP4, GSOSize: 1000}
	v.Out("b", big)
	v.Out("b", ip(packet.ProtoTCP, "10.0.0.1:5000", "10.0.0.2:80", 40))
	late := ip(packet.ProtoTCP, "10.0.0.2:80", "10.0.0.1:5000", 100)
	late.Held = time.Millisecond
	v.In("b", late)
	v.In("b", ip(packet.ProtoTCP, "10.0.0.2:80", "10.0.0.1:5000", 100))
	v.Hold("b", ip(packet.ProtoTCP, "10.0.0.2:80", "10.0.0.1:5000", 70))
	v.Queue("b", ip(packet.ProtoTCP, "10.0.0.1:5000", "10.0.0.2:80", 40), 900)
	top, others := v.Top(10)
	want := Flow{
		Key: Key{"b", packet.ProtoTCP, netip.MustParseAddrPort("10.0.0.1:5000"), netip.MustParseAddrPort("10.0.0.2:80")},
		Out: Count{5, 3081}, In: Count{2, 200}, Queued: 900, HeldFrames: 1, HeldBytes: 70, Reordered: 1, LongestHold: time.Millisecond,
	}
	if len(top) != 1 || top[0] != want || others != (Others{}) {
		t.Errorf("%+v, %+v", top, others)
	}
}

// The identifier of an ICMP echo identifies its flow in both directions. Equal flows of different
// peers are counted separately.
func TestEchoesAndPeers(t *testing.T) {
	v := table()
	v.Out("a", ip(packet.ProtoICMP, "10.0.0.1:77", "10.0.0.2:0", 84))
	answer := ip(packet.ProtoICMP, "10.0.0.2:77", "10.0.0.1:0", 84)
	answer.Data[20] = 0
	v.In("a", answer)
	v.Out("b", ip(packet.ProtoICMP, "10.0.0.1:77", "10.0.0.2:0", 30))
	top, _ := v.Top(10)
	if len(top) != 2 || top[0].Out.Bytes != 84 || top[0].In.Bytes != 84 || top[0].Local.Port() != 77 || top[1].Peer != "b" {
		t.Errorf("%+v", top)
	}
}

// However many flows a sender makes up, the table keeps its size and the largest flows, and the
// sums remain complete.
func TestLargeFlowsOutlastAFlood(t *testing.T) {
	v := table()
	sum := uint64(0)
	out := func(f *frame.Frame) { v.Out("a", f); sum += uint64(len(f.Data)) }
	for range 10 {
		out(ip(packet.ProtoUDP, "10.0.0.1:1", "10.0.0.2:1", 1400))
	}
	for i := range 5 * Most {
		f := ip(packet.ProtoUDP, "10.0.0.1:9", "10.0.0.2:9", 28)
		binary.BigEndian.PutUint32(f.Data[16:], uint32(i))
		out(f)
	}
	top, others := v.Top(2 * Most)
	if len(top) > Most || top[0].Out.Bytes != 14000 || others.Flows != uint64(5*Most+1-len(top)) {
		t.Errorf("%d flows, the first %+v, others %+v", len(top), top[0], others)
	}
	for _, f := range top {
		sum -= f.Out.Bytes
	}
	if sum != others.Out.Bytes {
		t.Errorf("%d bytes are in no flow, %d of others", sum, others.Out.Bytes)
	}
}

// A frame from a peer may contain any bytes.
func FuzzIn(f *testing.F) {
	f.Add(ip(packet.ProtoTCP, "10.0.0.1:1", "10.0.0.2:2", 60).Data, uint16(1), byte(1))
	f.Add([]byte{0x60}, uint16(0), byte(3))
	f.Fuzz(func(t *testing.T, b []byte, size uint16, gso byte) {
		v := table()
		d := frame.New(b, nil)
		d.Facts = frame.Facts{GSO: frame.GSO(gso), GSOSize: size}
		v.In("a", d)
		v.Hold("a", d)
		top, others := v.Top(1)
		if n := others.In.Bytes; len(top) == 1 && top[0].In.Bytes != uint64(len(b)) || len(top) == 0 && n != uint64(len(b)) {
			t.Errorf("%d bytes: %+v %+v", len(b), top, others)
		}
	})
}
