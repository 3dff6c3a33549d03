package daemon

import (
	"net"
	"net/netip"
	"slices"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/holder"
)

// DoubtTaken returns warnings about a device, an address or a port of c that somebody else has now.
// If the tunnel of c is running, `own` is its process, and what this process has is not reported.
func DoubtTaken(c *config.Config, own holder.Process) (all []error) {
	if own.PID != 0 && !own.SameNetwork() {
		return nil // the other network namespace has other devices and ports
	}
	if _, err := net.InterfaceByName(c.Interface.Name); err == nil && own.PID == 0 {
		all = append(all, c.Doubt("interface", "name", "there is a device of that name already%s: the start would fail now", opener(c.Interface.Name)))
	}
	for _, a := range c.Interface.Address {
		if a.IsSingleIP() {
			continue // interfaces may share it
		}
		has := slices.DeleteFunc(interfacesWith(a.Addr()), func(name string) bool { return name == c.Interface.Name })
		if len(has) > 0 {
			all = append(all, c.Doubt("interface", "address", "%v is an address of %s already: the start, or a reload, would fail now", a.Addr(), has[0]))
		}
	}
	udp := holder.UDP()
	if port := c.Interface.ListenPort; port != 0 {
		if s, who := another(udp, own, func(at netip.AddrPort) bool { return at.Port() == port }); who != "" {
			all = append(all, c.Doubt("interface", "listen_port", "%s has the UDP port %v: the start would fail now", who, s.At))
		}
	}
	all = append(all, doubtRange(c, udp, own)...)
	for _, m := range listeners(c) {
		if s, who := another(holder.TCP(), own, func(at netip.AddrPort) bool { return overlaps(at, m.at.TCP) }); who != "" {
			all = append(all, c.Doubt(m.table, "listen", "%s listens at %v: the start would fail now", who, s.At))
		}
	}
	return all
}

// doubtRange warns if port_range has too few free ports.
func doubtRange(c *config.Config, udp []holder.Socket, own holder.Process) []error {
	r := c.Paths.PortRange
	if r[0] == 0 || own.PID != 0 {
		return nil
	}
	taken := map[uint16]bool{c.Interface.ListenPort: true}
	for _, s := range udp {
		taken[s.At.Port()] = true
	}
	free := 1 // the listening port counts as a source port
	for port := int(r[0]); port <= int(r[1]); port++ {
		if !taken[uint16(port)] {
			free++
		}
	}
	if free >= c.Paths.SourcePorts {
		return nil
	}
	return []error{c.Doubt("paths", "port_range", "other processes have ports of the range: only %d of %d source ports are free: the start would fail now", free, c.Paths.SourcePorts)}
}

// another returns the first matching socket that is not the tunnel's own, and who has it.
func another(all []holder.Socket, own holder.Process, match func(netip.AddrPort) bool) (s holder.Socket, who string) {
	for _, s := range all {
		if !match(s.At) {
			continue
		}
		by := s.Processes()
		switch {
		case slices.Contains(by, own) || len(by) == 0 && own.PID != 0: // without root the processes are unknown
		case len(by) == 0:
			return s, "another program, or the kernel,"
		default:
			return s, holder.Last(by).String()
		}
	}
	return s, ""
}

// overlaps reports whether a TCP listener prevents another one.
func overlaps(there, want netip.AddrPort) bool {
	return want.IsValid() && there.Port() == want.Port() &&
		(there.Addr() == want.Addr() || there.Addr().IsUnspecified() || want.Addr().IsUnspecified())
}
