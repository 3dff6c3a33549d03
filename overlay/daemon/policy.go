package daemon

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"sync"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// policy makes a path policy as configured. The error is for whoever gave the name.
func (s *server) policy(name string) (steer.Policy, error) {
	c := &s.cfg.Paths.Steering
	return steer.New(name, steer.Options{
		Seed: random64(), FlowletTimeout: c.FlowletTimeout, Weights: c.Weights, Primary: c.Primary, Flowcell: c.Flowcell,
		DREAlpha: c.DREAlpha, DREPeriod: c.DREPeriod, LinkRate: float64(c.LinkMbit) * bytesPerMbit,
	})
}

// bytesPerMbit is a Mbit in bytes.
const bytesPerMbit = 1e6 / 8

// uplinks knows which entry of paths.local a local address stands for: the class
// of paths that weights and a primary are given to.
type uplinks struct {
	mu sync.Mutex
	of map[netip.Addr]int
}

// set notes the addresses that entry i has now. One that stands for two entries is
// the first's.
func (u *uplinks) set(i int, addrs []netip.Addr) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[netip.Addr]int{}
	}
	maps.DeleteFunc(u.of, func(_ netip.Addr, k int) bool { return k == i })
	for _, a := range addrs {
		if before, ok := u.of[a.WithZone("")]; !ok || i < before {
			u.of[a.WithZone("")] = i
		}
	}
}

// class returns the class of paths on t.
func (u *uplinks) class(t srd.Tuple) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.of[t.Local.WithZone("")]
}

// Set implements control.Handler.
func (s *server) Set(key, value string) error {
	if err := s.Check(key, value); err != nil {
		return err
	}
	peers, err := s.named(key)
	if err != nil {
		return err
	}
	for _, p := range peers {
		if err := s.steer(p, value); err != nil {
			return err
		}
	}
	return nil
}

// Check implements control.Handler.
func (s *server) Check(key, value string) error {
	if _, err := s.named(key); err != nil {
		return err
	}
	_, err := s.policy(value)
	return err
}

// steer gives p's connection a new path policy.
func (s *server) steer(p *peer, name string) error {
	policy, err := s.policy(name)
	if err != nil {
		return err
	}
	p.link.Do(func(_ mono.Time, c *srd.Conn) {
		c.SetPolicy(policy)
		p.policy = name
	})
	p.link.Kick()
	return nil
}

// named returns the peers whose policy a key stands for.
func (s *server) named(key string) ([]*peer, error) {
	if key == "paths.policy" {
		return s.peers, nil
	}
	name, ours := strings.CutPrefix(key, "peer.")
	name, policy := strings.CutSuffix(name, ".policy")
	if !ours || !policy {
		return nil, fmt.Errorf("%.64q cannot be changed while running; paths.policy and peer.NAME.policy can", key)
	}
	public, err := config.ParseKey(name)
	for _, p := range s.peers {
		if p.cfg.Name == name || err == nil && p.cfg.PublicKey == public {
			return []*peer{p}, nil
		}
	}
	return nil, fmt.Errorf("no peer is named %.64q", name)
}
