package regress

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

var (
	crowdRate  = figure{name: "40 peers to one host, from their first moment", unit: "Mbit/s"}
	crowdCPU   = figure{name: "40 peers to one host, CPU", unit: "s/GB", lower: true}
	crowdLeast = figure{name: "40 peers to one host, the slowest", unit: "Mbit/s"}
)

const (
	crowdPeers = 40
	crowdTime  = 8 * time.Second
	crowdPort  = 7000
	// crowdRest is the time between the start of the tunnels and the time at which the first host
	// sends.
	crowdRest = time.Second
)

var crowd = scene{
	name: "crowd", says: "40 peers begin at once to send to one host",
	figures: []figure{crowdRate, crowdCPU, crowdLeast},
	measure: func(r *run) error {
		f, err := r.network(fabric.Spec{HostsA: crowdPeers})
		if err != nil {
			return err
		}
		var hosts []*fabric.Host
		for i := range crowdPeers {
			hosts = append(hosts, f.A(i+1))
		}
		if err := r.star(f.B(1), hosts); err != nil {
			return err
		}
		time.Sleep(crowdRest)
		got, err := sendAll(hosts, f.B(1), netip.AddrPortFrom(tunnel.Inner4(1), crowdPort), 1, crowdTime)
		if err != nil {
			return err
		}
		r.set(crowdRate, got.mbps())
		r.set(crowdCPU, got.cpuPerGB())
		r.set(crowdLeast, got.least*8/1e6/crowdTime.Seconds())
		return nil
	},
}

// star starts a hub as node 1, and spokes as nodes 2 and up. The spokes initiate the handshakes
// with the hub.
func (r *run) star(at *fabric.Host, spokes []*fabric.Host) error {
	hub, err := r.node(at, "h", tunnel.Config{Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24)}})
	if err != nil {
		return err
	}
	all := []*tunnel.Node{hub}
	for i, h := range spokes {
		n, err := r.node(h, string([]byte{'a' + byte(i/26), 'a' + byte(i%26)}), tunnel.Config{
			Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i+2), 24)},
			Peers: []tunnel.Peer{{
				Name: "hub", PublicKey: hub.PublicKey, AllowedIPs: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(0), 24)},
				Endpoints: []netip.AddrPort{netip.AddrPortFrom(at.Addr4(), tunnel.DefaultPort)},
			}},
		})
		if err != nil {
			return err
		}
		hub.Config.Peers = append(hub.Config.Peers, tunnel.Peer{
			Name: n.Name, PublicKey: n.PublicKey, AllowedIPs: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i+2), 32)},
		})
		all = append(all, n)
	}
	for _, n := range all {
		if err := n.Start(); err != nil {
			return err
		}
	}
	return all[len(all)-1].Await(tunnel.Inner4(1))
}

// node starts a node that is stopped when the run ends.
func (r *run) node(h *fabric.Host, suffix string, c tunnel.Config) (*tunnel.Node, error) {
	n, err := tunnel.NewNode(r.bin, h, suffix, c)
	if n != nil {
		r.atEnd(n.Close)
	}
	return n, err
}
