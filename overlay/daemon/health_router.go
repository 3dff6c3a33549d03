package daemon

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

// router is one behind a peer whose ICMP errors are dropped, since its address is not among the
// peer's allowed IPs. That is as in WireGuard, and stays so: an error changes what this host
// believes of other connections, so only those may send some who may send at all. But
// traceroute and path MTU discovery fail without a word, and so it is told.
type router struct {
	conf *config.Peer // as configured then: each is told of once
	addr netip.Addr
	says string // what the error tells
}

// noteRouter looks at a frame whose source is not allowed. It remembers one router, until the
// peer's allowed IPs change: a peer that makes many up gets no more memory, nor more lines.
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
