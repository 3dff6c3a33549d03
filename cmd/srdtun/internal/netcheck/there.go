package netcheck

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/cmd/srdtun/internal/doctor"
	"github.com/srdtun/srdtun/overlay/control"
)

// A host cannot observe its own translated address, or whether its ECN marks reach the peer. Only
// the peer's own status shows the translated address and the received marks.

// unseen is the text of a finding that would need the peer's status.
const unseen = "not visible from here; --there FILE compares with the peer's own show --json"

// rewritten checks whether a NAT changes the address or port of packets to the peer.
func rewritten(st *control.Status, p *control.Peer, there *control.Status) doctor.Finding {
	v := doctor.Finding{Check: "ports on the way", Saw: unseen}
	if there == nil {
		return v
	}
	i := indexOf(there, st.PublicKey)
	if there.PublicKey != p.PublicKey || i < 0 {
		v.Level, v.Saw = doctor.Warning, "the given status is another peer's, or has no peer with this end's key"
		v.Why, v.Advice = "there is nothing to compare", "srdtun show NAME --json at the peer"
		return v
	}
	left := map[netip.AddrPort]bool{}
	for _, path := range p.Paths {
		if a, err := addrPort(path.Local); err == nil {
			left[a], left[netip.AddrPortFrom(a.Addr(), st.ListenPort)] = true, true
		}
	}
	same, others := map[netip.AddrPort]bool{}, map[netip.AddrPort]bool{}
	var first netip.AddrPort
	for _, path := range there.Peers[i].Paths {
		a, err := addrPort(path.Remote)
		switch {
		case err != nil || path.State != control.PathActive:
		case left[a]:
			same[a] = true
		default:
			if len(others) == 0 {
				first = a
			}
			others[a] = true
		}
	}
	switch {
	case len(same)+len(others) == 0:
		v.Saw = "the peer has no path that works"
	case len(others) == 0:
		v.Saw = fmt.Sprintf("the peer sees packets from %d addresses and ports, all of them this end's own", len(same))
	default:
		v.Saw = fmt.Sprintf("the peer sees %v and %d more addresses and ports that this end does not have; %d are this end's", first, len(others)-1, len(same))
		v.Why = "a NAT on the way gives addresses or ports of its own, and forgets idle ones"
		v.Advice = "persistent_keepalive = 25 here, so that the peer can reach this end while idle"
	}
	return v
}

// ecnThere checks the ECN marks of packets to the peer.
func ecnThere(st, there *control.Status) doctor.Finding {
	v := doctor.Finding{Check: "ECN out", Saw: unseen}
	if there == nil {
		return v
	}
	if i := indexOf(there, st.PublicKey); i >= 0 {
		v = ecn(there.Peers[i].Paths)
		v.Check, v.Saw = "ECN out", "at the peer: "+v.Saw
	}
	return v
}

// indexOf returns the index of the peer with this key, or -1.
func indexOf(st *control.Status, key string) int {
	return slices.IndexFunc(st.Peers, func(p control.Peer) bool { return p.PublicKey == key })
}

// addrPort parses an address without its zone. A zone is valid only on its own host, and the
// peer's status may contain any text there.
func addrPort(text string) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(text)
	return netip.AddrPortFrom(a.Addr().WithZone(""), a.Port()), err
}
