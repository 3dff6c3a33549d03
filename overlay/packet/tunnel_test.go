package packet

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/srdtun/srdtun/overlay/packet/packettest"
)

// shell describes the outer part of a tunnel's packet.
type shell struct {
	v6   bool   // the outer IP version is 6
	kind string // vxlan, vlan, flannel, geneve, geneve3, gre, greeth, ipip
	id   uint32
	port uint16 // outer source
	sum  bool   // the outer UDP header has a checksum
}

// header returns the bytes between the outer IP or UDP header and the inner packet.
func (s shell) header(inner []byte) []byte {
	kind := uint16(etherIPv4)
	if inner[0]>>4 == 6 {
		kind = etherIPv6
	}
	ether := binary.BigEndian.AppendUint16(bytes.Repeat([]byte{2}, 12), kind)
	id := binary.BigEndian.AppendUint32(nil, s.id<<8)
	switch s.kind {
	case "vxlan", "flannel":
		return append(append([]byte{8, 0, 0, 0}, id...), ether...)
	case "vlan":
		ether = append(bytes.Repeat([]byte{2}, 12), 0x81, 0, 0, 5)
		return append(append([]byte{8, 0, 0, 0}, id...), binary.BigEndian.AppendUint16(ether, kind)...)
	case "geneve": // with an Ethernet header and eight bytes of options
		return append(append(append([]byte{2, 0, 0x65, 0x58}, id...), 1, 2, 3, 1, 0, 0, 0, 0), ether...)
	case "geneve3": // without an Ethernet header
		return append(binary.BigEndian.AppendUint16([]byte{0, 0}, kind), id...)
	case "gre": // with a key
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16([]byte{greKey, 0}, kind), s.id)
	case "greeth":
		return append([]byte{0, 0, 0x65, 0x58}, ether...)
	}
	return nil
}

// around returns the packet, with checksums summed word by word. Its segments have s.gso
// bytes of payload; 0 means a single packet, with a complete outer checksum.
func (s shell) around(inner []byte, partial bool) []byte {
	proto, l4 := byte(17), s.header(inner)
	l4 = append(l4, inner...)
	switch s.kind {
	case "gre", "greeth":
		proto = 47
	case "ipip":
		if proto = 4; inner[0]>>4 == 6 {
			proto = 41
		}
	default:
		to := map[string]uint16{"vxlan": 4789, "vlan": 4789, "flannel": 8472, "geneve": 6081, "geneve3": 6081}[s.kind]
		udp := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, s.port), to)
		udp = append(binary.BigEndian.AppendUint16(udp, uint16(8+len(l4))), 0, 0)
		l4 = append(udp, l4...)
	}
	b := spec{v6: s.v6, udp: true}.build()
	b = append(b[:len(b)-8], l4...) // a header made for another packet
	at := 40
	if s.v6 {
		binary.BigEndian.PutUint16(b[4:], uint16(len(l4)))
		b[6] = proto
	} else {
		at = 20
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		b[9], b[10], b[11] = proto, 0, 0
		binary.BigEndian.PutUint16(b[10:], ^packettest.Sum(b[:20]))
	}
	if s.sum {
		addresses := b[8:40]
		if !s.v6 {
			addresses = b[12:20]
		}
		pseudo := append(bytes.Clone(addresses), 0, 17, 0, 0)
		binary.BigEndian.PutUint16(pseudo[len(pseudo)-2:], uint16(len(l4)))
		c := packettest.Sum(pseudo)
		if !partial {
			if c = ^packettest.Sum(append(pseudo, b[at:]...)); c == 0 {
				c = 0xffff
			}
		}
		binary.BigEndian.PutUint16(b[at+6:], c)
	}
	return b
}

var shells = []shell{
	{kind: "vxlan"}, {kind: "vlan"}, {kind: "flannel", v6: true}, {kind: "geneve", v6: true}, {kind: "geneve3"},
	{kind: "gre"}, {kind: "gre", v6: true}, {kind: "greeth"}, {kind: "ipip"}, {kind: "ipip", v6: true},
}

func flowOf(t *testing.T, b []byte) (uint32, uint8) {
	t.Helper()
	var in Info
	if r := Parse(b, &in); r != OK {
		t.Fatal(r)
	}
	return FlowOf(b, &in, FlowKey{1, 2})
}

// A tunnel's packet belongs to the inner packet's flow.
func TestFlowInsideOfTunnels(t *testing.T) {
	for _, s := range shells {
		for _, v6 := range []bool{false, true} {
			s.id, s.port = 7, 50000
			plain := spec{v6: v6, payload: bytesUpTo(100)}
			hash, proto := flowOf(t, s.around(plain.build(), false))
			if proto != ProtoTCP || !IsTCP(s.around(plain.build(), false)) {
				t.Errorf("%+v: protocol %d", s, proto)
			}
			other := plain
			other.seq, other.payload = 9, nil
			again := s
			again.port = 1234
			if h, _ := flowOf(t, again.around(other.build(), false)); h != hash {
				t.Errorf("%+v: two packets of a flow are two flows", s)
			}
			other.udp = true
			if h, proto := flowOf(t, s.around(other.build(), false)); h == hash || proto != ProtoUDP || IsTCP(s.around(other.build(), false)) {
				t.Errorf("%+v: flows are not told apart", s)
			}
			again = s
			again.id = 8
			if h, _ := flowOf(t, again.around(plain.build(), false)); h == hash && s.kind != "ipip" && s.kind != "greeth" {
				t.Errorf("%+v: networks are not told apart", s)
			}
			if h, _ := flowOf(t, append(s.around(plain.build(), false)[:0:0], s.padded(plain.build(), 6)...)); h != hash {
				t.Errorf("%+v: padding makes another flow", s)
			}
		}
	}
}

// padded is like around, with n bytes after the inner packet.
func (s shell) padded(inner []byte, n int) []byte {
	return s.around(append(inner, make([]byte, n)...), false)
}

// A packet that only resembles a tunnel's belongs to the flow of its outer ports. No byte beyond
// its end is read.
func TestWhatIsNoTunnel(t *testing.T) {
	for _, s := range shells {
		whole := s.around(spec{payload: bytesUpTo(10)}.build(), false)
		at := 20
		if s.v6 {
			at = 40
		}
		for n := at; n < len(whole); n++ {
			b := bytes.Clone(whole[:n])
			if s.v6 {
				binary.BigEndian.PutUint16(b[4:], uint16(n-40))
			} else {
				binary.BigEndian.PutUint16(b[2:], uint16(n))
			}
			var in, inner Info
			if r := Parse(b, &in); r != OK {
				t.Fatal(r)
			}
			if _, ok := findInner(b, &in, &inner); ok {
				t.Errorf("%+v: a packet in the first %d of %d bytes", s, n, len(whole))
			}
			IsTCP(b)
		}
	}
}

func FuzzFlowOf(f *testing.F) {
	for _, s := range shells {
		f.Add(s.around(spec{payload: bytesUpTo(100)}.build(), false))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		IsTCP(b)
		var in Info
		if Parse(b, &in) != OK {
			return
		}
		before := bytes.Clone(b)
		h, proto := FlowOf(b, &in, FlowKey{1, 2})
		if again, p := FlowOf(before, &in, FlowKey{1, 2}); again != h || p != proto || !bytes.Equal(b, before) {
			t.Error("not the same twice")
		}
	})
}
