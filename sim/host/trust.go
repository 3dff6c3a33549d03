package host

import (
	"net/netip"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// amplification is how many times the bytes received from an unproven address may be sent to
// it (RFC 9000 section 8).
const amplification = 3

// trust checks that a host sends nothing to an address that it may not use. A host may use
// an address of a peer that is configured for it, or proven. The proof is a packet that the
// peer received there, and a later one from the peer that reached the host. Only the
// simulator knows whether that happened. Every proof in the protocol must imply these two
// events.
//
// Any other address may get at most amplification times the bytes that came from there. All
// kinds of packets and all ports count together. The bound holds for each peer, with the
// packets in its name, and for all peers together.
type trust struct {
	all   map[netip.Addr]*account
	peers map[claim]*account
	// met is the time when this host first received another host's packet to an address.
	met map[errand]mono.Time
	// heard is the latest sending time of the packets that came from each host.
	heard map[net.Node]mono.Time
}

// account holds the bytes of UDP payload that came from an address and went to it.
type account struct{ came, went int }

// claim is an address of one peer.
type claim struct {
	peer *Host
	addr netip.Addr
}

// errand is an address to which a process of a host has sent packets.
type errand struct {
	by  net.Node
	gen uint16
	aim netip.Addr
}

func newTrust() trust {
	return trust{
		all: map[netip.Addr]*account{}, peers: map[claim]*account{},
		met: map[errand]mono.Time{}, heard: map[net.Node]mono.Time{},
	}
}

// boot clears the bytes of a former process.
func (v *trust) boot() {
	v.all, v.peers = map[netip.Addr]*account{}, map[claim]*account{}
}

func (v *trust) total(a netip.Addr) *account {
	x := v.all[a]
	if x == nil {
		x = &account{}
		v.all[a] = x
	}
	return x
}

func (v *trust) of(peer *Host, a netip.Addr) *account {
	x := v.peers[claim{peer, a}]
	if x == nil {
		x = &account{}
		v.peers[claim{peer, a}] = x
	}
	return x
}

// receive records that p has arrived at the host.
func (v *trust) receive(now mono.Time, p *net.Packet) {
	v.total(p.Src.Addr()).came += len(p.Data)
	o := &p.Origin
	if o.By == nil || p.Forged {
		return
	}
	e := errand{o.By, o.Gen, o.Aim}
	if _, known := v.met[e]; !known {
		v.met[e] = now
	}
	v.heard[o.By] = max(v.heard[o.By], o.At)
}

// Witness records that p has arrived at a host on which no program runs.
func (h *Host) Witness(p *net.Packet) { h.trust.receive(h.engine.Now(), p) }

// configured reports whether the host's configuration says that a peer is at an address.
func (h *Host) configured(peer *Host, a netip.Addr) bool {
	for i := range h.remotes {
		if r := &h.remotes[i]; r.Host == peer {
			for _, b := range r.Addrs {
				if b.Addr() == a {
					return true
				}
			}
		}
	}
	return false
}

// proven reports whether a peer can have proven an address to the running process.
func (h *Host) proven(peer *Host, a netip.Addr) bool {
	at, met := peer.trust.met[errand{h, h.gen, a}]
	return met && at <= h.trust.heard[peer]
}

// inOrder reports whether a host may send to a peer at an address without limit.
func (h *Host) inOrder(peer *Host, a netip.Addr) bool {
	return h.configured(peer, a) || h.proven(peer, a)
}

// spend counts n bytes to an address, for a peer; nil: for no peer, as with a cookie.
func (h *Host) spend(peer *Host, to netip.Addr, n int) {
	x := h.trust.total(to)
	x.went += n
	if peer != nil {
		y := h.trust.of(peer, to)
		if y.went += n; y.went > amplification*y.came && !h.inOrder(peer, to) {
			h.Audit.Fail("host %d sends %d bytes to %v, which has not proven to be host %d, for %d from there", h.Index, y.went, to, peer.Index, y.came)
		}
	}
	if x.went <= amplification*x.came {
		return
	}
	for i := range h.remotes {
		if h.inOrder(h.remotes[i].Host, to) {
			return
		}
	}
	h.Audit.Fail("host %d sends %d bytes to %v, which nobody has proven, for %d from there", h.Index, x.went, to, x.came)
}

// mistrusted returns the first path in use to an address that the peer has not proven.
func (p *Peer) mistrusted() (srd.PathInfo, bool) {
	h := p.process.host
	for _, i := range p.Conn.Paths() {
		if i.State == srd.PathActive && !h.inOrder(p.remote, i.Tuple.Remote.Addr()) {
			return i, true
		}
	}
	return srd.PathInfo{}, false
}

// unmoved is the part of a connection's state that only authentic packets may change.
type unmoved struct {
	session             srd.Session
	handshakes, givenUp uint64
	restarted, dropped  uint64
}

func (p *Peer) unmoved(now mono.Time) unmoved {
	s := p.Conn.Stats()
	return unmoved{p.Conn.Session(now), s.Handshakes, s.GivenUp, s.Drops[srd.DropIncarnation], s.Drops[srd.DropClosed]}
}
