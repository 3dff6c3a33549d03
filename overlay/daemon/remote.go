package daemon

import (
	"net/netip"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
)

// remote is where a peer is. It is endpoints' own; tuples, callback and endpoints are changed
// with the connection locked, for others who read them.
type remote struct {
	found       map[config.Endpoint][]netip.AddrPort // what the name in each endpoint stood for last
	placed      bool                                 // it was given tuples before
	unreachable bool                                 // it was said that no address here leads to it
	tuples      []srd.Tuple                          // all that lead to it
	callback    callback                             // where else it is called
	endpoints   []netip.AddrPort                     // its endpoints, as last found: what tuples are made of
}

// remotes returns where p may be reached: endpoints that are plain addresses, and
// what the names in others were found to be.
func (p *peer) remotes() (v []netip.AddrPort) {
	for _, e := range p.cfg().Endpoints {
		if a, ok := e.Addr(); ok {
			v = append(v, a)
		} else {
			v = append(v, p.remote.found[e]...)
		}
	}
	return v
}

// title names the peer in messages.
func (p *peer) title() string {
	return p.cfg().Title()
}
