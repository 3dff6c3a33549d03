package regress

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

var idleBytes = figure{name: "30 s idle with keepalive 25, both ends", unit: "KB", lower: true}

const (
	idleOpens = time.Second     // duration of a flow that opens all paths
	idleRest  = 4 * time.Second // time until a flow has no more effects
	idleTime  = 30 * time.Second
	keepalive = 25 * time.Second
)

var idle = scene{
	name: "idle", says: "what is sent while nobody sends", aside: true,
	figures: []figure{idleBytes},
	measure: func(r *run) error {
		f, err := r.network(fabric.Spec{})
		if err != nil {
			return err
		}
		p, err := r.kept(f)
		if err != nil {
			return err
		}
		if _, err := sendAll([]*fabric.Host{f.A(1)}, f.B(1), netip.AddrPortFrom(tunnel.Inner4(2), ratePort), 1, idleOpens); err != nil {
			return err
		}
		time.Sleep(idleRest)
		before, err := sent(p)
		if err != nil {
			return err
		}
		time.Sleep(idleTime)
		after, err := sent(p)
		r.set(idleBytes, (after-before)/1e3)
		return err
	},
}

// kept starts a tunnel between two hosts, with keepalives as for a NAT mapping.
func (r *run) kept(f *fabric.Fabric) (*tunnel.Pair, error) {
	p, err := tunnel.NewPassivePair(r.bin, f.A(1), f.B(1), keepalive)
	if p != nil {
		r.atEnd(p.Close)
	}
	return p, err
}

// sent returns how many bytes both hosts have sent so far.
func sent(p *tunnel.Pair) (sum float64, err error) {
	for _, n := range []*tunnel.Node{p.A, p.B} {
		text, err := n.Host.Run("cat", "/sys/class/net/eth0/statistics/tx_bytes")
		if err != nil {
			return 0, err
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, nil
}
