package daemon

import (
	"maps"
	"net/netip"
	"sync"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// policy makes a path policy as configured. The error is for whoever gave the name.
func (s *server) policy(name string) (steer.Policy, error) { return policyOf(s.cfg(), name) }

func policyOf(cfg *config.Config, name string) (steer.Policy, error) {
	c := &cfg.Paths.Steering
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

// all returns the entry of each address.
func (u *uplinks) all() map[netip.Addr]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.of)
}

// sameClasses compares what all has returned. An address that is in neither is of class 0.
func sameClasses(a, b map[netip.Addr]int) bool {
	for addr := range a {
		if a[addr] != b[addr] {
			return false
		}
	}
	for addr := range b {
		if a[addr] != b[addr] {
			return false
		}
	}
	return true
}

// classify tells the peers' policies which classes the paths are of that they have. A path
// is told when it is new; after that an address may come to stand for another entry.
func (s *server) classify() {
	for _, p := range s.peers() {
		p.link.Do(func(_ mono.Time, c *srd.Conn) { c.SetPolicy(p.steering) })
	}
}

// class returns the class of paths on t.
func (u *uplinks) class(t srd.Tuple) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.of[t.Local.WithZone("")]
}
