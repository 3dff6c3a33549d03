package config

import (
	"fmt"
	"net/netip"
	"slices"
)

// checkWhole reports missing keys, and values that contradict each other. All single values have
// been validated before checkWhole runs.
func (d *draft) checkWhole() {
	d.checkAddresses()
	d.checkLocals()
	d.checkWeights()
	d.checkPorts()
	d.checkPeerNames()
	d.checkPrefixes()
	d.checkOuterRoutes()
	if !d.iface.has("private_key") && !d.iface.has("private_key_file") {
		d.iface.fail("private_key", "is missing; give private_key or private_key_file")
		return
	}
	d.checkPeerKeys()
}

func (d *draft) checkAddresses() {
	seen := map[netip.Addr]netip.Prefix{}
	for i, prefix := range d.cfg.Interface.Address {
		before, dup := seen[prefix.Addr()]
		switch why := noHost(prefix); {
		case why != "":
			d.iface.failAt(d.iface.itemOff("address", i), "address", "%s %s", prefix, why)
		case dup && before == prefix:
			d.iface.failAt(d.iface.itemOff("address", i), "address", "%s is listed twice", prefix)
		case dup:
			d.iface.failAt(d.iface.itemOff("address", i), "address", "%s is listed twice, as %s and %s", prefix.Addr(), before, prefix)
		}
		seen[prefix.Addr()] = prefix
	}
}

// noHost returns the reason why the address of the prefix cannot be that of a host, or "" if it
// can.
func noHost(prefix netip.Prefix) string {
	a := prefix.Addr()
	switch {
	case a.IsLoopback():
		return "is a loopback address, and its packets never leave the host"
	case !a.Is4() || prefix.Bits() >= 31: // RFC 3021: both addresses of a /31 are host addresses
		return ""
	case prefix.Masked().Addr() == a:
		return "is the network itself; want a host's address in it"
	case !prefix.Contains(a.Next()):
		return "is the broadcast address; want a host's address in it"
	}
	return ""
}

// checkLocals refuses the tunnel's own addresses and device as the source of outer packets.
func (d *draft) checkLocals() {
	for i, local := range d.cfg.Paths.Local {
		off := d.paths.itemOff("local", i)
		if local.Interface == d.cfg.Interface.Name {
			d.paths.failAt(off, "local", "%q is the tunnel itself", local.Interface)
		}
		for _, prefix := range d.cfg.Interface.Address {
			if prefix.Addr() == local.Addr {
				d.paths.failAt(off, "local", "%s is an address of the tunnel itself", local.Addr)
			}
		}
	}
}

// checkWeights checks that weights has an entry for each entry of local, and that primary is an
// entry of local.
func (d *draft) checkWeights() {
	have, want := len(d.cfg.Paths.Steering.Weights), len(d.cfg.Paths.Local)
	if d.paths.has("weights") && have != want {
		d.paths.fail("weights", "needs a number for each entry of local: %d, not %d", want, have)
	}
	if !d.paths.has("primary") {
		return
	}
	text := d.paths.text("primary", "")
	for i, local := range d.cfg.Paths.Local {
		if local.String() == text {
			d.cfg.Paths.Steering.Primary = i + 1
			return
		}
	}
	d.paths.fail("primary", "%s is not listed in local", quoted(text))
}

// checkPorts refuses a port range that contains the listening port, or has fewer ports than
// source_ports.
func (d *draft) checkPorts() {
	first, last := d.cfg.Paths.PortRange[0], d.cfg.Paths.PortRange[1]
	if first == 0 {
		return
	}
	if port := d.cfg.Interface.ListenPort; first <= port && port <= last {
		d.paths.fail("port_range", "contains interface.listen_port, %d", port)
	}
	if have := int(last) - int(first) + 1; have < d.cfg.Paths.SourcePorts {
		d.paths.fail("port_range", "has %d ports, fewer than the %d of source_ports", have, d.cfg.Paths.SourcePorts)
	}
}

func (d *draft) checkPeerNames() {
	seen := map[string]int{}
	for i, p := range d.cfg.Peers {
		s := d.peers[i]
		if before, dup := seen[p.Name]; dup && p.Name != "" {
			s.fail("name", "%s names %s already", quoted(p.Name), d.which(before))
			continue
		}
		seen[p.Name] = i
	}
}

