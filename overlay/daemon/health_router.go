package daemon

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

// router is a router behind a peer that has sent ICMP errors into the tunnel. If the router's
// address is not among the peer's allowed IPs, the daemon drops its ICMP errors, as WireGuard does.
// An ICMP error changes the state of other connections, so only allowed sources may send one.
// Without ICMP errors, traceroute and path MTU discovery fail silently, so an event reports the
// router's address.
type router struct {
	conf *config.Peer // the peer's configuration at that time: there is one event for each configuration
	addr netip.Addr
	says string // text of the error
}

// noteRouter records the source of an ICMP error that is not among the allowed IPs. Only one
// router is recorded until the peer's allowed IPs change, so that fake routers cause no memory
// use or log lines.
func (p *peer) noteRouter(f *frame.Frame) {
	conf := p.cfg()
	if r := p.health.router.Load(); r != nil && (r.conf == conf || slices.Equal(r.conf.AllowedIPs, conf.AllowedIPs)) {
		return
	}
	says := packet.ICMPError(f.Data)
	if a := packet.Src(f.Data); says != "" && a.IsGlobalUnicast() {
		p.health.router.Store(&router{conf, a, says})
	}
}
