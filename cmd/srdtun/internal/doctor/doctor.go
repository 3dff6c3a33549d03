// Package doctor finds host settings that stop a tunnel or slow it down, and advises changes. Look
// gathers facts and Judge evaluates them. So the advice can be tested without a special host.
package doctor

import (
	"fmt"
	"strings"

	"github.com/srdtun/srdtun/overlay/control"
)

// Level is the severity of a finding.
type Level int

// A Fault keeps a tunnel from starting, and a Warning makes it slow or fragile.
const (
	Unknown Level = iota - 1 // there are too few observations to judge
	OK
	Warning
	Fault
)

func (l Level) String() string { return [...]string{"unknown", "ok", "warning", "fault"}[l-Unknown] }

// Finding is the result of one check.
type Finding struct {
	Check  string // the subject of the check, such as "UDP buffers"
	Level  Level
	Saw    string
	Why    string // the harm; "" if there is none
	Advice string // the remedy; "" if no action is needed
}

// Plan holds the settings of a tunnel that matter for the host. For a zero field the tunnel's
// default applies.
type Plan struct {
	SourcePorts int      // number of sockets for each address family
	Uplinks     []string // interfaces of paths.local
	ListenPort  uint16
	Conflicts   []string // a line for each case of outer packets that are, or would be, routed into a tunnel
	Faults      []string // the faults of running tunnels that concern this host, a line each
	Running     []Device // the devices of running tunnels
}

// Device is the TUN device of a running tunnel.
type Device struct {
	Interface string
	control.Device
}

// Judge returns a finding for each check, the most important first.
func Judge(f *Facts, p Plan) []Finding {
	checks := []func(*Facts, Plan) Finding{
		tun, privileges, runningTunnels, otherTunnels, kernel, segmentation, innerTCP, buffers, descriptors, processors, clock, conntrack, reversePath, redirects, multipath, ipv6,
	}
	var v []Finding
	for _, check := range checks {
		v = append(v, check(f, p))
	}
	return v
}

// Worst returns the level of the worst finding.
func Worst(v []Finding) (worst Level) {
	for _, f := range v {
		worst = max(worst, f.Level)
	}
	return worst
}

func tun(f *Facts, _ Plan) Finding {
	v := Finding{Check: "TUN device", Saw: "/dev/net/tun can be opened"}
	switch f.Tun {
	case TunMissing:
		v.Level, v.Saw, v.Why = Fault, "there is no /dev/net/tun", "no tunnel starts without it"
		v.Advice = "modprobe tun; in a container: --device /dev/net/tun"
	case TunRefused:
		v.Level, v.Saw = Fault, fmt.Sprintf("this user may not open /dev/net/tun (mode %04o)", f.TunMode)
		v.Why, v.Advice = "no tunnel starts without it", "chmod 666 /dev/net/tun, as udev does, or run as root"
	}
	return v
}

func privileges(f *Facts, _ Plan) Finding {
	v := Finding{Check: "privileges", Saw: "CAP_NET_ADMIN is available"}
	if !f.NetAdmin {
		v.Level, v.Saw, v.Why = Warning, "CAP_NET_ADMIN is missing", "this user cannot start a tunnel; the service, and root, can"
		v.Advice = "sudo, or systemctl start srdtun@NAME; in a container: --cap-add NET_ADMIN"
	}
	return v
}

func runningTunnels(_ *Facts, p Plan) Finding {
	v := Finding{Check: "running tunnels", Saw: "no running tunnel has a fault on this host"}
	if len(p.Faults) > 0 {
		v.Level, v.Saw = Warning, strings.Join(p.Faults, "; ")
		v.Why, v.Advice = "nothing passes, or less than configured", "the line has the remedy; srdtun show --check says when the fault is gone"
	}
	return v
}

func otherTunnels(_ *Facts, p Plan) Finding {
	v := Finding{Check: "other tunnels", Saw: "no tunnel takes the outer packets of another tunnel, and no other route takes inner packets"}
	if len(p.Conflicts) > 0 {
		v.Level, v.Saw = Warning, strings.Join(p.Conflicts, "; ")
		v.Why, v.Advice = "packets go past a tunnel, or a tunnel is dead or runs inside another", "remove the named route or rule; of two tunnels: one mark (fwmark) for both, narrower allowed_ips, or one at a time: docs/guide.md"
	}
	return v
}

// superFramesUDP is the first kernel version that supports UDP super-frames on TUN devices
// (TUN_F_USO4, TUN_F_USO6).
var superFramesUDP = [2]int{6, 2}

