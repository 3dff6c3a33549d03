package packet

import (
	"encoding/binary"
	"net/netip"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet/packettest"
)

// spec describes a packet field by field. The method build() makes the packet's bytes from it. It
// sums checksums word by word, as a slow model of the package.
type spec struct {
	v6       bool
	udp      bool
	src, dst string
	flags    byte // TCP
	seq      uint32
	id       uint16
	options  int // TCP option bytes, multiple of 4
	ecn      byte
	partial  bool
	payload  []byte
}

func (s spec) build() []byte {
	l4 := s.transport()
	var ip []byte
	src, dst := s.addresses()
	if s.v6 {
		ip = make([]byte, 40)
		ip[0], ip[1] = 0x60, s.ecn<<4
		binary.BigEndian.PutUint16(ip[4:], uint16(len(l4)))
		ip[6], ip[7] = s.proto(), 64
		copy(ip[8:], src)
		copy(ip[24:], dst)
	} else {
		ip = make([]byte, 20)
		ip[0], ip[1] = 0x45, s.ecn
		binary.BigEndian.PutUint16(ip[2:], uint16(20+len(l4)))
		binary.BigEndian.PutUint16(ip[4:], s.id)
		ip[6], ip[8], ip[9] = 0x40, 64, s.proto()
		copy(ip[12:], src)
		copy(ip[16:], dst)
		binary.BigEndian.PutUint16(ip[10:], ^packettest.Sum(ip))
	}
	return append(ip, l4...)
}

func (s spec) transport() []byte {
	var l4 []byte
	field := 6
	if s.udp {
		l4 = make([]byte, 8, 8+len(s.payload))
		binary.BigEndian.PutUint16(l4[4:], uint16(8+len(s.payload)))
	} else {
		l4 = make([]byte, 20+s.options)
		binary.BigEndian.PutUint32(l4[4:], s.seq)
		l4[12] = byte(len(l4)/4) << 4
		l4[13] = s.flags
		for i := range s.options {
			l4[20+i] = 1 // no-operation
		}
		field = 16
	}
	binary.BigEndian.PutUint16(l4, 4321)
	binary.BigEndian.PutUint16(l4[2:], 80)
	l4 = append(l4, s.payload...)
	src, dst := s.addresses()
	pseudo := append(append([]byte{}, src...), dst...)
	pseudo = append(pseudo, 0, s.proto(), 0, 0)
	binary.BigEndian.PutUint16(pseudo[len(pseudo)-2:], uint16(len(l4)))
	if s.partial {
		binary.BigEndian.PutUint16(l4[field:], packettest.Sum(pseudo))
		return l4
	}
	c := ^packettest.Sum(append(pseudo, l4...))
	if c == 0 {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(l4[field:], c)
	return l4
}

func (s spec) proto() byte {
	if s.udp {
		return 17
	}
	return 6
}

func (s spec) addresses() (src, dst []byte) {
	from, to := s.src, s.dst
	if from == "" {
		from, to = "10.1.2.3", "10.9.8.7"
		if s.v6 {
			from, to = "fd00::1:2", "fd00:ffff::7"
		}
	}
	return netip.MustParseAddr(from).AsSlice(), netip.MustParseAddr(to).AsSlice()
}

// frame returns the super-frame that s describes, with segments of `size` bytes.
func (s spec) frame(size int) *frame.Frame {
	s.partial = true
	f := frame.New(s.build(), nil)
	f.Facts = frame.Facts{GSO: s.gso(), GSOSize: uint16(size), CSum: true}
	return f
}

func (s spec) gso() frame.GSO { return packettest.GSO(s.v6, s.udp) }

func bytesUpTo(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}
