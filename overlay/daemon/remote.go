package daemon

import (
	"net/netip"
	"sync"
	"time"

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

// pings is the turn of those who measure a peer's paths.
type pings struct {
	mu   sync.Mutex // held while it is pinged
	last time.Time  // when that was last begun
}