func kernel(f *Facts, _ Plan) Finding {
	v := Finding{Check: "kernel", Saw: "Linux " + f.Kernel}
	var major, minor int
	if n, _ := fmt.Sscanf(f.Kernel, "%d.%d", &major, &minor); n == 2 && (major < superFramesUDP[0] || major == superFramesUDP[0] && minor < superFramesUDP[1]) {
		v.Level, v.Why = Warning, "UDP inside the tunnel passes the device packet by packet, which takes about three times the processor time"
		v.Advice = fmt.Sprintf("Linux %d.%d or newer, if UDP matters to you", superFramesUDP[0], superFramesUDP[1])
	}
	return v
}

func segmentation(f *Facts, _ Plan) Finding {
	v := Finding{Check: "UDP trains", Saw: "one system call sends or receives many packets"}
	var missing []string
	if !f.GSO {
		missing = append(missing, "sending (UDP_SEGMENT)")
	}
	if !f.GRO {
		missing = append(missing, "receiving (UDP_GRO)")
	}
	if len(missing) > 0 {
		v.Level, v.Saw = Warning, "not available for "+strings.Join(missing, " and ")
		v.Why, v.Advice = "each packet costs a system call of its own, which lowers the throughput", "Linux 5.0 or newer; gVisor and similar kernels have none"
	}
	return v
}

// innerTCP checks whether the kernel passes the TCP packets of programs in super-frames.
func innerTCP(_ *Facts, p Plan) Finding {
	v := Finding{Check: "inner TCP", Saw: "no running tunnel reads TCP packet by packet"}
	for _, d := range p.Running {
		switch {
		case d.Singly():
			v.Level = Warning
			v.Saw = fmt.Sprintf("on %s %d packets came one by one, and %d super-frames", d.Interface, d.ReadSingles, d.ReadSuperFrames)
			v.Why = "each packet passes the kernel and the tunnel by itself, which costs processor time"
			v.Advice = fmt.Sprintf("ethtool -K %s tso on gso on; if it is forwarded, gro on for the card that it comes from", d.Interface)
			if d.OfAccECN() {
				v.Why = "they have the flag of AccECN (RFC 9768), and this kernel's TUN devices take no super-frames of AccECN"
				v.Advice = "sysctl -w net.ipv4.tcp_ecn=2 where the connections begin, or where they end"
			}
			return v
		case d.NoOffload:
			v.Saw = fmt.Sprintf("on %s each packet passes by itself, because offload = false", d.Interface)
		}
	}
	return v
}

// The constants are the buffer sizes that the sockets request, in bytes; see srd/udp.
const (
	wantReceive = 8 << 20
	wantSend    = 4 << 20
)

func buffers(f *Facts, _ Plan) Finding {
	v := Finding{Check: "UDP buffers", Saw: fmt.Sprintf("net.core.rmem_max %d, wmem_max %d", f.ReceiveMost, f.SendMost)}
	if f.NetAdmin || f.ReceiveMost >= wantReceive && f.SendMost >= wantSend {
		if f.NetAdmin {
			v.Saw += "; with CAP_NET_ADMIN the daemon may exceed them"
		}
		return v
	}
	v.Level, v.Why = Warning, "a process without CAP_NET_ADMIN gets no larger buffers: bursts are dropped while it waits for a processor"
	v.Advice = fmt.Sprintf("sysctl -w net.core.rmem_max=%d net.core.wmem_max=%d", wantReceive, wantSend)
	return v
}

// otherDescriptors bounds the number of a daemon's file descriptors besides its sockets.
const otherDescriptors = 64

func descriptors(f *Facts, p Plan) Finding {
	need := uint64(2*p.SourcePorts + otherDescriptors)
	v := Finding{Check: "descriptors", Saw: fmt.Sprintf("%d may be open, some %d are needed", f.Descriptors, need)}
	if f.Descriptors < need {
		v.Level, v.Why = Fault, "each source port takes two sockets"
		v.Advice = fmt.Sprintf("ulimit -n %d, LimitNOFILE= in the unit, or a smaller source_ports", max(1024, 2*need))
	}
	return v
}

func processors(f *Facts, _ Plan) Finding {
	v := Finding{Check: "processors", Saw: fmt.Sprint(f.Processors)}
	if f.Processors == 1 {
		v.Level, v.Why = Warning, "the tunnel and the programs on top of it take turns"
		v.Advice = "two or more, beyond some 500 Mbit/s"
	}
	return v
}

