package epnet

import (
	"net/netip"

	"github.com/srdtun/srdtun/srd/ep"
)

// network is the name of the network in addresses and errors.
const network = "srd"

// Addr is the address of an endpoint: its public key. It implements net.Addr.
type Addr struct {
	Key ep.PublicKey
	// At is where the endpoint may be. If it is invalid, the endpoint is reached at the address
	// from which it calls. String leaves it out.
	At netip.AddrPort
}

// Network implements net.Addr.
func (Addr) Network() string { return network }

// String returns the key.
func (a Addr) String() string { return a.Key.String() }

// places returns At as a list.
func (a Addr) places() []netip.AddrPort {
	if !a.At.IsValid() {
		return nil
	}
	return []netip.AddrPort{a.At}
}
