package fabric

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// mptcpSubflows is the largest limit that Linux accepts (MPTCP_PM_ADDR_MAX). No network here has
// more paths.
const mptcpSubflows = "8"

// EnableMPTCP lets the kernel's MPTCP use more addresses of the host than a connection's own. The
// host announces the addresses in announced to its peers. From each address in subflows, the host
// opens a subflow to every address of a peer that it connects to.
func (h *Host) EnableMPTCP(announced, subflows []netip.Addr) error {
	if _, err := h.Run("ip", "mptcp", "limits", "set", "subflows", mptcpSubflows, "add_addr_accepted", mptcpSubflows); err != nil {
		return err
	}
	for _, e := range []struct {
		addrs []netip.Addr
		flags []string
	}{{announced, []string{"signal"}}, {subflows, []string{"subflow", "fullmesh"}}} {
		for _, a := range e.addrs {
			dev, err := h.deviceOf(a)
			if err != nil {
				return err
			}
			if _, err := h.Run("ip", slices.Concat([]string{"mptcp", "endpoint", "add", a.String(), "dev", dev}, e.flags)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// deviceOf returns the name of the network card that holds an address of the host.
func (h *Host) deviceOf(a netip.Addr) (name string, err error) {
	err = h.Do(func() error {
		cards, err := net.Interfaces()
		if err != nil {
			return err
		}
		for _, c := range cards {
			held, err := c.Addrs()
			if err != nil {
				return err
			}
			if slices.ContainsFunc(held, func(n net.Addr) bool {
				p, err := netip.ParsePrefix(n.String())
				return err == nil && p.Addr() == a
			}) {
				name = c.Name
				return nil
			}
		}
		return fmt.Errorf("fabric: no network card of %s has %s", h.Name, a)
	})
	return name, err
}