func (d *draft) checkPeerKeys() {
	own, err := d.cfg.Interface.PrivateKey.Public()
	if err != nil {
		d.iface.fail("private_key", "%v", err)
		return
	}
	seen, keys := map[Key]int{}, newRoles(d.cfg.Interface.PrivateKey, own)
	for i := range d.cfg.Peers {
		keys.add(&d.cfg.Peers[i])
	}
	for i, p := range d.cfg.Peers {
		s := d.peers[i]
		before, dup := seen[p.PublicKey]
		wrong := keys.wrongPublic(&p)
		switch {
		case p.PublicKey.IsZero():
			s.fail("public_key", "is missing")
			continue
		case p.PublicKey == own:
			s.fail("public_key", "is this interface's own key")
		case wrong != "":
			s.fail("public_key", "%s", wrong)
		case dup:
			s.fail("public_key", "belongs to %s already", d.which(before))
		case !p.PublicKey.usable():
			s.fail("public_key", "is not a usable key: it gives the same secret to everyone")
		}
		if why := keys.wrongShared(&p); why != "" && wrong == "" {
			s.fail(s.either("preshared_key"), "%s", why)
		}
		if !dup {
			seen[p.PublicKey] = i
		}
	}
}

// which names a peer for an error message.
func (d *draft) which(i int) string {
	p := &d.cfg.Peers[i]
	switch {
	case !d.peers[i].doc.unseen:
		return fmt.Sprintf("the peer of line %d", d.peers[i].line())
	case p.Name != "":
		return "peer " + p.Name
	}
	return "peer " + p.PublicKey.String()
}

// checkPrefixes refuses allowed IPs that two peers share, because a packet is sent to one peer
// only. wg(8) silently moves such a prefix to the later peer.
func (d *draft) checkPrefixes() {
	type place struct{ peer, line int }
	seen := map[netip.Prefix]place{}
	for i, p := range d.cfg.Peers {
		s := d.peers[i]
		for j, prefix := range p.AllowedIPs {
			off := s.itemOff("allowed_ips", j)
			before, dup := seen[prefix]
			switch {
			case !dup:
				seen[prefix] = place{i, s.doc.lines.line(off)}
			case before.peer == i:
				s.failAt(off, "allowed_ips", "%s is listed twice", prefix)
			case s.doc.unseen:
				s.failAt(off, "allowed_ips", "%s belongs to %s already", prefix, d.which(before.peer))
			default:
				s.failAt(off, "allowed_ips", "%s belongs to another peer already, in line %d", prefix, before.line)
			}
		}
	}
}

// checkOuterRoutes refuses peers whose allowed IPs contain one of their own endpoints as a single
// address. Outer packets to such an endpoint would enter the tunnel in a loop. Wider prefixes are
// allowed, because another route or the user's own rules may lead the outer packets out.
func (d *draft) checkOuterRoutes() {
	for i := range d.cfg.Peers {
		if j, loops := loopsBack(&d.cfg.Interface, &d.cfg.Peers[i]); loops {
			s := d.peers[i]
			s.failAt(s.itemOff("endpoints", j), "endpoints", "%s", loopOf(&d.cfg.Peers[i], j))
		}
	}
}

// loopOf describes the fault that loopsBack finds.
func loopOf(p *Peer, j int) string {
	return p.Endpoints[j].Host + " is among allowed_ips: the route to it would be the tunnel itself"
}

// loopsBack returns the first endpoint of a peer that its allowed IPs contain as a single address.
func loopsBack(i *Interface, p *Peer) (endpoint int, loops bool) {
	if i.Table.Off || i.Table.ID != 0 || i.FwMark != 0 {
		return 0, false
	}
	for j, e := range p.Endpoints {
		at, ok := e.Addr()
		if ok && slices.Contains(p.AllowedIPs, netip.PrefixFrom(at.Addr(), at.Addr().BitLen())) {
			return j, true
		}
	}
	return 0, false
}

// itemOff is the offset of a list's element in the file.
func (s section) itemOff(key string, i int) int { return s.at.key(key).item(i).off }

// line is the number of the section's first line.
func (s section) line() int { return s.doc.lines.line(s.at.off) }
