package srd

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/srd/mono"
)

// withdrawn lists addresses of the peer that must carry no packets while another address
// works. This end opened the paths to these addresses, and the peer uses the paths until
// they fall silent. So packets from withdrawn addresses are dropped as well. If no other
// address works, withdrawn addresses may be used, because the peer may have moved to one of
// them.
type withdrawn []netip.Addr

// withdrawnMost bounds the list, as provenMost bounds the proven addresses.
const withdrawnMost = provenMost

// Withdraw sets the list of the peer's addresses that were removed from the
// configuration. As soon as a path to another address is in use, the paths to removed
// addresses are freed, and their messages in flight are sent again.
func (c *Conn) Withdraw(now mono.Time, addrs []netip.Addr) {
	c.paths.withdrawn = slices.Clone(addrs[:min(len(addrs), withdrawnMost)])
	c.paths.letGo()
}

// at reports whether p is a path to one of the withdrawn addresses.
func (w withdrawn) at(p *path) bool { return slices.Contains(w, p.tuple.Remote.Addr()) }

// elsewhere reports whether a path to another address is in use.
func (ps *paths) elsewhere() bool {
	return slices.ContainsFunc(ps.table, func(p *path) bool { return p.state == PathActive && !ps.withdrawn.at(p) })
}

// refuses reports whether packets from the address `a` must be dropped.
func (ps *paths) refuses(a netip.Addr) bool {
	return len(ps.withdrawn) > 0 && slices.Contains(ps.withdrawn, a) && ps.elsewhere()
}

// letGo frees the paths to withdrawn addresses if a path to another address is in use.
func (ps *paths) letGo() {
	if len(ps.withdrawn) == 0 || !ps.elsewhere() {
		return
	}
	for _, p := range ps.table {
		if p.state != PathFree && ps.withdrawn.at(p) {
			ps.freePath(p)
		}
	}
}
