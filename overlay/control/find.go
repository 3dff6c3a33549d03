package control

import "net/netip"

// Find returns the peer that who stands for: its name, its public key, or an address inside
// the tunnel, which is the peer's with the longest prefix that holds it. nil: none.
func (s *Status) Find(who string) *Peer {
	for i := range s.Peers {
		if p := &s.Peers[i]; who != "" && (p.Name == who || p.PublicKey == who) {
			return p
		}
	}
	a, err := netip.ParseAddr(who)
	if err != nil {
		return nil
	}
	var found *Peer
	most := -1
	for i := range s.Peers {
		for _, text := range s.Peers[i].AllowedIPs {
			if p, err := netip.ParsePrefix(text); err == nil && p.Bits() > most && p.Contains(a) {
				found, most = &s.Peers[i], p.Bits()
			}
		}
	}
	return found
}
