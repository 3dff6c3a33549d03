package tcp

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/mono"
)

// These constants are header and option sizes in bytes.
const (
	headerIPv4 = 20
	headerIPv6 = 40
	headerTCP  = 20
	// optionTime is the size of the timestamp option with its padding (RFC 7323, appendix A).
	optionTime = 12
	// optionSack and optionBlock are the sizes of a padded SACK option's header and of each block
	// (RFC 2018, section 3).
	optionSack  = 4
	optionBlock = 8
	// optionSyn is the size of a SYN's options: maximum segment size, window scale, SACK permitted,
	// timestamps.
	optionSyn = 20
	// optionMap and optionDataAck are sizes of MPTCP's data sequence signal, with 4-byte numbers
	// (RFC 8684, section 3.3). The larger option has a mapping and an acknowledgement, and the
	// smaller option has only an acknowledgement.
	optionMap     = 20
	optionDataAck = 8
	// framing is the number of bytes that Ethernet adds to an IP packet: header, check sequence,
	// preamble and gap. The transmission time on a link includes the bytes of Ethernet framing.
	framing = 38
)

// A SACK option has space for three blocks next to timestamps (RFC 2018, section 3), and for two
// blocks next to timestamps and MPTCP's option.
const (
	mostBlocks      = 3
	mostBlocksMulti = 2
)

type kind uint8

const (
	plain kind = iota
	syn
	synAck
)

// header is the TCP header of a segment. Sequence numbers are offsets in the byte stream and do not
// wrap.
type header struct {
	kind   kind
	size   int32 // bytes of payload
	blocks uint8
	again  bool // duplicate SACK (RFC 2883): the segment answers a duplicate segment
	seq    int64
	ack    int64
	dsn    int64 // MPTCP: offset of the payload in the byte stream of all subflows
	dack   int64 // MPTCP: data acknowledgement
	marked int64 // payload bytes received so far with a congestion mark
	sack   [mostBlocks]span
	stamp  mono.Time // when it was sent
	echo   mono.Time // stamp of an acknowledged segment; 0: none
}

// segment is a packet with its TCP header. A segment returns to the sending connection's free list
// after the other end has read it. The garbage collector frees a segment that the network drops.
// Therefore a simulated network must not keep a packet after delivering it. The network may deliver
// a copy of a packet, even late. A late copy then has the contents of a later segment, which the
// other end accepts like any other segment.
type segment struct {
	packet net.Packet
	header header
	home   *Conn
}

// segment returns a segment with an empty header.
func (c *Conn) segment() *segment {
	n := len(c.spare)
	if n == 0 {
		s := &segment{home: c}
		s.packet = net.Packet{Src: c.local, Dst: c.remote, Proto: net.ProtoTCP, Meta: s}
		return s
	}
	s := c.spare[n-1]
	c.spare = c.spare[:n-1]
	s.header = header{}
	s.packet.ECT, s.packet.CE = false, false
	return s
}

// free returns s to the free list. The argument p is the segment's packet, or a copy that a link
// has made.
func (s *segment) free(p *net.Packet) {
	if p == &s.packet {
		s.home.spare = append(s.home.spare, s)
	}
}

// send completes the segment s and passes it to the network. The result of send() is the size of
// the IP packet in bytes.
func (c *Conn) send(s *segment) int {
	size := c.length(&s.header)
	s.packet.Size = size
	if c.cfg.Jitter == 0 {
		c.out.Receive(&s.packet)
		return size
	}
	late := time.Duration(c.rng.Int64N(int64(c.cfg.Jitter)))
	c.leaves = max(c.leaves, c.engine.Now().Add(late))
	c.engine.Deliver(c.leaves, c.out, &s.packet)
	return size
}

// ipHeader returns the size of the IP header of packets to the address a.
func ipHeader(a netip.AddrPort) int {
	if a.Addr().Is4() {
		return headerIPv4
	}
	return headerIPv6
}

// length returns the size in bytes of the IP packet for a header.
func (c *Conn) length(h *header) int {
	n := ipHeader(c.remote) + headerTCP + int(h.size)
	if h.kind != plain {
		return n + optionSyn
	}
	n += optionTime
	if h.blocks > 0 {
		n += optionSack + optionBlock*int(h.blocks)
	}
	switch {
	case c.multi == nil:
	case h.size > 0:
		n += optionMap
	default:
		n += optionDataAck
	}
	return n
}
