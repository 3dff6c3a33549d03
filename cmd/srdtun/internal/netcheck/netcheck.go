// Package netcheck derives findings about the network between two peers from counters and traces.
package netcheck

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/cmd/srdtun/internal/doctor"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/view"
	"github.com/srdtun/srdtun/overlay/control"
)

// Pair is an address of this host and an address of the peer.
type Pair struct {
	Local     netip.Addr
	Interface string // the interface to which packets are bound; "": the routes choose
	Remote    netip.AddrPort
	from      string // text of Local and Interface
}

func (p Pair) String() string { return fmt.Sprintf("%s to %v", p.from, p.Remote.Addr()) }

// Pairs returns the address pairs of the peer's paths, in the order of the paths. The remote
// address of a Pair has the first port that occurs with that address.
func Pairs(p *control.Peer) (v []Pair) {
	for i := range p.Paths {
		pair, ok := pairOf(&p.Paths[i])
		if ok && !slices.ContainsFunc(v, func(o Pair) bool {
			return o.Local == pair.Local && o.Interface == pair.Interface && o.Remote.Addr() == pair.Remote.Addr()
		}) {
			v = append(v, pair)
		}
	}
	return v
}

func pairOf(path *control.Path) (Pair, bool) {
	local, err := netip.ParseAddrPort(path.Local)
	remote, e := netip.ParseAddrPort(path.Remote)
	return Pair{local.Addr(), path.Interface, remote, path.Uplink()}, err == nil && e == nil
}

// Ways is the result of a trace for a Pair. It has the largest number of parallel routers, or 0 if
// no router answered.
type Ways struct {
	Pair Pair
	N    int
	Err  error
}

// Devices returns the MTU of this host's device that has a local address, or 0 if there is none.
type Devices func(local netip.Addr) int

// Judge returns the findings about a peer. The argument `there` is the status from the peer's own
// daemon, or nil.
func Judge(st *control.Status, p *control.Peer, ways []Ways, there *control.Status, devices Devices) []doctor.Finding {
	v := []doctor.Finding{session(st, p, there), paths(p)}
	if len(p.Paths) == 0 { // without paths nothing is known about the network
		return append(v, trains(st), dropped(st), refused(st))
	}
	v = append(v, ports(p))
	for _, w := range ways {
		v = append(v, width(w))
	}
	return append(v, mtu(p, devices), translated(p), rewritten(st, p, there), loss(p), ecn(p.Paths), ecnThere(st, there), trains(st), dropped(st), refused(st))
}

func session(st *control.Status, p *control.Peer, there *control.Status) doctor.Finding {
	v := doctor.Finding{Check: "session", Saw: "the peer answers"}
	switch {
	case p.NoWay != "":
		v.Level, v.Saw, v.Why = doctor.Fault, p.NoWay, "nothing passes"
		v.Advice = "see srdtun events, and the addresses and routes of this host"
	case p.SessionFault != "" && (p.Cipher != "" || p.Drops["no_common_cipher"] > 0):
		v.Level, v.Saw, v.Why = doctor.Fault, p.SessionFault, "nothing passes, or packets get lost"
		v.Advice = "the line above has the remedy"
	case p.LeftUnixS != 0:
		v.Level, v.Saw, v.Why = doctor.Fault, "the peer ended the session", "nothing passes until it is back"
		v.Advice = "is the daemon of the peer running, and does its configuration still name this host?"
	case p.LatestHandshakeUnixS != 0 && p.SilentSinceUnixS == 0:
	case oneKey(st, p, there):
		v.Level, v.Saw, v.Why = doctor.Fault, "only one end has a preshared key", "nothing passes"
		v.Advice = "write the same preshared_key at both ends, or at none"
	case p.Drops["handshake_mismatch"] > 0:
		v.Level, v.Saw, v.Why = doctor.Fault, "answers of the peer to handshakes did not decrypt", "nothing passes"
		v.Advice = sameKeys
	case p.LatestHandshakeUnixS == 0 && len(p.Endpoints) == 0 && p.TxBytes > 0:
		// This end answers, or calls the peer's last known address.
		v.Level, v.Saw, v.Why = doctor.Fault, "the peer has completed no handshake yet", "nothing passes"
		v.Advice = sameKeys + " Do packets from here reach the peer?"
	case p.LatestHandshakeUnixS == 0 && len(p.Endpoints) == 0:
		v.Level, v.Saw, v.Why = doctor.Fault, "the peer has not called yet, and no endpoint is configured here", "nothing passes until the peer calls"
		v.Advice = "is the peer up, does it have this host's address and public key, does UDP pass to the port here?"
	case p.LatestHandshakeUnixS == 0:
		v.Level, v.Saw, v.Why = doctor.Fault, "there was no handshake yet", "nothing passes"
		v.Advice = "is the peer up, is its public key right here, does UDP pass to its port? A ping starts a handshake"
	default:
		v.Level, v.Saw, v.Why = doctor.Fault, "the peer does not answer any more", "nothing passes"
		v.Advice = "is the peer up, and has its address changed?"
	}
	return v
}

