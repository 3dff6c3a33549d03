package daemon

import (
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
)

// callable returns where a peer can be called, for whoever writes a configuration: an
// endpoint as configured, or found by its name, where the peer has proven to be if there is
// one. Without endpoints it is a proven address with a port that daemons listen on. All
// other ports are source ports, which change when the peer starts again.
func (s *server) callable(p *peer, c *srd.Conn) (a netip.AddrPort) {
	proven := c.Proven()
	at := func(e netip.AddrPort) int {
		return slices.IndexFunc(proven, func(v netip.AddrPort) bool { return v.Addr() == e.Addr() })
	}
	best := len(proven)
	for _, e := range p.placed {
		if i := at(e); !a.IsValid() || i >= 0 && i < best {
			a = e
			if i >= 0 {
				best = i
			}
		}
	}
	if a.IsValid() {
		return a
	}
	ours := s.bank.Socket(0).Port
	for _, v := range proven {
		if v.Port() == config.DefaultListenPort || v.Port() == ours {
			return v
		}
	}
	return netip.AddrPort{}
}
