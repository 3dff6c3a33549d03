package netconf

import (
	"errors"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// dumpTries bounds the repetitions of a dump that the kernel reports as inconsistent because its
// table changed during the dump. A dump of a table takes well under a millisecond. If the table
// changed during ten dumps in a row, it will probably change during the next dump too.
const dumpTries = 10

// dump calls the function list() again while the result is inconsistent (NLM_F_DUMP_INTR,
// netlink(7)).
func dump[T any](list func() ([]T, error)) ([]T, error) {
	var items []T
	var err error
	for range dumpTries {
		if items, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return items, err
		}
	}
	return nil, err
}

// gone reports whether a removal failed because the setting does not exist, or because the
// kernel lacks the address family.
func gone(err error) bool {
	return slices.ContainsFunc([]error{unix.ENOENT, unix.ESRCH, unix.ENODEV, unix.EADDRNOTAVAIL, unix.EOPNOTSUPP, unix.EAFNOSUPPORT},
		func(e error) bool { return errors.Is(err, e) })
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func family(a netip.Addr) int {
	if a.Is4() {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

func linkName(nl *netlink.Handle, index int) string {
	link, err := nl.LinkByIndex(index)
	if err != nil {
		return "another interface"
	}
	return link.Attrs().Name
}