// sameKeys is the advice if a handshake fails although both ends know each other's public key.
const sameKeys = "is preshared_key the same at both ends, and do the ends have a cipher in common?"

// oneKey reports whether only one end has a preshared key for the other one.
func oneKey(st *control.Status, p *control.Peer, there *control.Status) bool {
	if there == nil || there.PublicKey != p.PublicKey {
		return false
	}
	i := indexOf(there, st.PublicKey)
	return i >= 0 && there.Peers[i].HasPresharedKey != p.HasPresharedKey
}

func paths(p *control.Peer) doctor.Finding {
	active, all := view.Up(p.Paths)
	v := doctor.Finding{Check: "paths", Saw: fmt.Sprintf("%d of %d work", active, all)}
	if n := len(p.Paths) - all; n > 0 {
		v.Saw += fmt.Sprintf(", and %d have had no answer yet", n)
	}
	switch {
	case len(p.Paths) == 0:
		v.Saw = "none yet; paths open when something is sent"
	case active == 0:
		v.Level, v.Why, v.Advice = doctor.Fault, "nothing passes", "see the session above"
	case active < len(p.Paths):
		v.Level, v.Why = doctor.Warning, "packets on the other paths got lost, or had no answer"
		v.Advice = "see srdtun show: if all paths of an address are down, look for a link; if single ports are down, look for a filter"
	}
	return v
}

// ports finds source ports that work for no pair of addresses while other ports work.
func ports(p *control.Peer) doctor.Finding {
	seen, works := map[uint16]bool{}, map[uint16]bool{}
	for _, path := range p.Paths {
		a, err := netip.ParseAddrPort(path.Local)
		if err != nil {
			continue
		}
		seen[a.Port()] = true
		works[a.Port()] = works[a.Port()] || path.State == control.PathActive
	}
	n := 0
	for _, ok := range works {
		if ok {
			n++
		}
	}
	v := doctor.Finding{Check: "source ports", Saw: fmt.Sprintf("%d of %d pass", n, len(seen))}
	if n > 0 && n < len(seen) {
		v.Level, v.Why = doctor.Warning, "the other ports meet a dead link among equal-cost ways, or a filter or NAT that lets few ports pass"
		v.Advice = "if they change from time to time, look for the link; if they do not, allow UDP from any port, or set paths.port_range"
	}
	return v
}

func width(w Ways) doctor.Finding {
	v := doctor.Finding{Check: "equal-cost ways", Saw: fmt.Sprintf("%v: at least %d", w.Pair, w.N)}
	switch {
	case w.Err != nil:
		v.Saw = fmt.Sprintf("%v: cannot be traced: %v", w.Pair, w.Err)
	case w.N == 0:
		v.Saw = fmt.Sprintf("%v: no router answers: the ends are on one link, or a filter drops the answers", w.Pair)
	case w.N == 1:
		v.Saw = fmt.Sprintf("%v: one is seen", w.Pair)
		v.Why = "more source ports do not use more links, if all routers answered"
		v.Advice = "if there are several links, do the routers hash ports (Linux: fib_multipath_hash_policy=1)?"
	}
	return v
}

// These constants are sizes of outer packets in bytes, including the IP header.
const (
	// baseMTU is the size of outer packets over IPv4 before any probe. If a path's MTU is still
	// baseMTU, no larger probe has passed.
	baseMTU = 1228
	// ethernetMTU is the MTU of a path over plain Ethernet.
	ethernetMTU = 1500
)

