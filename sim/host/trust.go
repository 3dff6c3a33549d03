package host

import (
	"net/netip"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// amplification is the anti-amplification limit for bytes sent to an unproven address, as a
// multiple of the bytes received from it (RFC 9000, section 8).
const amplification = 3

// trust checks that a host sends packets only to addresses that it may use. A host may use a peer's
// address if the address is configured or proven. An address is proven if the peer received a
// packet there, and a later packet of the peer reached the host. Only the simulator can observe
// directly that a packet arrived at a peer. Every proof of an address in the protocol must imply
// that a packet arrived there, and that a later packet came back.
//
// A host may send to any other address at most amplification times the bytes received from there.
// This limit counts all kinds of packets and all ports together. It holds for the packets of each
// peer, and for those of all peers together.
type trust struct {
	all   map[netip.Addr]*account
	peers map[claim]*account
	// met holds the time when this host first received another host's packet at an address.
	met map[errand]mono.Time
	// heard holds the latest sending time of packets received from each host.
	heard map[net.Node]mono.Time
}

// account counts the bytes of UDP payload received from an address and sent to it.
type account struct{ came, went int }

// claim is an address at which a peer may be reachable.
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

// boot resets the byte counts of the former process.
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

// configured reports whether an address of the peer is in the host's configuration.
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

// proven reports whether the peer has proven an address to the running process.
func (h *Host) proven(peer *Host, a netip.Addr) bool {
	at, met := peer.trust.met[errand{h, h.gen, a}]
	return met && at <= h.trust.heard[peer]
}

// inOrder reports whether a host may send to a peer's address without limit.
func (h *Host) inOrder(peer *Host, a netip.Addr) bool {
	return h.configured(peer, a) || h.proven(peer, a)
}

// spend counts n bytes sent to an address. The argument `peer` is nil for packets without a
// connection, such as cookies.
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

// mistrusted returns the first active path to an address that the peer has not proven.
func (p *Peer) mistrusted() (srd.PathInfo, bool) {
	h := p.process.host
	for _, i := range p.Conn.Paths() {
		if i.State == srd.PathActive && !h.inOrder(p.remote, i.Tuple.Remote.Addr()) {
			return i, true
		}
	}
	return srd.PathInfo{}, false
}

// unmoved holds the state of a connection that only authentic packets may change.
type unmoved struct {
	session             srd.Session
	handshakes, givenUp uint64
	restarted, dropped  uint64
}

func (p *Peer) unmoved(now mono.Time) unmoved {
	s := p.Conn.Stats()
	return unmoved{p.Conn.Session(now), s.Handshakes, s.GivenUp, s.Drops[srd.DropIncarnation], s.Drops[srd.DropClosed]}
}
