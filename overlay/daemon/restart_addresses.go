package daemon

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/handover"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// lastKnownMost bounds the number of saved addresses of a peer, because each handshake attempt is
// sent to all of them. A NAT maps each source port of a peer to a different port, so a peer has
// many addresses.
const lastKnownMost = 8

// lastKnown saves the peers' addresses in a file, for a start after this process was killed. It
// saves addresses that work and are not among the peer's endpoints. Only the observer and the start
// of the process use lastKnown.
type lastKnown struct {
	known   map[string][]netip.AddrPort // by public key
	changed bool                        // since the last write
	failed  bool                        // a failed write was reported
}

// loadLastKnown reads the file of an earlier process. The addresses in a bundle from the earlier
// process take precedence (lastAddresses).
func (rs *restart) loadLastKnown() {
	rs.lastKnown.known = map[string][]netip.AddrPort{}
	peers, err := handover.ReadPeers(rs.running.cfg().Interface.Name)
	if err != nil {
		rs.log.tell(events.Fallback, "addresses", "the last addresses of peers without endpoints are not used: %v", err)
	}
	for _, p := range peers {
		rs.lastKnown.known[p.Key] = p.Addresses[:min(len(p.Addresses), lastKnownMost)]
	}
}

// noteLastKnown updates the saved addresses of p.
func (rs *restart) noteLastKnown(p *peer, paths []srd.PathInfo) {
	var endpoints, proven []netip.AddrPort
	p.link.Do(func(_ mono.Time, c *srd.Conn) { endpoints, proven = p.remote.endpoints, c.Proven() })
	rs.lastKnown.note(p.cfg().PublicKey.String(), endpoints, proven, paths)
}

// note updates the saved addresses of a peer from its validated addresses, newest first. Only
// addresses of active paths are saved. The method note() changes nothing while enough saved
// addresses still work. If every change were saved, a peer with many ports would cause a write
// every second.
func (v *lastKnown) note(key string, endpoints, proven []netip.AddrPort, paths []srd.PathInfo) {
	works := func(a netip.AddrPort) bool {
		return slices.ContainsFunc(paths, func(p srd.PathInfo) bool { return p.State == srd.PathActive && p.Tuple.Remote == a })
	}
	called := func(a netip.AddrPort) bool {
		return slices.ContainsFunc(endpoints, func(e netip.AddrPort) bool { return e.Addr() == a.Addr() })
	}
	var now []netip.AddrPort
	for _, a := range proven {
		if works(a) && !called(a) && len(now) < lastKnownMost {
			now = append(now, a)
		}
	}
	if len(now) == 0 {
		return // the peer is silent for the moment, or its endpoints suffice to find it
	}
	old := v.known[key]
	// If at least half of the saved addresses still work, they suffice to find the peer, and are
	// kept.
	if alive := len(slices.DeleteFunc(slices.Clone(old), func(a netip.AddrPort) bool { return !works(a) })); 2*alive >= len(now) {
		return
	}
	v.known[key], v.changed = now, true
}

// saveLastKnown writes the file if addresses have changed, and deletes removed peers from it.
func (rs *restart) saveLastKnown() {
	v := &rs.lastKnown
	if !v.changed {
		return
	}
	v.changed = false
	all, stay := []handover.Peer{}, map[string][]netip.AddrPort{}
	for _, p := range rs.running.peers() {
		key := p.cfg().PublicKey.String()
		if a := v.known[key]; len(a) > 0 {
			all, stay[key] = append(all, handover.Peer{Key: key, Addresses: a}), a
		}
	}
	v.known = stay
	slices.SortFunc(all, func(a, b handover.Peer) int { return strings.Compare(a.Key, b.Key) })
	if err := handover.WritePeers(rs.running.cfg().Interface.Name, all); err != nil && !v.failed {
		v.failed = true
		rs.log.tell(events.Fallback, "addresses", "after a crash peers without endpoints will not be called: %v", err)
	}
}