func mtu(p *control.Peer, devices Devices) doctor.Finding {
	var least, most, device int
	var at Pair // the pair with the least MTU
	for i := range p.Paths {
		path := &p.Paths[i]
		if path.State != control.PathActive || path.MTU == 0 {
			continue
		}
		if least == 0 || path.MTU < least {
			least = path.MTU
			at, _ = pairOf(path)
		}
		most = max(most, path.MTU)
		if pair, ok := pairOf(path); ok && devices != nil {
			device = max(device, devices(pair.Local))
		}
	}
	v := doctor.Finding{Check: "path MTU", Saw: fmt.Sprint(most)}
	switch {
	case most == 0:
		v.Saw = "not known yet"
	case least < most:
		v.Saw = fmt.Sprintf("%d to %d, least from %v", least, most, at)
		v.Level, v.Why = doctor.Warning, "the path with the smallest MTU sets the packet size for all paths"
		v.Advice = "has a link of that path a smaller MTU? srdtun show paths has the MTU of each path"
	case most <= baseMTU:
		v.Level, v.Why = doctor.Warning, "packets above that do not pass: each inner packet of 1,500 bytes takes two"
		v.Advice = "a tunnel on the way, or a filter, lets no larger packets pass; look for its MTU"
	case most < ethernetMTU:
		v.Why = "a tunnel on the way needs a part of each packet"
	case most > ethernetMTU:
		v.Saw += ", found by itself: large packets cost less processor time"
	case device > most:
		v.Saw = fmt.Sprintf("%d, although the device here takes %d: the way or the peer's device takes no more", most, device)
	}
	return v
}

// translated checks for a NAT that changes the peer's address. With such a NAT, the remote address
// of a path differs from all endpoints. This end cannot detect a change of ports, because a peer
// uses many ports. The function rewritten() checks for it.
func translated(p *control.Peer) doctor.Finding {
	v := doctor.Finding{Check: "address translation", Saw: "the peer is at its configured endpoints"}
	want := map[netip.Addr]bool{}
	for _, e := range p.Endpoints {
		a, err := netip.ParseAddrPort(e)
		if err != nil {
			v.Saw = "an endpoint is a name, so addresses cannot be compared"
			return v
		}
		want[a.Addr()] = true
	}
	if len(want) == 0 {
		v.Saw = "no endpoint is configured here to compare with"
		return v
	}
	if active, _ := view.Up(p.Paths); active == 0 {
		v.Saw = "not known: the peer does not answer"
		return v
	}
	for i := range p.Paths {
		path := &p.Paths[i]
		if pair, ok := pairOf(path); ok && path.State == control.PathActive && !want[pair.Remote.Addr()] {
			v.Saw = fmt.Sprintf("the peer is also at %v, which is not among its endpoints", pair.Remote.Addr())
			v.Why = "the peer has another address, which is no fault; or it is behind a NAT, which forgets idle mappings"
			v.Advice = "behind a NAT: persistent_keepalive = 25 at the peer, so that it can be reached while idle"
			return v
		}
	}
	return v
}

// muchLoss is a share of lost packets that does not occur in a healthy network.
const muchLoss = 0.01

// fewPackets is the smallest number of packets from which a share of lost packets is computed.
const fewPackets = 1000

func loss(p *control.Peer) doctor.Finding {
	type tally struct{ sent, lost uint64 }
	by := map[string]*tally{}
	var names []string
	for i := range p.Paths {
		path := &p.Paths[i]
		pair, ok := pairOf(path)
		if !ok {
			continue
		}
		name := pair.String()
		if by[name] == nil {
			by[name] = &tally{}
			names = append(names, name)
		}
		by[name].sent += path.SentPackets
		by[name].lost += path.Lost
	}
	v := doctor.Finding{Check: "loss", Level: doctor.Unknown, Saw: "too few packets were sent to judge", Advice: "send traffic through the tunnel for some seconds, then look again"}
	worst := muchLoss
	for _, name := range names {
		t := by[name]
		if t.sent < fewPackets {
			continue
		}
		if v.Level == doctor.Unknown {
			v.Level, v.Saw, v.Advice = doctor.OK, "less than 1 % between any two addresses", ""
		}
		if float64(t.lost)/float64(t.sent) > worst {
			worst = float64(t.lost) / float64(t.sent)
			v.Level, v.Saw = doctor.Warning, fmt.Sprintf("%.1f %% from %s, since its paths were opened", 100*worst, name)
			v.Why, v.Advice = "losses are repaired on other paths, and cost time and capacity", "a link, or a policer, on that way"
		}
	}
	return v
}

