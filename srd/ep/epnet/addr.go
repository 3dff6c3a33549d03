package epnet

import (
	"net/netip"

	"github.com/srdtun/srdtun/srd/ep"
)

// network is the name of the network in addresses and errors.
const network = "srd"

// Addr is the address of an endpoint: its public key. An Addr implements net.Addr.
type Addr struct {
	Key ep.PublicKey
	// At is the UDP address and port at which the endpoint may be reachable. If At is invalid,
	// packets are sent to the address from which the endpoint sends. The result of String does
	// not contain At.
	At netip.AddrPort
}

// Network implements net.Addr.
func (Addr) Network() string { return network }

// String returns the key.
func (a Addr) String() string { return a.Key.String() }

// places returns At as a list for ep.Endpoint.Handle.
func (a Addr) places() []netip.AddrPort {
	if !a.At.IsValid() {
		return nil
	}
	return []netip.AddrPort{a.At}
}
