package rivals

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/srdtun/srdtun/e2e/fabric"
)

const (
	vxlanDevice = "vx0"
	// vxlanHeaders is the number of bytes by which the MTU inside VXLAN is smaller than outside. It
	// is the sum of inner Ethernet 14, VXLAN 8, UDP 8 and IPv4 20.
	vxlanHeaders = 50
)

// vxlanA and vxlanB are the addresses of hosts A and B inside the VXLAN.
var vxlanA, vxlanB = netip.MustParseAddr("10.88.0.1"), netip.MustParseAddr("10.88.0.2")

// bulkInVXLAN measures one bulk flow in a VXLAN on top of the link.
func (b *bench) bulkInVXLAN(s *site, l *link) ([]value, error) {
	from, err := sourceOf(s.a, l.to)
	if err != nil {
		return nil, err
	}
	mtu, err := s.b.Run("cat", "/sys/class/net/"+l.dev+"/mtu")
	if err != nil {
		return nil, err
	}
	below, err := strconv.Atoi(strings.TrimSpace(mtu))
	if err != nil {
		return nil, err
	}
	ends := []struct {
		host        *fabric.Host
		local, peer netip.Addr
		own         netip.Addr
	}{{s.a, from, l.to, vxlanA}, {s.b, l.to, from, vxlanB}}
	for _, e := range ends {
		defer e.host.Run("ip", "link", "del", vxlanDevice)
		if err := plugVXLAN(e.host, e.local, e.peer, e.own, "dstport 4789", below); err != nil {
			return nil, err
		}
	}
	if err := reach(s.a, vxlanB); err != nil {
		return nil, err
	}
	inside := *l
	inside.to, inside.dev = vxlanB, vxlanDevice
	return b.bulk(s, &inside, 1)
}

// plugVXLAN creates one end of a VXLAN without outer UDP checksums, as in container networks. The
// argument `below` is the MTU of the device that carries the VXLAN.
func plugVXLAN(h *fabric.Host, local, peer, own netip.Addr, ports string, below int) error {
	for _, command := range []string{
		fmt.Sprintf("link add %s type vxlan id 7 %s noudpcsum local %s remote %s", vxlanDevice, ports, local, peer),
		fmt.Sprintf("addr add %s/24 dev %s", own, vxlanDevice),
		fmt.Sprintf("link set %s mtu %d up", vxlanDevice, below-vxlanHeaders),
	} {
		if _, err := h.Run("ip", strings.Fields(command)...); err != nil {
			return err
		}
	}
	return nil
}

// sourceOf returns the source address that host h uses for packets to another address.
func sourceOf(h *fabric.Host, to netip.Addr) (netip.Addr, error) {
	text, err := h.Run("ip", "-o", "route", "get", to.String())
	if err != nil {
		return netip.Addr{}, err
	}
	_, rest, _ := strings.Cut(text, " src ")
	word, _, _ := strings.Cut(rest, " ")
	a, err := netip.ParseAddr(word)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("ip route get %s: %q: %w", to, text, err)
	}
	return a, nil
}