// fewMarked is the smallest number of packets on a path from which its ECN marks are evaluated.
const fewMarked = 20

// ecn checks the ECN marks of packets received on paths. Queues in the network use ECN marks to
// signal congestion.
func ecn(paths []control.Path) doctor.Finding {
	v := doctor.Finding{Check: "ECN in", Saw: "too few packets arrived to judge"}
	judged, bleached, from := 0, 0, []string{}
	for _, path := range paths {
		if path.ReceivedPackets < fewMarked {
			continue
		}
		if judged++; path.ReceivedNotECT*2 <= path.ReceivedPackets {
			continue
		}
		bleached++
		if a, err := addrPort(path.Remote); err == nil && !slices.Contains(from, a.Addr().String()) {
			from = append(from, a.Addr().String())
		}
	}
	switch {
	case bleached > 0:
		v.Level, v.Saw = doctor.Warning, fmt.Sprintf("on %d of %d paths packets arrive without the ECN mark that every peer sets, from %s", bleached, judged, strings.Join(from, ", "))
		v.Why, v.Advice = "queues on the way drop packets that they could mark", "a router on the way clears the ECN bits (RFC 3168 forbids it)"
	case judged > 0:
		v.Saw = fmt.Sprintf("ECN marks arrive on all %d paths", judged)
	}
	return v
}

func trains(st *control.Status) doctor.Finding {
	v := doctor.Finding{Check: "system calls", Saw: "one system call sends or receives many packets"}
	switch {
	case st.Sends.Trains == 0 && st.Receives.Merged:
		v.Saw = "no data has been sent yet; srdtun doctor tests this host"
	case st.Sends.Trains > 0 && st.Sends.Unsegmented*2 > st.Sends.Trains:
		v.Level, v.Saw = doctor.Warning, "the device or the route refuses UDP segmentation"
		v.Why, v.Advice = "each packet costs a system call", "ethtool -K DEVICE tx-udp-segmentation on; IPsec and some tunnels refuse it"
	case !st.Receives.Merged:
		v.Level, v.Saw = doctor.Warning, "the kernel does not merge arriving packets"
		v.Why, v.Advice = "each packet costs a system call", "Linux 5.0 or newer has UDP_GRO"
	}
	return v
}

// refusedBeforeUs is the counter of packets that the kernel dropped at srdtun's sockets.
const refusedBeforeUs = "kernel_filter_or_full_buffer"

// refused checks for packets that the kernel did not pass to the daemon, because they were foreign
// or because a receive buffer was full.
func refused(st *control.Status) doctor.Finding {
	v := doctor.Finding{Check: "receiving", Saw: "no arriving packet was dropped before the daemon saw it"}
	n, got := st.Drops[refusedBeforeUs], uint64(0)
	for _, w := range st.Workers {
		got += w.RxPackets
	}
	if n == 0 {
		return v
	}
	v.Saw = fmt.Sprintf("%d packets were refused as garbage, or did not fit the receive buffers; %d were accepted", n, got)
	if n > fewPackets && float64(n) > muchLoss*float64(got) {
		v.Level, v.Why = doctor.Warning, "packets that did not fit must be repaired"
		v.Advice = "srdtun doctor checks the buffers; if they are large enough, somebody floods the port, which costs little"
	}
	return v
}

func dropped(st *control.Status) doctor.Finding {
	v := doctor.Finding{Check: "sending", Saw: "no packet was dropped on the way out of this host"}
	if n := st.Sends.NoBuffer + st.Sends.TooBig + st.Sends.Failed; n > 0 {
		v.Saw = fmt.Sprintf("%d packets were dropped on the way out: %d for want of room, %d too big, %d otherwise", n, st.Sends.NoBuffer, st.Sends.TooBig, st.Sends.Failed)
		if n > fewPackets && n*100 > st.Sends.Packets {
			v.Level, v.Why, v.Advice = doctor.Warning, "these packets must be repaired", "a device's queue or MTU, or a firewall of this host"
		}
	}
	return v
}
