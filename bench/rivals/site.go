package rivals

import (
	"errors"
	"strconv"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// spines and rateMbit describe the fabric of network fourLinks, and pathCount is the number of
// cables in comparisons of paths.
const (
	pathCount = 4
	spines    = 4
	rateMbit  = 100
)

// mptcpAddrs is the number of addresses of each host on the fabric. Only MPTCP uses all addresses,
// because it needs several addresses to use several paths.
const mptcpAddrs = 4

// site consists of two hosts on a network. Measured traffic goes from host A to host B.
type site struct {
	net   network
	a, b  *fabric.Host
	more  []*fabric.Host    // hosts that send to B, including A; nil: only A
	port  *fabric.Namespace // leaf whose port to B has a rate limit; nil: there is no limit
	check func() error      // checks the network's limits; nil: there are none
	close func() error
}

func (b *bench) newSite(n network) (*site, error) {
	switch n {
	case slowSpine, onePort:
		return newStrainSite(n)
	case cloud500, cloud2000:
		return newCloudSite(n, b.police)
	case instances:
		return &site{net: n, close: func() error { return nil }}, nil
	}
	if n.links == 0 {
		f, err := fabric.New(fabric.Spec{Spines: spines, RateMbit: rateMbit, Addrs: mptcpAddrs})
		if err != nil {
			return nil, err
		}
		return &site{net: n, a: f.A(1), b: f.B(1), close: f.Close}, nil
	}
	d, err := fabric.NewDirect(fabric.DirectSpec{Links: n.links, WireLike: n.wireLike})
	if err != nil {
		return nil, err
	}
	if n == jumboVeth {
		for _, h := range []*fabric.Host{d.A, d.B} {
			if _, err := h.Run("ip", "link", "set", "eth0", "mtu", strconv.Itoa(jumboMTU)); err != nil {
				return nil, errors.Join(err, d.Close())
			}
		}
	}
	return &site{net: n, a: d.A, b: d.B, close: d.Close}, nil
}

// oneAddress returns a copy of a host with only its first address.
func oneAddress(h *fabric.Host) *fabric.Host {
	one := *h
	one.V4, one.V6 = h.V4[:1], nil
	return &one
}
