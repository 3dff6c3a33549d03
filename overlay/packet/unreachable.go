package packet

import (
	"encoding/binary"
	"net/netip"
)

// The functions in this file build the ICMP error for a packet whose destination is unreachable:
//
//	IPv4 header   20  source: the packet's destination; to its source
//	type, code     2  3, 1: host unreachable (RFC 792); 1, 3: address unreachable (RFC 4443 section 3.1)
//	checksum       2
//	unused         4
//	the packet        as much of it as fits
//
// The kernel's WireGuard uses the same ICMP types and codes. By RFC 1812 section 4.3.2.4, the
// source of an ICMP error should be an address of this host. The error arrives from the TUN
// device, and Linux drops arriving packets whose source is one of its own addresses. The source
// of the ICMP error is the packet's destination instead, which Linux always accepts. The ICMP
// error arrives on the same interface as real replies, so reverse-path filters and other
// tunnels' allowed IPs accept it.
const (
	icmpHeaderLen = 8

	// unreachable4Most bounds the length of the ICMP error, which quotes as much of the packet as
	// fits into 576 bytes (RFC 1812 section 4.3.2.3).
	unreachable4Most = 576
	// unreachable6Most is the minimum MTU of IPv6, in bytes (RFC 4443 section 3.1).
	unreachable6Most = 1280

	icmpUnreachable     = 3
	icmpHostUnreachable = 1

	icmpv6Unreachable        = 1
	icmpv6AddressUnreachable = 3
	icmpv6Informational      = 128 // types below this value are errors, RFC 4443 section 2.1
	icmpv6Redirect           = 137

	// internetControl is the IP precedence of ICMP errors (RFC 1812 section 4.3.2.5).
	internetControl = 6 << 5
	unreachableTTL  = 64
)

// UnreachableLen returns the length of the ICMP error for the packet b, or 0 if no error may be
// sent. The parameter `in` is the result of Parse for b. RFC 1122 section 3.2.2 and RFC 4443
// section 2.4 (e) forbid errors about ICMP errors, multicasts, broadcasts and later fragments. Both
// RFCs also forbid errors to a source address that does not identify a single host. A packet whose
// source equals its destination is forged, so it causes no error either. The caller must also check
// for broadcast addresses of subnets.
func UnreachableLen(b []byte, in *Info) int {
	switch {
	case !singleHost(in.Src) || in.Src == in.Dst || in.Dst.IsMulticast() || in.Dst == broadcast || in.laterFragment(b) || in.isError(b):
		return 0
	case in.Version == 4:
		return min(ipv4HeaderLen+icmpHeaderLen+len(b), unreachable4Most)
	}
	return min(ipv6HeaderLen+icmpHeaderLen+len(b), unreachable6Most)
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// singleHost reports whether a, the source of a packet, is the address of one host that can
// receive an error.
func singleHost(a netip.Addr) bool {
	return !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && !a.Is4In6() && a != broadcast
}

func (in *Info) laterFragment(b []byte) bool {
	switch {
	case !in.Fragment:
		return false
	case in.Version == 4:
		return binary.BigEndian.Uint16(b[6:])&0x1fff != 0
	}
	// The fragment offset is in the upper 13 bits of the fragment header's second word (RFC 8200
	// section 4.5).
	return binary.BigEndian.Uint16(b[in.HeaderLen-extensionLen+2:])&^7 != 0
}

// isError reports whether b is, or may be, an ICMP error. An unknown ICMPv4 type counts as
// an error.
func (in *Info) isError(b []byte) bool {
	l4 := b[in.HeaderLen:]
	switch {
	case in.Version == 4 && in.Proto == ProtoICMP:
		return len(l4) == 0 || !asks(l4[0])
	case in.Version == 6 && in.Proto == ProtoICMPv6:
		return len(l4) == 0 || l4[0] < icmpv6Informational || l4[0] == icmpv6Redirect
	}
	// Further headers may follow the fragment header at which Parse stops.
	return in.Fragment && in.Version == 6 && isExtension(in.Proto)
}

// asks reports whether an ICMP type is a query, or the reply to a query (RFC 792, 950 and 8335).
func asks(kind uint8) bool {
	switch kind {
	case icmpEchoReply, icmpEchoRequest, 13, 14, 15, 16, 17, 18, 42, 43:
		return true
	}
	return false
}

// PutUnreachable writes the ICMP error for b into `out`, which must have UnreachableLen bytes.
func PutUnreachable(out, b []byte, in *Info) {
	if in.Version == 4 {
		putUnreachable4(out, b)
	} else {
		putUnreachable6(out, b)
	}
}

func putUnreachable4(out, b []byte) {
	const dontFragment = 0x40
	clear(out[:ipv4HeaderLen+icmpHeaderLen])
	out[0], out[1] = 0x45, internetControl
	binary.BigEndian.PutUint16(out[ipv4TotalOffset:], uint16(len(out)))
	out[6], out[8], out[9] = dontFragment, unreachableTTL, ProtoICMP
	copy(out[12:16], b[16:20])
	copy(out[16:20], b[12:16])
	writeHeaderChecksum(out, ipv4HeaderLen)
	icmp := out[ipv4HeaderLen:]
	icmp[0], icmp[1] = icmpUnreachable, icmpHostUnreachable
	copy(icmp[icmpHeaderLen:], b)
	binary.BigEndian.PutUint16(icmp[2:], ^fold16(sum(icmp, 0)))
}

func putUnreachable6(out, b []byte) {
	clear(out[:ipv6HeaderLen+icmpHeaderLen])
	out[0] = 0x60
	binary.BigEndian.PutUint16(out[4:], uint16(len(out)-ipv6HeaderLen))
	out[6], out[7] = ProtoICMPv6, unreachableTTL
	copy(out[8:24], b[24:40])
	copy(out[24:40], b[8:24])
	icmp := out[ipv6HeaderLen:]
	icmp[0], icmp[1] = icmpv6Unreachable, icmpv6AddressUnreachable
	copy(icmp[icmpHeaderLen:], b)
	in := Info{Version: 6, Proto: ProtoICMPv6}
	binary.BigEndian.PutUint16(icmp[2:], ^fold16(sum(icmp, uint64(pseudoSum(out, &in, len(icmp))))))
}
