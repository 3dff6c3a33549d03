package daemon

import (
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/peerid"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/route"
	"github.com/srdtun/srdtun/srd/steer"
)

// runningConfig is the configuration in force, with the peers and the routes to them. Readers of
// the configuration load a snapshot without a lock.
type runningConfig struct{ atomic.Pointer[snapshot] }

// snapshot is one configuration with its peers and routes. Each change of the configuration
// creates a new snapshot, and a snapshot never changes, so readers need no lock.
type snapshot struct {
	cfg   *config.Config
	table *route.Table // prefix -> index in peers
	peers []*peer      // in the order of cfg
}

func (c *snapshot) route(f *frame.Frame) *peer {
	if at, ok := c.table.Lookup(packet.Dst(f.Data)); ok {
		return c.peers[at]
	}
	return nil
}

// allowed reports whether a packet from p may have the source address src.
func (c *snapshot) allowed(p *peer, src netip.Addr) bool {
	at, ok := c.table.Lookup(src)
	return ok && c.peers[at] == p
}

func (r *runningConfig) cfg() *config.Config { return r.Load().cfg }

func (r *runningConfig) peers() []*peer { return r.Load().peers }

// byName returns the peer with the given name, public key or inner address. If there is only one
// peer, the name may be empty.
func (r *runningConfig) byName(name string) (*peer, error) {
	all := r.peers()
	if name == "" && len(all) == 1 {
		return all[0], nil
	}
	i := peerid.Find(name, len(all),
		func(i int) (string, string) { return all[i].cfg().Name, all[i].cfg().PublicKey.String() },
		func(i int) []netip.Prefix { return all[i].cfg().AllowedIPs })
	if i >= 0 {
		return all[i], nil
	}
	a, err := netip.ParseAddr(name)
	if at, portErr := netip.ParseAddrPort(name); portErr == nil {
		a, err = at.Addr(), nil
	}
	if err == nil {
		if p := calledAt(all, a); p != nil {
			return nil, fmt.Errorf("%v is an endpoint of peer %s, outside the tunnel; give its name, its public key or an address in its allowed_ips", a, p.title())
		}
		return nil, fmt.Errorf("no peer has %v in its allowed_ips", a)
	}
	return nil, fmt.Errorf("no peer is named %s%s", keytext.Quote(name), peerid.Missed(name))
}

func calledAt(all []*peer, a netip.Addr) *peer {
	for _, p := range all {
		for _, e := range p.cfg().Endpoints {
			if at, ok := e.Addr(); ok && at.Addr() == a.Unmap() {
				return p
			}
		}
	}
	return nil
}

// policy creates a path policy with the configured options. The method policy() returns an error
// if the name is unknown.
func (r *runningConfig) policy(name string) (steer.Policy, error) { return policyOf(r.cfg(), name) }

func policyOf(cfg *config.Config, name string) (steer.Policy, error) {
	c := &cfg.Paths.Steering
	return steer.New(name, steer.Options{
		Seed: random64(), FlowletTimeout: c.FlowletTimeout, Weights: c.Weights, Primary: c.Primary, Flowcell: c.Flowcell,
		DREAlpha: c.DREAlpha, DREPeriod: c.DREPeriod, LinkRate: float64(c.LinkMbit) * bytesPerMbit,
	})
}

const bytesPerMbit = 1e6 / 8

// routes returns the table of allowed IPs of c.
func routes(c *config.Config) (*route.Table, error) {
	t := new(route.Table)
	for i := range c.Peers {
		for _, a := range c.Peers[i].AllowedIPs {
			if err := t.Insert(a, i); err != nil {
				return nil, fmt.Errorf("%s: %w", c.File, err)
			}
		}
	}
	return t, nil
}

func allowedIPs(c *config.Config) []netip.Prefix {
	var v []netip.Prefix
	for i := range c.Peers {
		v = append(v, c.Peers[i].AllowedIPs...)
	}
	return v
}
