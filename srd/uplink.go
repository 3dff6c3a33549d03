package srd

import (
	"bytes"
	"cmp"
	"net/netip"
	"strconv"
)

// Uplink is where packets of this host leave from: an address, and the interface that they
// leave by. An address alone does not say that: two LTE sticks of one maker give the host the
// same. Without an address the kernel chooses. It is smaller than a netip.Addr with a number,
// as each path has several.
type Uplink struct {
	addr  [16]byte
	link  uint32
	bytes uint8 // of addr: 4, 16, 0: none
}

// UplinkOf returns the uplink of an address without a zone at the interface with a number;
// 0: whichever the routes prefer.
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

// Link returns the number of the interface; 0: whichever the routes prefer.
func (u Uplink) Link() uint32 { return u.link }

// At returns u at the interface with another number.
func (u Uplink) At(link uint32) Uplink {
	u.link = link
	return u
}

// String is the address, with the number of the interface as RFC 4007 section 11 writes it.
func (u Uplink) String() string {
	if u.link == 0 {
		return u.Addr().String()
	}
	return u.Addr().String() + "%" + strconv.FormatUint(uint64(u.link), 10)
}

// Compare orders uplinks as netip.Addr does, and then by their interfaces.
func (u Uplink) Compare(v Uplink) int {
	return cmp.Or(cmp.Compare(u.bytes, v.bytes), bytes.Compare(u.addr[:], v.addr[:]), cmp.Compare(u.link, v.link))
}
