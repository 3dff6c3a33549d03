package daemon

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
)

// callable returns where a peer can be called, for whoever writes a configuration: an
// endpoint as configured, or found by its name, where the peer has proven to be if there is
// one. Without endpoints it is an address that a path works to, with a port that daemons
// listen on. All other ports are source ports, which change when the peer starts again.
func (ep *endpoints) callable(p *peer, c *srd.Conn) netip.AddrPort {
	var hosts []netip.Addr // where the peer has proven to be, newest first
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

// nearest returns that of some addresses whose host comes first in hosts; the first of all
// if none does.
func nearest(of []netip.AddrPort, hosts []netip.Addr) netip.AddrPort {
	for _, h := range hosts {
		if i := slices.IndexFunc(of, func(a netip.AddrPort) bool { return a.Addr() == h }); i >= 0 {
			return of[i]
		}
	}
	return of[0]
}
