package srd

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/srd/mono"
)

// withdrawn are addresses of the peer that are to carry nothing while another works. The peer
// learned the paths to them from us, and goes on with these until they fall silent. So what
// comes from there is dropped as well. Where nothing else works they are addresses like any
// other: a peer may have moved there.
type withdrawn []netip.Addr

// withdrawnMost bounds the addresses: as many as are remembered as proven.
const withdrawnMost = provenMost

// Withdraw tells all addresses of the peer that were configured, and are no more. Paths to
// them are let go as soon as another is in use; what is in flight there is sent again.
func (c *Conn) Withdraw(now mono.Time, addrs []netip.Addr) {
	c.paths.withdrawn = slices.Clone(addrs[:min(len(addrs), withdrawnMost)])
	c.paths.letGo()
}

// at reports whether a path leads to one of the addresses.
func (w withdrawn) at(p *path) bool { return slices.Contains(w, p.tuple.Remote.Addr()) }

// elsewhere reports whether a path to another address is in use.
func (ps *paths) elsewhere() bool {
	return slices.ContainsFunc(ps.table, func(p *path) bool { return p.state == PathActive && !ps.withdrawn.at(p) })
}

// refuses reports whether what came from a is to be dropped.
func (ps *paths) refuses(a netip.Addr) bool {
	return len(ps.withdrawn) > 0 && slices.Contains(ps.withdrawn, a) && ps.elsewhere()
}

// letGo frees the paths to withdrawn addresses if another is in use.
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
