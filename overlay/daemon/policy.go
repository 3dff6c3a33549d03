package daemon

import (
	"maps"
	"sync"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// policy makes a path policy as configured. The error is for whoever gave the name.
func (rc *runningConfig) policy(name string) (steer.Policy, error) { return policyOf(rc.cfg(), name) }

func policyOf(cfg *config.Config, name string) (steer.Policy, error) {
	c := &cfg.Paths.Steering
	return steer.New(name, steer.Options{
		Seed: random64(), FlowletTimeout: c.FlowletTimeout, Weights: c.Weights, Primary: c.Primary, Flowcell: c.Flowcell,
		DREAlpha: c.DREAlpha, DREPeriod: c.DREPeriod, LinkRate: float64(c.LinkMbit) * bytesPerMbit,
	})
}

// bytesPerMbit is a Mbit in bytes.
const bytesPerMbit = 1e6 / 8

// uplinks knows which entry of paths.local an uplink stands for: the class of paths that
// weights and a primary are given to.
type classes struct {
	mu sync.Mutex
	of map[srd.Uplink]int
}

// set notes the uplinks that entry i stands for now.
func (u *classes) set(i int, all []srd.Uplink) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[srd.Uplink]int{}
	}
	maps.DeleteFunc(u.of, func(_ srd.Uplink, k int) bool { return k == i })
	for _, v := range all {
		u.of[v] = i
	}
}

// all returns the entry of each uplink.
func (u *classes) all() map[srd.Uplink]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.of)
}

// sameClasses compares what all has returned. An uplink that is in neither is of class 0.
func sameClasses(a, b map[srd.Uplink]int) bool {
	for v := range a {
		if a[v] != b[v] {
			return false
		}
	}
	for v := range b {
		if a[v] != b[v] {
			return false
		}
	}
	return true
}

// classify tells the peers' policies which classes the paths are of that they have. A path
// is told when it is new; after that an uplink may come to stand for another entry.
func (ep *endpoints) classify() {
	for _, p := range ep.running.peers() {
		p.link.Do(func(_ mono.Time, c *srd.Conn) { c.SetPolicy(p.steering.policy) })
	}
}

// class returns the class of paths on t.
func (u *classes) class(t srd.Tuple) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.of[t.Local]
}
