package packet

import (
	"bytes"
	"encoding/binary"

	"github.com/srdtun/srdtun/overlay/frame"
)

// Part describes a packet that may become part of a super-frame: an ordinary packet, or a packet
// in a UDP tunnel. All parts of one super-frame inside a tunnel share the tunnel's headers.
type Part struct {
	Info          // the outermost headers, from Parse
	Tunnel Tunnel // the inner headers, if Kind is a tunnelled kind
	Kind   frame.GSO
}

// Joinable reports whether the packet b, which p.Info describes, may be part of a super-frame.
// Joinable stores the kind of the super-frame in p. If `tunnels` is false, the device accepts no
// super-frames of UDP tunnels, and a tunnel's packet is treated as plain UDP.
func (p *Part) Joinable(b []byte, facts frame.Facts, tunnels bool) (ok bool) {
	if tunnels && p.Tunnel.joinable(b, &p.Info, facts) {
		kind, ok := Joinable(b[p.Tunnel.At:], &p.Tunnel.Inner, frame.Facts{})
		if p.Kind = kind.Within(); ok {
			return true
		}
	}
	p.Kind, ok = Joinable(b, &p.Info, facts)
	return ok
}

// joinable checks the tunnel headers and the inner packet, and describes them in t. The method
// joinable() accepts only a known UDP tunnel, with correct checksums and without bytes after the
// inner packet. A UDP checksum of zero means that there is none, and counts as correct.
func (t *Tunnel) joinable(b []byte, in *Info, facts frame.Facts) bool {
	if in.Proto != ProtoUDP || !mayTunnel(in) || facts.CSum || facts.GSO != frame.GSONone || facts.GSOSize != 0 ||
		in.Fragment || in.Routed || in.L4HeaderLen == 0 {
		return false
	}
	if in.Version == 4 && (in.HeaderLen != ipv4HeaderLen || b[ipv4FlagsOffset]&^ipv4DontFrag != 0 ||
		fold16(sum(b[:ipv4HeaderLen], 0)) != 0xffff) ||
		in.Version == 6 && in.HeaderLen != ipv6HeaderLen {
		return false
	}
	l4 := b[in.HeaderLen:]
	if int(binary.BigEndian.Uint16(l4[udpLenOffset:])) != len(l4) ||
		t.summed(b, in) && fold16(sum(l4, uint64(pseudoSum(b, in, len(l4))))) != 0xffff {
		return false
	}
	inner, _ := tunnelled(in.Proto, l4)
	if inner == nil || Parse(inner, &t.Inner) != OK || t.Inner.TotalLen != len(inner) {
		return false
	}
	t.At = len(b) - len(inner)
	return t.fits(in)
}

// Payload returns the number of bytes after the headers that all parts of the super-frame share.
func (p *Part) Payload() int {
	if p.Kind.Tunnelled() {
		return p.Tunnel.Inner.Payload()
	}
	return p.Info.Payload()
}

// Headers returns the number of bytes of the headers that all parts of the super-frame share.
func (p *Part) Headers() int { return p.TotalLen - p.Payload() }

// Follows reports whether segmentation would produce b as packet k (from 0) of a super-frame
// that begins with packet a. The payload of b begins n bytes after that of a. Both packets must
// be Joinable; Follows does not compare their lengths.
func (p *Part) Follows(a []byte, k, n int, b []byte, q *Part) bool {
	if p.Kind != q.Kind || !p.Kind.Tunnelled() {
		return p.Kind == q.Kind && Follows(a, &p.Info, n, b, &q.Info)
	}
	at, udp := p.Tunnel.At, p.HeaderLen
	return p.Version == q.Version && at == q.Tunnel.At && sameIP(a, b, p.Version) && numbered(a, k, b, p.Version) &&
		bytes.Equal(a[udp:udp+udpLenOffset], b[udp:udp+udpLenOffset]) && p.Tunnel.summed(a, &p.Info) == q.Tunnel.summed(b, &q.Info) &&
		bytes.Equal(a[udp+udpHeaderLen:at], b[udp+udpHeaderLen:at]) &&
		Follows(a[at:], &p.Tunnel.Inner, n, b[at:], &q.Tunnel.Inner)
}

// numbered reports whether b has the IP identification that segmentation would assign to packet k,
// counted from packet a. The IP identification matters only for packets that may be fragmented (RFC
// 6864, section 4), which includes most tunnels' packets.
func numbered(a []byte, k int, b []byte, version uint8) bool {
	return version != 4 || a[ipv4FlagsOffset]&ipv4DontFrag != 0 ||
		binary.BigEndian.Uint16(b[ipv4IDOffset:]) == binary.BigEndian.Uint16(a[ipv4IDOffset:])+uint16(k)
}

// Pushed reports whether the packet b has the PSH flag, which ends a super-frame.
func (p *Part) Pushed(b []byte) bool {
	if p.Kind.Tunnelled() {
		return Pushed(b[p.Tunnel.At:], &p.Tunnel.Inner)
	}
	return Pushed(b, &p.Info)
}

// Join writes the super-frame of `parts` into dst, which must have the exact length of the
// headers and all payloads. The Part p describes the first part, and each part must follow the
// previous one. The checksums of the super-frame are partial. Until the frame is written, the
// length field of the tunnel's UDP header contains the offset of the inner packet.
func (p *Part) Join(dst []byte, parts []*frame.Frame) {
	if !p.Kind.Tunnelled() {
		Join(dst, parts, &p.Info)
		return
	}
	t := &p.Tunnel
	join(dst, parts, p.Headers())
	finishJoin(dst[t.At:], parts[len(parts)-1].Data[t.At:], t.Inner)
	whole := p.Info
	whole.setTotal(dst, len(dst))
	if p.Version == 4 {
		writeHeaderChecksum(dst, p.HeaderLen)
	}
	binary.BigEndian.PutUint16(dst[p.HeaderLen+udpLenOffset:], uint16(t.At))
}