func clock(f *Facts, _ Plan) Finding {
	v := Finding{Check: "clock", Saw: "it is synchronised"}
	switch {
	case f.ClockSynchronised:
	case f.Container: // a container cannot set the clock
		v.Saw = "it is the host's, and this container cannot see whether the host synchronises it"
	default:
		v.Level, v.Saw = Warning, "no service synchronises it"
		v.Why = "handshakes carry the time: if it goes back over a restart, a handshake takes a round trip more; and logs of two hosts cannot be compared"
		v.Advice = "apt install chrony, or systemctl enable --now systemd-timesyncd"
	}
	return v
}

// nearlyFull is the share of used entries above which the connection-tracking table is reported as
// nearly full.
const nearlyFull = 0.8

func conntrack(f *Facts, p Plan) Finding {
	v := Finding{Check: "connection tracking", Saw: "not in use"}
	if f.ConntrackMost == 0 {
		return v
	}
	v.Saw = fmt.Sprintf("%d of %d entries", f.Conntrack, f.ConntrackMost)
	if float64(f.Conntrack) > nearlyFull*float64(f.ConntrackMost) {
		v.Level = Warning
		v.Why = fmt.Sprintf("each path takes an entry, %d for each address of a peer; when the table is full, new paths are dropped", max(1, p.SourcePorts))
		v.Advice = fmt.Sprintf("sysctl -w net.netfilter.nf_conntrack_max=%d, or notrack for UDP port %d", 4*f.ConntrackMost, p.ListenPort)
	}
	return v
}

// strict is the value of rp_filter for the strict reverse path of RFC 3704.
const strict = 1

func reversePath(f *Facts, p Plan) Finding {
	v := Finding{Check: "reverse path filter", Saw: "it drops no packets of further uplinks"}
	var bad []string
	for _, i := range p.Uplinks {
		// The kernel uses the larger of two values of rp_filter: that of "all" and that of this
		// interface (ip-sysctl).
		if max(f.ReversePath["all"], f.ReversePath[i]) == strict {
			bad = append(bad, i)
		}
	}
	if len(p.Uplinks) > 1 && len(bad) > 0 {
		v.Level, v.Saw = Warning, "strict on "+strings.Join(bad, ", ")
		v.Why = "packets that arrive on an uplink without the best route are dropped"
		v.Advice = "sysctl -w net.ipv4.conf." + bad[0] + ".rp_filter=2, and the same for the others"
	}
	return v
}

// redirects checks whether any host on a link can change the route to a peer by an ICMP redirect.
// An accepted redirect creates a route to one address (RFC 1122, section 3.2.2.2). By default the
// kernel accepts redirects that seem to come from a gateway of the host. This default is not
// reported.
func redirects(f *Facts, _ Plan) Finding {
	v := Finding{Check: "ICMP redirects", Saw: "none is accepted, or only a gateway's"}
	if f.Redirects {
		v.Level, v.Saw = Warning, "they are accepted from anybody on the link"
		v.Why = "a redirect changes the route to a peer for all paths at once"
		v.Advice = "sysctl -w net.ipv4.conf.all.accept_redirects=0 net.ipv4.conf.all.secure_redirects=1"
	}
	return v
}

func multipath(f *Facts, _ Plan) Finding {
	v := Finding{Check: "multipath hash", Saw: "this host forwards nothing"}
	if !f.Forwarding {
		return v
	}
	v.Saw = fmt.Sprintf("fib_multipath_hash_policy %d (IPv4), %d (IPv6)", f.MultipathHash[0], f.MultipathHash[1])
	if f.MultipathHash[0] != 1 || f.MultipathHash[1] != 1 {
		v.Level, v.Why = Warning, "if this host forwards a tunnel's packets over equal-cost routes, source ports do not spread them"
		v.Advice = "sysctl -w net.ipv4.fib_multipath_hash_policy=1 net.ipv6.fib_multipath_hash_policy=1"
	}
	return v
}

func ipv6(f *Facts, _ Plan) Finding {
	v := Finding{Check: "IPv6", Saw: "it is enabled"}
	if !f.IPv6 {
		v.Level, v.Saw = Warning, "it is disabled"
		v.Why, v.Advice = "peers are reached over IPv4 only, and the tunnel can have no IPv6 address", "sysctl -w net.ipv6.conf.all.disable_ipv6=0, if you want it"
	}
	return v
}
