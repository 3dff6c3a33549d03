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

// lastKnownMost bounds the written addresses of a peer. One attempt of an initiation goes to
// as many. A NAT gives each port of a peer its own external port.
const lastKnownMost = 8

// lastKnown holds addresses of peers for a start after a kill -9. They are working addresses
// that no endpoint has. Only the observer uses it, and the start of the process.
type lastKnown struct {
	known   map[string][]netip.AddrPort // by public key
	changed bool                        // since the last write
	failed  bool                        // a failed write was reported
}

// loadLastKnown reads the file of an earlier process. A bundle from that process takes
// precedence (lastAddresses).
func (rs *restart) loadLastKnown() {
	rs.lastKnown.known = map[string][]netip.AddrPort{}
	peers, err := handover.ReadPlaces(rs.running.cfg().Interface.Name)
	if err != nil {
		rs.log.tell(events.Fallback, "places", "peers without endpoints are not called where they were: %v", err)
	}
	for _, p := range peers {
		rs.lastKnown.known[p.Key] = p.Addresses[:min(len(p.Addresses), lastKnownMost)]
	}
}

// noteLastKnown notes the current addresses of p.
func (rs *restart) noteLastKnown(p *peer, paths []srd.PathInfo) {
	var endpoints, proven []netip.AddrPort
	p.link.Do(func(_ mono.Time, c *srd.Conn) { endpoints, proven = p.remote.endpoints, c.Proven() })
	rs.lastKnown.note(p.cfg().PublicKey.String(), endpoints, proven, paths)
}

// note takes the current addresses of a peer: proven, newest first. Only addresses of active
// paths count. It changes nothing while enough known addresses still work. Else the list of a
// peer with many ports would change at each look.
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
	// Half of them is enough to find the peer, and lets some fail.
	if alive := len(slices.DeleteFunc(slices.Clone(old), func(a netip.AddrPort) bool { return !works(a) })); 2*alive >= len(now) {
		return
	}
	v.known[key], v.changed = now, true
}

// saveLastKnown writes changed addresses, without removed peers.
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
