package udp

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"github.com/srdtun/srdtun/srd"
	"golang.org/x/sys/unix"
)

// oobSize is the size in bytes of one datagram's aligned control messages. The control messages
// are packet info (up to 36 bytes), traffic class (20), segment size (20) and receive stamp
// (32).
const oobSize = 128

// header is a msghdr with its buffers. A header is allocated once and used for every call.
type header struct {
	hdr  unix.Msghdr
	iov  unix.Iovec
	name [unix.SizeofSockaddrInet6]byte
	ctl  [oobSize / 8]uint64 // control messages, aligned as the kernel's macros do
}

// oob returns the buffer for control messages.
func (h *header) oob() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&h.ctl[0])), oobSize)
}

func (h *header) point(b []byte) {
	h.iov.Base = unsafe.SliceData(b)
	h.iov.SetLen(len(b))
	h.hdr.Name = &h.name[0]
	h.hdr.Iov = &h.iov
	h.hdr.SetIovlen(1)
	h.hdr.Flags = 0
}

// setAddr writes the address `remote` as a sockaddr.
func (h *header) setAddr(remote netip.AddrPort) {
	if a := remote.Addr(); a.Is4() {
		binary.NativeEndian.PutUint16(h.name[0:], unix.AF_INET)
		binary.BigEndian.PutUint16(h.name[2:], remote.Port())
		v := a.As4()
		copy(h.name[4:8], v[:])
		clear(h.name[8:16])
		h.hdr.Namelen = unix.SizeofSockaddrInet4
	} else {
		clear(h.name[:])
		binary.NativeEndian.PutUint16(h.name[0:], unix.AF_INET6)
		binary.BigEndian.PutUint16(h.name[2:], remote.Port())
		v := a.As16()
		copy(h.name[8:24], v[:])
		h.hdr.Namelen = unix.SizeofSockaddrInet6
	}
}

// addr parses the sockaddr that the kernel wrote.
func (h *header) addr() netip.AddrPort {
	port := binary.BigEndian.Uint16(h.name[2:])
	if binary.NativeEndian.Uint16(h.name[0:]) == unix.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(h.name[4:8])), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte(h.name[8:24])), port)
}

// align rounds the length of a control message up, as CMSG_ALIGN does on 64-bit Linux.
func align(n int) int { return (n + 7) &^ 7 }

// stampKind is SCM_TIMESTAMPNS, which has the same number as the socket option.
const stampKind = unix.SO_TIMESTAMPNS

const cmsgHeader = unix.SizeofCmsghdr

// put appends a control message of n data bytes at the offset `at`, and returns the data and
// the offset after the message.
func (h *header) put(at, level, kind, n int) (data []byte, next int) {
	oob := h.oob()
	c := (*unix.Cmsghdr)(unsafe.Pointer(&oob[at]))
	c.Level, c.Type = int32(level), int32(kind)
	c.SetLen(cmsgHeader + n)
	data = oob[at+cmsgHeader : at+cmsgHeader+n]
	return data, at + align(cmsgHeader+n)
}

// control writes the control messages of an outgoing train: source address, interface and
// segment size. A segment size of 0 means a single packet. If `alone` is true, the kernel
// chooses the IPv6 source address.
func (h *header) control(local srd.Uplink, alone bool, segment int) {
	at := 0
	var d []byte
	switch {
	case local.Addr().Is4():
		d, at = h.put(at, unix.IPPROTO_IP, unix.IP_PKTINFO, unix.SizeofInet4Pktinfo)
		clear(d)
		binary.NativeEndian.PutUint32(d[0:4], local.Link()) // ipi_ifindex
		v := local.Addr().As4()
		copy(d[4:8], v[:]) // ipi_spec_dst
	case local.Addr().Is6():
		d, at = h.put(at, unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, unix.SizeofInet6Pktinfo)
		clear(d)
		if !alone {
			v := local.Addr().As16()
			copy(d[0:16], v[:]) // ipi6_addr
		}
		binary.NativeEndian.PutUint32(d[16:20], local.Link()) // ipi6_ifindex
	}
	if segment > 0 {
		d, at = h.put(at, unix.IPPROTO_UDP, unix.UDP_SEGMENT, 2)
		binary.NativeEndian.PutUint16(d, uint16(segment))
	}
	h.hdr.Control = nil
	if at > 0 {
		h.hdr.Control = &h.oob()[0]
	}
	h.hdr.SetControllen(at)
}

// facts parses the control messages of a received datagram.
func (h *header) facts(d *Datagram) {
	d.Segment, d.Stamp, d.ECN = 0, 0, srd.ECT
	for b := h.oob()[:h.hdr.Controllen]; len(b) >= cmsgHeader; {
		c := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		n := int(c.Len)
		if n < cmsgHeader || n > len(b) {
			return
		}
		data := b[cmsgHeader:n]
		switch {
		case c.Level == unix.IPPROTO_IP && c.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
			d.Local = srd.UplinkOf(netip.AddrFrom4([4]byte(data[4:8])), binary.NativeEndian.Uint32(data[0:4]))
		case c.Level == unix.IPPROTO_IPV6 && c.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
			d.Local = srd.UplinkOf(netip.AddrFrom16([16]byte(data[0:16])), binary.NativeEndian.Uint32(data[16:20]))
		case c.Level == unix.IPPROTO_IP && c.Type == unix.IP_TOS && len(data) >= 1:
			d.ECN = ecnOf(uint32(data[0]))
		case c.Level == unix.IPPROTO_IPV6 && c.Type == unix.IPV6_TCLASS && len(data) >= 4:
			d.ECN = ecnOf(binary.NativeEndian.Uint32(data))
		case c.Level == unix.IPPROTO_UDP && c.Type == unix.UDP_GRO && len(data) >= 4:
			d.Segment = int(binary.NativeEndian.Uint32(data))
		case c.Level == unix.SOL_SOCKET && c.Type == stampKind && len(data) >= int(unsafe.Sizeof(unix.Timespec{})):
			d.Stamp = (*unix.Timespec)(unsafe.Pointer(&data[0])).Nano()
		}
		if n = align(n); n >= len(b) {
			return
		}
		b = b[n:]
	}
}

// ecnOf returns the ECN field of a type of service or traffic class.
func ecnOf(class uint32) srd.ECN {
	switch class & ecnMask {
	case 0:
		return srd.NotECT
	case ecnMask:
		return srd.CE
	}
	return srd.ECT
}
