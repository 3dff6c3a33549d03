package regress

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

var (
	awayRate = figure{name: "an uplink of two dead for 8 s, meanwhile", unit: "Mbit/s"}
	backRate = figure{name: "an uplink of two dead for 8 s, then 6 s", unit: "Mbit/s"}
)

// These constants are the times, from the start of the flow, at which the second uplink fails and
// recovers.
const (
	uplinkGoes  = 4 * time.Second
	uplinkComes = 12 * time.Second
	uplinkEnds  = 20 * time.Second
	// uplinkGrace is the time after each failure and each recovery that does not count in the mean
	// rates.
	uplinkGrace = 2 * time.Second
)

var comeback = scene{
	name: "uplink", says: "two uplinks of 60 and 40 Mbit/s, the second dead for 8 s",
	figures: []figure{awayRate, backRate},
	measure: func(r *run) error {
		f, err := r.network(fabric.Spec{Spines: 1, RateMbit: -1})
		if err != nil {
			return err
		}
		if err := secondUplink(f); err != nil {
			return err
		}
		if _, err := r.uplinked(f, "eth0", "eth1"); err != nil {
			return err
		}
		flow, err := meter.Start(meter.Flow{Server: f.B(1), Client: f.A(1), To: tunnel.Inner4(2), For: uplinkEnds})
		if err != nil {
			return err
		}
		defer flow.Stop()
		begun := time.Now()
		for _, step := range []struct {
			at   time.Duration
			line string
		}{{uplinkGoes, "ip link set second down"}, {uplinkComes, "ip link set second up"}} {
			time.Sleep(time.Until(begun.Add(step.at)))
			if err := at(f.LeafA, step.line); err != nil {
				return err
			}
		}
		if err := flow.Wait(); err != nil {
			return err
		}
		r.set(awayRate, flow.Sum().Mean(uplinkGoes+uplinkGrace, uplinkComes)/1e6)
		r.set(backRate, flow.Sum().Mean(uplinkComes+uplinkGrace, uplinkEnds)/1e6)
		return nil
	},
}

// at runs commands in a namespace.
func at(n *fabric.Namespace, lines ...string) error {
	for _, line := range lines {
		words := strings.Fields(line)
		if _, err := n.Run(words[0], words[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// shape limits the rate of a device's outgoing packets, with a queue of a given size in bytes.
func shape(n *fabric.Namespace, dev string, mbit float64, queue int) error {
	return at(n, fmt.Sprintf("tc qdisc replace dev %s root tbf rate %.0fkbit burst 32k limit %d", dev, mbit*1e3, queue))
}

// secondUplink adds a second cable between host A and its leaf. The rates of the two cables are
// limited to 60 and 40 Mbit/s, with queues of 50 ms.
func secondUplink(f *fabric.Fabric) error {
	a := f.A(1).Namespace
	if err := at(a,
		"ip link add eth1 type veth peer name second netns "+f.LeafA.Name,
		"ip addr add 10.1.200.2/24 dev eth1", "ip link set eth1 up"); err != nil {
		return err
	}
	if err := at(f.LeafA, "ip addr add 10.1.200.1/24 dev second", "ip link set second up"); err != nil {
		return err
	}
	if err := at(a, "ip route add default via 10.1.200.1 dev eth1 metric 5000"); err != nil {
		return err
	}
	for _, side := range []struct {
		n    *fabric.Namespace
		dev  string
		mbit float64
	}{{a, "eth0", 60}, {f.LeafA, "h1", 60}, {a, "eth1", 40}, {f.LeafA, "second", 40}} {
		const queueMs = 50
		if err := shape(side.n, side.dev, side.mbit, int(side.mbit*1e3/8*queueMs)); err != nil {
			return err
		}
	}
	return nil
}

// uplinked starts a tunnel between hosts A and B. Host A sends over the given devices, and host B
// waits for A's handshake.
func (r *run) uplinked(f *fabric.Fabric, devices ...string) (p *tunnel.Pair, err error) {
	p = &tunnel.Pair{}
	host := func(i int) []netip.Prefix { return []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i), 32)} }
	if p.A, err = r.node(f.A(1), "a", tunnel.Config{Address: host(1), Interfaces: devices}); err != nil {
		return p, err
	}
	if p.B, err = r.node(f.B(1), "b", tunnel.Config{Address: host(2)}); err != nil {
		return p, err
	}
	to := netip.AddrPortFrom(f.B(1).Addr4(), tunnel.DefaultPort)
	p.A.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: p.B.PublicKey, Endpoints: []netip.AddrPort{to}, AllowedIPs: host(2)}}
	p.B.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: p.A.PublicKey, AllowedIPs: host(1)}}
	for _, n := range []*tunnel.Node{p.B, p.A} {
		if err := n.Start(); err != nil {
			return p, err
		}
	}
	return p, p.A.Await(tunnel.Inner4(2))
}
