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

// lastKnownMost is how many addresses of a peer are written down: as many as an initiation
// leaves for with one attempt. A NAT gives each of a peer's ports one of its own.
const lastKnownMost = 8

// lastKnown are the addresses of peers for a start after a kill -9: where they
// work, and no endpoint leads. Only live uses it, and who starts and ends the process.
type lastKnown struct {
	known   map[string][]netip.AddrPort // by public key
	changed bool                        // since they were written
	failed  bool                        // that it cannot be written was told
}

// loadLastKnown takes what a process before has left. Where this one has got more from it, that
// counts.
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

// noteLastKnown looks where p is now.
func (rs *restart) noteLastKnown(p *peer, paths []srd.PathInfo) {
	var endpoints, proven []netip.AddrPort
	p.link.Do(func(_ mono.Time, c *srd.Conn) { endpoints, proven = p.remote.endpoints, c.Proven() })
	rs.lastKnown.note(p.cfg().PublicKey.String(), endpoints, proven, paths)
}

// note takes where a peer is now: proven, newest first, of which those in working carry
// data. It changes nothing while one of the addresses works that are known already, else
// a peer with many ports would make other ones of each look.
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
		return // silent for the moment, or called by its endpoints
	}
	old := v.known[key]
	// Half of them is enough to be found by, and leaves room for some to fail.
	if alive := len(slices.DeleteFunc(slices.Clone(old), func(a netip.AddrPort) bool { return !works(a) })); 2*alive >= len(now) {
		return
	}
	v.known[key], v.changed = now, true
}

// saveLastKnown writes them if they have changed, without those of peers that are gone.
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
