package srd

import (
	"bytes"
	"cmp"
	"net/netip"
	"strconv"
)

// Uplink is a source address of this host and the outgoing interface. An address alone does
// not identify an uplink, because two LTE sticks of one maker may give the host the same
// address. If an Uplink has no address, the kernel chooses the address. Each path stores
// several uplinks, so an Uplink is made smaller than a netip.Addr with an interface number.
type Uplink struct {
	addr  [16]byte
	link  uint32
	bytes uint8 // length of the address: 4 or 16, 0 without an address
}

// UplinkOf returns the uplink with the address `a`, which must have no zone, and the
// interface number `link`. If `link` is 0, the routing table chooses the interface.
func UplinkOf(a netip.Addr, link uint32) Uplink {
	u := Uplink{link: link}
	switch {
	case a.Is4():
		v := a.As4()
		u.bytes = uint8(copy(u.addr[:], v[:]))
	case a.Is6():
		u.addr, u.bytes = a.As16(), 16
	}
	return u
}

// IsValid reports whether u has an address.
func (u Uplink) IsValid() bool { return u.bytes > 0 }

// Addr returns the source address.
func (u Uplink) Addr() netip.Addr {
	switch u.bytes {
	case 4:
		return netip.AddrFrom4([4]byte(u.addr[:4]))
	case 16:
		return netip.AddrFrom16(u.addr)
	}
	return netip.Addr{}
}

// Link returns the number of the interface; 0: the routing table chooses it.
func (u Uplink) Link() uint32 { return u.link }

// At returns u with the interface number `link`.
func (u Uplink) At(link uint32) Uplink {
	u.link = link
	return u
}

// String returns the address, with the interface number as RFC 4007 section 11 writes it.
func (u Uplink) String() string {
	if u.link == 0 {
		return u.Addr().String()
	}
	return u.Addr().String() + "%" + strconv.FormatUint(uint64(u.link), 10)
}

// Compare orders uplinks by address, as netip.Addr does, and then by interface.
func (u Uplink) Compare(v Uplink) int {
	return cmp.Or(cmp.Compare(u.bytes, v.bytes), bytes.Compare(u.addr[:], v.addr[:]), cmp.Compare(u.link, v.link))
}
