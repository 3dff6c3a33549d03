package daemon

import (
	"net/netip"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
)

// remote holds the addresses of a peer. Only type endpoints writes the fields of remote. Fields
// noWay, tuples, callback and endpoints change only while the connection is locked, because other
// goroutines read them.
type remote struct {
	found      map[config.Endpoint][]netip.AddrPort // latest addresses of each endpoint's name
	placed     bool                                 // the peer has had tuples before
	noWay      string                               // reason why this host cannot send to it now; "": it can, or there is no address
	tuples     []srd.Tuple                          // all tuples to its endpoints
	callback   callback                             // other addresses to which handshakes are sent
	endpoints  []netip.AddrPort                     // its endpoints' addresses at the latest lookup
	configured []config.Endpoint                    // its configured endpoints when tuples were made
	withdrawn  []netip.Addr                         // addresses of removed endpoints
}

// remotes returns the addresses of p's endpoints, with names resolved.
func (p *peer) remotes() (v []netip.AddrPort) {
	for _, e := range p.cfg().Endpoints {
		v = append(v, p.remote.addresses(e)...)
	}
	return v
}

func (p *peer) title() string {
	return p.cfg().Title()
}
