package rivals

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/bench/cloud"
)

// These variables are the networks of "bench cloud", with a cloud's limits scaled 1:100.
var (
	cloud500  = network{"cloud500", "a limit of 50 Mbit/s for each 5-tuple, cards of 500 Mbit/s", 0, true}
	cloud2000 = network{"cloud2000", "the same limits for a 5-tuple, cards of 2,000 Mbit/s", 0, true}
	instances = network{"instances", "two instances of a cloud", 0, true}
)

// caps holds 1/100 of EC2's limits for a 5-tuple, and for instances with 50 and 200 Gbit/s. EC2
// does not publish its limits for packets and new 5-tuples; docs/cloud.md has the known values.
// With packets of 1,250 bytes, a card reaches its packet limit and its bit rate at the same time.
var caps = map[string]cloud.Caps{
	cloud500.name:  {TupleMbit: 50, HostMbit: 500, Packets: 50_000, NewTuples: 200},
	cloud2000.name: {TupleMbit: 50, HostMbit: 2000, Packets: 200_000, NewTuples: 200},
}

// These constants are the rows of "bench cloud".
const (
	rowFlow1 = "flow1"
	rowFlow8 = "flow8"
	rowFetch = "fetch" // requests with answers of 64 KB
	rowAsk   = "ask"   // requests with answers of 64 bytes
)

// These constants are the sizes of answers, in bytes.
const (
	fetchSize = 64_000
	askSize   = 64
)

var (
	cloudRows  = []string{rowFlow1, rowFlow8, rowFetch, rowAsk}
	cloudKinds = []kind{plainTCP, wireguardGo, wireguardTS, nebula, oneTuple, mptcp, srdtun}
	// cloudMatrix measures every compared transport on each network.
	cloudMatrix = func() (all []entry) {
		for _, n := range []network{cloud500, cloud2000} {
			for _, k := range cloudKinds {
				all = append(all, entry{n, k, cloudRows})
			}
		}
		return all
	}()
)

// newCloudSite builds a network with the rate limits of a cloud.
func newCloudSite(n network, police bool) (*site, error) {
	c := caps[n.name]
	c.Police = police
	built, err := cloud.New(c)
	if err != nil {
		return nil, err
	}
	l, err := built.B.Listen("tcp", fmt.Sprintf(":%d", cloud.Port))
	if err != nil {
		return nil, errors.Join(err, built.Close())
	}
	go func() { _ = cloud.Serve(l) }()
	return &site{net: n, a: built.A, b: built.B, check: built.Check, close: func() error { return errors.Join(l.Close(), built.Close()) }}, nil
}

// ipsecPort is the UDP port of encapsulated ESP (RFC 3948).
const ipsecPort = 4500

// oneTuple imitates IPsec with NAT traversal, in which all packets have one 5-tuple and the kernel
// forwards them. The imitation is a VXLAN with a single source port, without encryption.
var oneTuple = kind{"ipsec-shape", "IPsec's shape", func(_ *bench, s *site) (*link, error) {
	l := &link{to: vxlanB, dev: vxlanDevice}
	ports := fmt.Sprintf("dstport %d srcport %d %d", ipsecPort, ipsecPort, ipsecPort+1)
	if err := plugVXLAN(s.a, s.a.Addr4(), s.b.Addr4(), vxlanA, ports, cloudMTU); err != nil {
		return l, err
	}
	if err := plugVXLAN(s.b, s.b.Addr4(), s.a.Addr4(), vxlanB, ports, cloudMTU); err != nil {
		return l, err
	}
	return l, reach(s.a, vxlanB)
}}

// cloudMTU is the MTU of the hosts' network cards.
const cloudMTU = 1500

// dialWait bounds the time to open a connection.
const dialWait = 10 * time.Second

// dial returns a function that opens connections from host A, or from this machine if the site has
// no hosts.
func (s *site) dial(l *link) cloud.Dial {
	d := net.Dialer{Timeout: dialWait}
	d.SetMultipathTCP(l.wrap != nil)
	to := netip.AddrPortFrom(l.to, cloud.Port).String()
	return func() (c net.Conn, err error) {
		connect := func() error { c, err = d.Dial("tcp", to); return err }
		if s.a == nil {
			err = connect()
		} else {
			err = s.a.Do(connect)
		}
		if err != nil {
			return nil, err
		}
		if t, ok := c.(*net.TCPConn); ok && l.wrap != nil {
			if multi, err := t.MultipathTCP(); err != nil || !multi {
				return nil, errors.Join(errors.New("the connection is not of MPTCP"), err, c.Close())
			}
		}
		return c, nil
	}
}

// cloud measures one row of "bench cloud".
func (b *bench) cloud(s *site, l *link, row string) ([]value, error) {
	during := time.Duration(b.seconds) * time.Second
	switch row {
	case rowFlow1, rowFlow8:
		flows := 1
		if row == rowFlow8 {
			flows = 8
		}
		got, err := cloud.Bulk(s.dial(l), flows, during)
		return []value{{mbit, got}}, err
	case rowFetch:
		p, err := cloud.Requests(s.dial(l), fetchSize, during)
		return []value{{p50ms, p.P50}, {p99ms, p.P99}}, err
	}
	p, err := cloud.Requests(s.dial(l), askSize, during)
	return []value{{p50us, 1e3 * p.P50}, {p99us, 1e3 * p.P99}}, err
}

// listenAll runs the subcommand "bench cloud serve".
func listenAll() error {
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", cloud.Port))
	if err != nil {
		return err
	}
	fmt.Printf("serving loads on TCP port %d; end it with Ctrl-C\n", cloud.Port)
	return cloud.Serve(l)
}
