// Package trace counts the equal-cost ways of a network between two addresses, as Paris
// traceroute does (Augustin et al., IMC 2006): probes that differ in their source port
// alone expire at each hop in turn, and the routers that say so are counted. It needs no
// privileges: a socket with IP_RECVERR is told of the ICMP errors that its own packets
// caused. Routers limit such answers, and some give none: the count is a lower bound.
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
	// Ports is how many source ports are tried: with eight ways all are met with a
	// probability of 0.9.
	Ports = 32
	// maxHops bounds a trace; the longest ways of the Internet have some 30.
	maxHops = 30
	// silentHops in a row end a trace: the rest is the peer, or a filter.
	silentHops = 3
	// hopWait is how long answers to one hop's probes are awaited after the last.
	hopWait = 250 * time.Millisecond
	// look is how often they are looked for.
	look = 10 * time.Millisecond
)

// Hop is the routers that were seen at one distance.
type Hop struct {
	TTL     int
	Routers []netip.Addr
}

// Ways is the largest number of routers seen side by side; 0: none answered.
func Ways(hops []Hop) (n int) {
	for _, h := range hops {
		n = max(n, len(h.Routers))
	}
	return n
}

// From is where probes leave from.
type From struct {
	Addr      netip.Addr
	Interface string // that they leave by; "": as the routes say
}

// Run sends probes from an address of this host to one of another, at most 32 packets of
// one byte for each hop. hop, if not nil, is told of each hop as it is done.
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

// probe sends one packet from each port, and takes the answers in. arrived says that the
// other end itself answered.
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

// probe is one source port.
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

// send sends one byte that expires after so many hops. What cannot be sent is as good as
// lost.
func (p probe) send(ttl int) {
	level, option := unix.IPPROTO_IP, unix.IP_TTL
	if p.v6 {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS
	}
	if unix.SetsockoptInt(p.fd, level, option, ttl) != nil {
		return
	}
	for range 2 { // an error that waits is told of first, in place of sending
		if _, err := unix.Write(p.fd, []byte{0}); err == nil {
			return
		}
	}
}

// answer takes one ICMP error that came for the port: who sent it.
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

// extendedError is the size of struct sock_extended_err (linux/errqueue.h), which the
// address of who sent the ICMP message follows.
const extendedError = int(unsafe.Sizeof(unix.SockExtendedErr{}))

// The origins of an error that came over the network (linux/errqueue.h).
const (
	originICMP  = 2
	originICMP6 = 3
)

// offender reads who sent the ICMP message from a control message.
func offender(b []byte) (netip.Addr, bool) {
	const origin = 4 // after ee_errno
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
