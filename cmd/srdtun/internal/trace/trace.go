// Package trace counts the equal-cost paths of a network between two addresses, as Paris
// traceroute does (Augustin et al., IMC 2006). The package sends probes that differ only in their
// source port, with a TTL that rises hop by hop. The result is the number of routers that report
// an expired TTL. A trace needs no privileges, because a socket with IP_RECVERR receives the ICMP
// errors about its own packets. Routers limit ICMP errors, and some send none, so the result is a
// lower bound.
package trace

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// Ports is the number of source ports that a trace uses. With eight equal-cost paths, 32
	// ports reach all of them with a probability of 0.9.
	Ports = 32
	// maxHops bounds the length of a trace, in hops. The longest paths in the Internet have some
	// 30 hops.
	maxHops = 30
	// A trace ends after silentHops successive hops without an answer, because a filter or the peer
	// itself discards the probes there.
	silentHops = 3
	// hopWait is how long a trace waits for answers after the last probe to a hop.
	hopWait = 250 * time.Millisecond
	// look is the interval at which a trace reads answers.
	look = 10 * time.Millisecond
)

// Hop holds the routers that answered at one distance, in hops.
type Hop struct {
	TTL     int
	Routers []netip.Addr
}

// Ways returns the largest number of routers at one distance, or 0 if no router answered.
func Ways(hops []Hop) (n int) {
	for _, h := range hops {
		n = max(n, len(h.Routers))
	}
	return n
}

// From describes the source of probes.
type From struct {
	Addr      netip.Addr
	Interface string // interface through which probes are sent; "": the routes choose
}

// Run sends probes from one address to another, at most 32 packets of one byte for each hop. Run
// calls the function hop(), unless it is nil, after each finished hop.
func Run(ctx context.Context, from From, to netip.AddrPort, hop func(Hop)) ([]Hop, error) {
	var probes []probe
	defer func() {
		for _, p := range probes {
			unix.Close(p.fd)
		}
	}()
	for range Ports {
		p, err := open(from, to)
		if err != nil {
			return nil, fmt.Errorf("from %v: %w", from.Addr, err)
		}
		probes = append(probes, p)
	}
	var hops []Hop
	for ttl, silent := 1, 0; ttl <= maxHops && silent < silentHops; ttl++ {
		h := Hop{TTL: ttl}
		arrived, err := h.probe(ctx, probes, to.Addr())
		if err != nil {
			return hops, err
		}
		if len(h.Routers) == 0 {
			silent++
		} else {
			silent = 0
			hops = append(hops, h)
			if hop != nil {
				hop(h)
			}
		}
		if arrived {
			break
		}
	}
	return hops, nil
}

// probe sends one packet from each port, and collects the answers of one hop. The result
// `arrived` is true if the destination itself answered.
func (h *Hop) probe(ctx context.Context, probes []probe, to netip.Addr) (arrived bool, err error) {
	for _, p := range probes {
		p.send(h.TTL)
	}
	for end := time.Now().Add(hopWait); time.Now().Before(end); {
		for _, p := range probes {
			for {
				a, ok := p.answer()
				if !ok {
					break
				}
				if a == to {
					arrived = true
				} else if !slices.Contains(h.Routers, a) {
					h.Routers = append(h.Routers, a)
				}
			}
		}
		select {
		case <-ctx.Done():
			return arrived, ctx.Err()
		case <-time.After(look):
		}
	}
	slices.SortFunc(h.Routers, netip.Addr.Compare)
	return arrived, nil
}

// probe is a socket with its own source port.
type probe struct {
	fd int
	v6 bool
}

func open(from From, to netip.AddrPort) (p probe, err error) {
	p.v6 = to.Addr().Is6()
	family := unix.AF_INET
	if p.v6 {
		family = unix.AF_INET6
	}
	if p.fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return p, err
	}
	level, option := unix.IPPROTO_IP, unix.IP_RECVERR
	if p.v6 {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVERR
	}
	err = unix.SetsockoptInt(p.fd, level, option, 1)
	if err == nil && from.Interface != "" {
		err = os.NewSyscallError("SO_BINDTODEVICE", unix.BindToDevice(p.fd, from.Interface))
	}
	if err == nil {
		err = unix.Bind(p.fd, sockaddr(netip.AddrPortFrom(from.Addr, 0)))
	}
	if err == nil {
		err = unix.Connect(p.fd, sockaddr(to))
	}
	if err != nil {
		unix.Close(p.fd)
	}
	return p, err
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// send sends a packet of one byte with the given TTL. A failed send counts as a lost packet.
func (p probe) send(ttl int) {
	level, option := unix.IPPROTO_IP, unix.IP_TTL
	if p.v6 {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS
	}
	if unix.SetsockoptInt(p.fd, level, option, ttl) != nil {
		return
	}
	for range 2 { // the first call may return a pending error instead of sending
		if _, err := unix.Write(p.fd, []byte{0}); err == nil {
			return
		}
	}
}

// answer reads one ICMP error for the port, and returns the sender of the error.
func (p probe) answer() (from netip.Addr, ok bool) {
	var oob [512]byte
	var data [64]byte
	_, n, _, _, err := unix.Recvmsg(p.fd, data[:], oob[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
	if err != nil {
		return netip.Addr{}, false
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return netip.Addr{}, true
	}
	for _, m := range msgs {
		if a, ok := offender(m.Data); ok {
			return a, true
		}
	}
	return netip.Addr{}, true
}

// extendedError is the size of struct sock_extended_err (linux/errqueue.h). In the control
// message, the address of the ICMP error's sender follows this struct.
const extendedError = int(unsafe.Sizeof(unix.SockExtendedErr{}))

// These constants are the origins of errors in a socket's error queue that arrived over the network
// (linux/errqueue.h).
const (
	originICMP  = 2
	originICMP6 = 3
)

// offender reads the sender of an ICMP error from a control message.
func offender(b []byte) (netip.Addr, bool) {
	const origin = 4 // offset of ee_origin, which follows ee_errno
	if len(b) < extendedError+8 || b[origin] != originICMP && b[origin] != originICMP6 {
		return netip.Addr{}, false
	}
	sa := b[extendedError:]
	switch family := binary.NativeEndian.Uint16(sa); {
	case family == unix.AF_INET:
		return netip.AddrFrom4([4]byte(sa[4:8])), true
	case family == unix.AF_INET6 && len(sa) >= 24:
		return netip.AddrFrom16([16]byte(sa[8:24])), true
	}
	return netip.Addr{}, false
}
