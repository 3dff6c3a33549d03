// Package route maps inner addresses to peers by allowed IPs, as WireGuard does. An outgoing
// packet is sent to the peer with the longest prefix that contains its destination. An incoming
// packet is accepted if a packet to its source address would be sent to the same peer.
package route

import (
	"fmt"
	"net/netip"

	"github.com/gaissmai/bart"
)

// Table maps prefixes (allowed IPs) to peers. The zero value of Table is an empty table. After the
// last Insert, several goroutines may read the table concurrently. A reload builds a new table and
// replaces the old one as a whole.
//
// An IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) matches no prefix, because it must not
// count as the IPv4 address that it contains.
type Table struct {
	prefixes bart.Table[int]
}

// Insert assigns prefix to the peer with the given index, which is not negative. Insert ignores
// bits of the address after the prefix length. An invalid, IPv4-mapped or repeated prefix is an
// error, and leaves the table unchanged.
func (t *Table) Insert(prefix netip.Prefix, peer int) error {
	if !prefix.IsValid() {
		return fmt.Errorf("route: invalid prefix %v", prefix)
	}
	if prefix.Addr().Is4In6() {
		return fmt.Errorf("route: %v is an IPv4-mapped prefix, write it as IPv4", prefix)
	}
	if peer < 0 {
		return fmt.Errorf("route: %v: negative peer %d", prefix, peer)
	}
	prefix = prefix.Masked()
	if other, ok := t.prefixes.Get(prefix); ok {
		return fmt.Errorf("route: %v is already allowed to peer %d", prefix, other)
	}
	t.prefixes.Insert(prefix, peer)
	return nil
}

// Lookup returns the peer with the longest prefix that contains dst.
func (t *Table) Lookup(dst netip.Addr) (peer int, ok bool) {
	if dst.Is4In6() {
		return 0, false
	}
	return t.prefixes.Lookup(dst)
}

// Allowed reports whether a packet from the peer may have the source address src, which means
// that a packet to src is routed to that peer.
func (t *Table) Allowed(peer int, src netip.Addr) bool {
	owner, ok := t.Lookup(src)
	return ok && owner == peer
}

// Len returns the number of prefixes in the table.
func (t *Table) Len() int { return t.prefixes.Size() }
