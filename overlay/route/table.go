// Package route maps inner addresses to peers by allowed IPs, as WireGuard
// does: the longest prefix that holds the destination of an outgoing packet
// names its peer, and the source of an incoming packet must lead back to the
// peer it came from.
package route

import (
	"fmt"
	"net/netip"

	"github.com/gaissmai/bart"
)

// Table holds allowed IPs. The zero value is an empty table. It is filled by
// Insert and then only read; a reader may share it with other readers, and a
// reload builds a new table and swaps it whole.
//
// An IPv4 address mapped into IPv6 (RFC 4291 section 2.5.5.2) is no address of
// either kind here, so that it cannot pass for the IPv4 address inside it.
type Table struct {
	prefixes bart.Table[int]
}

// Insert allows prefix to the peer of this index, a number that is not
// negative. Bits of the address behind the prefix length are ignored. A prefix
// that is invalid, IPv4-mapped or already in the table is an error, and then
// the table stays as it was.
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

// Lookup returns the peer whose prefix holds dst with the greatest length.
func (t *Table) Lookup(dst netip.Addr) (peer int, ok bool) {
	if dst.Is4In6() {
		return 0, false
	}
	return t.prefixes.Lookup(dst)
}

// Allowed reports whether a packet from the peer may have the source src: that
// an answer to src would go to that peer.
func (t *Table) Allowed(peer int, src netip.Addr) bool {
	owner, ok := t.Lookup(src)
	return ok && owner == peer
}

// Len returns the number of prefixes.
func (t *Table) Len() int { return t.prefixes.Size() }
