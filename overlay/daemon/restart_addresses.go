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

// lastKnownMost bounds the saved addresses of a peer. One handshake attempt goes to that many
// addresses. A NAT gives each port of a peer its own external port, so a peer has many.
const lastKnownMost = 8

// lastKnown saves peers' addresses for a start after a kill -9. It holds working addresses
// that are not in the peers' endpoints. Only the observer and the start of the process use
// it.
type lastKnown struct {
	known   map[string][]netip.AddrPort // by public key
	changed bool                        // since the last write
	failed  bool                        // a failed write was reported
}

// loadLastKnown reads the file of an earlier process. The addresses in a bundle from that
// process take precedence (lastAddresses).
func (rs *restart) loadLastKnown() {
	rs.lastKnown.known = map[string][]netip.AddrPort{}
	peers, err := handover.ReadPlaces(rs.running.cfg().Interface.Name)
	if err != nil {
		rs.log.tell(events.Fallback, "places", "the last addresses of peers without endpoints are not used: %v", err)
	}
	for _, p := range peers {
		rs.lastKnown.known[p.Key] = p.Addresses[:min(len(p.Addresses), lastKnownMost)]
	}
}

// noteLastKnown saves the current addresses of p.
func (rs *restart) noteLastKnown(p *peer, paths []srd.PathInfo) {
	var endpoints, proven []netip.AddrPort
	p.link.Do(func(_ mono.Time, c *srd.Conn) { endpoints, proven = p.remote.endpoints, c.Proven() })
	rs.lastKnown.note(p.cfg().PublicKey.String(), endpoints, proven, paths)
}

// note takes the validated addresses of a peer, the newest first. Only addresses of active
// paths count. It changes nothing while enough saved addresses still work. Otherwise the list
// of a peer with many ports would change every second.
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
		return // silent for the moment, or found by its endpoints
	}
	old := v.known[key]
	// Half of them must work: that suffices to find the peer, and allows some to fail.
	if alive := len(slices.DeleteFunc(slices.Clone(old), func(a netip.AddrPort) bool { return !works(a) })); 2*alive >= len(now) {
		return
	}
	v.known[key], v.changed = now, true
}

// saveLastKnown writes the file if addresses have changed, and drops removed peers.
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
	if err := handover.WritePlaces(rs.running.cfg().Interface.Name, all); err != nil && !v.failed {
		v.failed = true
		rs.log.tell(events.Fallback, "places", "after a crash peers without endpoints will not be called: %v", err)
	}
}
