package packet

// ICMPError returns the name of the ICMP error b's type in RFC 792 or RFC 4443. If b is not an ICMP
// error, ICMPError returns "". The slice b may contain arbitrary bytes.
func ICMPError(b []byte) string {
	var in Info
	if Parse(b, &in) != OK || len(b) < in.HeaderLen+2 || in.laterFragment(b) {
		return ""
	}
	kind, code := b[in.HeaderLen], b[in.HeaderLen+1]
	switch {
	case in.Version == 4 && in.Proto == ProtoICMP:
		return icmpError4(kind, code)
	case in.Version == 6 && in.Proto == ProtoICMPv6:
		return icmpError6(kind)
	}
	return ""
}

func icmpError4(kind, code uint8) string {
	const fragmentationNeeded = 4
	switch kind {
	case icmpUnreachable:
		if code == fragmentationNeeded {
			return "fragmentation needed"
		}
		return "destination unreachable"
	case 11:
		return "time exceeded"
	case 12:
		return "parameter problem"
	}
	return ""
}

func icmpError6(kind uint8) string {
	switch kind {
	case icmpv6Unreachable:
		return "destination unreachable"
	case 2:
		return "packet too big"
	case 3:
		return "time exceeded"
	case 4:
		return "parameter problem"
	}
	return ""
}
