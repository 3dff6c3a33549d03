package packet

// Reason is the reason why a packet cannot be carried. The zero value of Reason means that the
// packet can be carried.
type Reason uint8

// The reasons below are in the order of the checks.
const (
	OK                Reason = iota
	Truncated                // the bytes end before a header does
	BadVersion               // neither IPv4 nor IPv6
	BadHeaderLen             // IPv4 header length under 20 bytes
	BadLength                // an IP or UDP length field disagrees with the data
	TooManyExtensions        // more IPv6 extension headers than maxExtensions
	TooLong                  // more than MaxLen bytes
	BadSegmentSize           // segment size zero, under MinSegment, or set on a single packet
	TooManySegments          // more than MaxSegments
	UnknownOffload           // a kind of segmentation that the tunnel does not carry
	OffloadMismatch          // segmentation kind and inner protocol disagree
	OffloadOnFragment        // segmentation or partial checksum on an IP fragment
	OffloadOnRouted          // the same, while an IPv6 routing header has segments left
	BadTransport             // the TCP or UDP header that the offload needs is absent or malformed
	PartialMissing           // segmentation without a partial checksum
	BadChecksumPlace         // the checksum to be completed lies outside the packet
	BadTunnel                // the inner packet does not begin where the header says
	NumReasons        int    = iota
)

var reasonNames = [NumReasons]string{
	"ok", "truncated", "bad_version", "bad_header_len", "bad_length", "too_many_extensions", "too_long",
	"bad_segment_size", "too_many_segments", "unknown_offload", "offload_mismatch", "offload_on_fragment",
	"offload_on_routed", "bad_transport", "partial_missing", "bad_checksum_place",
	"bad_tunnel",
}

// String returns the name of the reason as it appears in counters.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}
