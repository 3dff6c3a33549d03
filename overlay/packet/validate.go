package packet

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/overlay/frame"
)

const (
	// MaxLen is the largest length of an inner packet or super-frame, in bytes. The fields for the
	// IPv4 total length and the UDP length have 16 bits. The TUN device's limit for super-frames is
	// lower.
	MaxLen = 65535

	// MaxSegments is the largest number of packets into which one frame may be cut. Linux cuts a
	// UDP frame into at most 128 segments (UDP_MAX_SEGMENTS). For TCP the limit costs little,
	// because 128 segments of MinSegment bytes are almost a full frame.
	MaxSegments = 128

	// MinSegment is the smallest segment size of a frame with more than one segment, in bytes. The
	// kernel accepts a segment size of 1. With it, one small message from a peer would become
	// thousands of packets. TCP normally sends no segments below 536 bytes (RFC 9293 section 3.7.1)
	// minus 40 bytes of TCP options. If a frame has smaller segments, the sending end of the tunnel
	// cuts the frame into packets.
	MinSegment = 536 - 40
)

// Validate checks a frame from a peer against its facts, and prepares it for the TUN device.
// Validate writes the partial checksum into b, and turns a frame of one segment into a plain
// packet. The parameter `in` is the result of Parse for b. Only a frame for which Validate
// returns OK may be written to the device.
func Validate(b []byte, in *Info, facts *frame.Facts) Reason {
	return validate(b, in, facts, MinSegment)
}

// ValidateJoined is like Validate, but for a frame that Join made. Its segments may have any size.
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

// checkOffload checks `facts`, in which CSum is set, against the headers, except for the limits
// on segment size and count. If the frame has a single segment, checkOffload clears its kind of
// segmentation.
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

// matches reports whether the packet's protocols allow segmentation of kind g. For GSONone,
// matches() reports whether the protocols allow a partial checksum.
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
