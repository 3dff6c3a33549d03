package daemon

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

// router is a router behind a peer. Its ICMP errors are dropped if its address is not among the
// peer's allowed IPs. WireGuard drops them as well. An ICMP error changes the state of other
// connections, so only allowed sources may send one. But without these errors, traceroute and
// path MTU discovery fail silently. So an event names the router.
type router struct {
	conf *config.Peer // the peer's configuration then: one event for each
	addr netip.Addr
	says string // text of the error
}

// noteRouter looks at a frame from a source that is not allowed. It remembers one router until
// the peer's allowed IPs change. So a peer that invents many routers causes no further memory
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
