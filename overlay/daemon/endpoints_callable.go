package daemon

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
)

// callable returns an address at which a peer can be reached, to be written into a configuration
// file. If the peer has endpoints, callable() returns one of them, preferably one with a validated
// address. For a peer without endpoints, callable() returns the remote address of an active path,
// if its port is one that daemons listen on. A remote port on which daemons do not listen is a
// source port, and changes when the peer restarts.
func (ep *endpoints) callable(p *peer, c *srd.Conn) netip.AddrPort {
	var hosts []netip.Addr // validated addresses, newest first
	for _, v := range c.Proven() {
		hosts = append(hosts, v.Addr())
	}
	if len(p.remote.endpoints) > 0 {
		return nearest(p.remote.endpoints, hosts)
	}
	ours := ep.sockets.bank.Socket(0).Port
	var listening []netip.AddrPort
	for _, v := range c.Paths() {
		port := v.Tuple.Remote.Port()
		if v.State == srd.PathActive && (port == config.DefaultListenPort || port == ours) {
			listening = append(listening, v.Tuple.Remote)
		}
	}
	if len(listening) == 0 {
		return netip.AddrPort{}
	}
	return nearest(listening, hosts)
}

// nearest returns the address whose host comes first in `hosts`. If `hosts` contains none of them,
// nearest returns the first address.
func nearest(of []netip.AddrPort, hosts []netip.Addr) netip.AddrPort {
	for _, h := range hosts {
		if i := slices.IndexFunc(of, func(a netip.AddrPort) bool { return a.Addr() == h }); i >= 0 {
			return of[i]
		}
	}
	return of[0]
}
