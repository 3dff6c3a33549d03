package packet

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/overlay/frame"
)

const (
	// MaxLen is the longest inner packet or super-frame, in bytes: the IPv4
	// total length and the UDP length are 16 bits, and the device's largest
	// GSO size is kept below it.
	MaxLen = 65535

	// MaxSegments is the most packets that one frame may become. Linux cuts
	// at most 128 UDP segments (UDP_MAX_SEGMENTS), and 128 segments of
	// MinSegment bytes are all but a full frame.
	MaxSegments = 128

	// MinSegment is the smallest segment size of a frame with more than one
	// segment, in bytes. The kernel accepts 1, with which one small message
	// would become thousands of packets. 536 (RFC 9293 section 3.7.1) less 40
	// bytes of TCP options is the smallest that a usual TCP makes; frames with
	// less are cut up by the sender of the tunnel.
	MinSegment = 536 - 40
)

// Validate checks a frame that came from a peer, and that Parse has described
// in in, against its facts, and makes it fit to be written to the TUN device:
// the partial checksum is computed here and written into b, and a frame of one
// segment becomes a plain packet. Nothing but OK may be written.
func Validate(b []byte, in *Info, facts *frame.Facts) Reason {
	return validate(b, in, facts, MinSegment)
}

// ValidateJoined is Validate for a frame that Join made: its segments were packets
// of their own, of whatever size.
func ValidateJoined(b []byte, in *Info, facts *frame.Facts) Reason {
	return validate(b, in, facts, 1)
}

func validate(b []byte, in *Info, facts *frame.Facts, least uint16) Reason {
	if len(b) != in.TotalLen {
		return BadLength
	}
	if in.TotalLen > MaxLen {
		return TooLong
	}
	if !facts.CSum {
		switch {
		case facts.GSO != frame.GSONone:
			return PartialMissing
		case facts.GSOSize != 0:
			return BadSegmentSize
		}
		return OK
	}
	if r := checkOffload(b, in, facts); r != OK {
		return r
	}
	if n := segments(in, *facts); n > MaxSegments {
		return TooManySegments
	} else if n > 1 && facts.GSOSize < least {
		return BadSegmentSize
	}
	writePartial(b, in)
	return OK
}

// checkOffload checks facts with CSum set against the headers: everything but
// the limits on size and number of segments. It turns a segmentation kind on a
// single segment into none.
func checkOffload(b []byte, in *Info, facts *frame.Facts) Reason {
	switch {
	case in.Fragment:
		return OffloadOnFragment
	case in.Routed:
		return OffloadOnRouted
	case !matches(in, facts.GSO):
		return OffloadMismatch
	case in.L4HeaderLen == 0:
		return BadTransport
	case facts.GSO != frame.GSONone && facts.GSOSize == 0, facts.GSO == frame.GSONone && facts.GSOSize != 0:
		return BadSegmentSize
	case in.Proto == ProtoUDP && int(binary.BigEndian.Uint16(b[in.HeaderLen+udpLenOffset:])) != in.TotalLen-in.HeaderLen:
		return BadLength
	}
	if segments(in, *facts) == 1 {
		facts.GSO, facts.GSOSize = frame.GSONone, 0
	}
	return OK
}

// matches says whether segmentation of kind g, or only a partial checksum, is
// possible on the protocols of the packet.
func matches(in *Info, g frame.GSO) bool {
	switch g {
	case frame.GSONone:
		return in.Proto == ProtoTCP || in.Proto == ProtoUDP
	case frame.GSOTCP4:
		return in.Proto == ProtoTCP && in.Version == 4
	case frame.GSOTCP6:
		return in.Proto == ProtoTCP && in.Version == 6
	case frame.GSOUDP:
		return in.Proto == ProtoUDP
	}
	return false
}
