package compare

import (
	"math"
	"slices"
	"time"

	"github.com/srdtun/srdtun/lab"
)

// fairKind is a theoretical reference in place of a system. At every moment flows share the
// links of servers, and the capacity between the leaves, max-min fairly. (See Bertsekas and
// Gallager, Data Networks, section 6.5.2.) There are no round trips, headers, losses or
// collisions. A system with a lower mean is not fair: of two equal flows on a link, it
// serves one before the other. The reference is left out when the best system is chosen.
const fairKind = "fair"

// fairFlow is a flow of the reference. Time is in microseconds.
type fairFlow struct {
	size, start, took float64
	left              float64
	links             []int
}

// fair is the reference's network: the capacity of each link in bytes per microsecond.
type fair struct {
	rate []float64
	flow []fairFlow
	// From the time drop, in microseconds, the link with number core has the rate after.
	// With 0 it keeps its rate.
	drop, after float64
	core        int
}

// playFair returns the completion times of the cell's flows in the reference.
func (c *Cell) playFair(p *lab.Plan) ([]Took, error) {
	flows, err := lab.Flows(p, &p.Cases[0], c.Seed)
	if err != nil {
		return nil, err
	}
	var drop time.Duration
	for _, x := range p.Cases[0].Faults {
		drop = x.At.Duration
	}
	f := c.fairOf(flows, us(drop))
	f.play()
	var v []Took
	for i, x := range flows {
		v = append(v, Took{Size: x.Size, Start: us(x.At), Took: f.flow[i].took, Ended: true, Request: x.Group == groupIncast, Client: x.Dst})
	}
	return v, nil
}

// us converts a time to microseconds.
func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// fairOf returns the network of a cell: up and down links of all servers. With two leaves it
// has the capacity between them too. A late fault happens drop us after the start.
func (c *Cell) fairOf(flows []*lab.Flow, drop float64) *fair {
	const bytesPerUs = 1e3 / 8 // in a Gbit/s
	f := &fair{rate: make([]float64, 2*c.Fabric.Servers+1), core: 2 * c.Fabric.Servers}
	for i := range f.rate {
		f.rate[i] = c.Fabric.Gbit / c.Fabric.Share / float64(c.Fabric.From[1]-c.Fabric.From[0]+1) * bytesPerUs
	}
	leaves := c.Fabric.Servers / c.Fabric.PerLeaf
	whole, rest := c.Fabric.Gbit*bytesPerUs, (c.Fabric.Gbit-c.lost())*bytesPerUs
	switch {
	case leaves != 2:
		whole = math.Inf(1)
	case c.Scenario.late:
		f.drop, f.after = drop, rest
	default:
		whole = rest
	}
	f.rate[f.core] = whole
	for _, x := range flows {
		v := fairFlow{size: float64(x.Size), start: us(x.At), links: []int{x.Src, c.Fabric.Servers + x.Dst}}
		if x.Src/c.Fabric.PerLeaf != x.Dst/c.Fabric.PerLeaf {
			v.links = append(v.links, f.core)
		}
		f.flow = append(f.flow, v)
	}
	return f
}

// lost is the capacity that the scenario takes away between the leaves, in Gbit/s.
func (c *Cell) lost() float64 {
	if c.Scenario.fault == "" {
		return 0
	}
	return float64(len(c.Fabric.Broken)) * c.Fabric.Uplink * (1 - c.Scenario.value)
}

// play advances time until all flows have ended.
func (f *fair) play() {
	order := make([]*fairFlow, len(f.flow))
	for i := range f.flow {
		order[i] = &f.flow[i]
		order[i].left = order[i].size
	}
	slices.SortStableFunc(order, func(a, b *fairFlow) int { return int(math.Copysign(1, a.start-b.start)) })
	var active []*fairFlow
	for now := 0.0; len(order) > 0 || len(active) > 0; {
		next := math.Inf(1)
		if len(order) > 0 {
			next = order[0].start
		}
		if f.drop > now {
			next = min(next, f.drop)
		}
		shares := f.shares(active)
		for i, x := range active {
			next = min(next, now+x.left/shares[i])
		}
		for i, x := range active {
			x.left -= shares[i] * (next - now)
		}
		now = next
		if f.drop > 0 && now >= f.drop {
			f.rate[f.core] = f.after
		}
		active = slices.DeleteFunc(active, func(x *fairFlow) bool {
			x.took = now - x.start
			return x.left < 1e-6*x.size
		})
		for len(order) > 0 && order[0].start <= now {
			active, order = append(active, order[0]), order[1:]
		}
	}
}

// shares returns the rates of flows in bytes per microsecond. The link with the least
// capacity for each flow gives its flows that share. The remaining capacity is divided in
// the same way.
func (f *fair) shares(flows []*fairFlow) []float64 {
	shares, open := make([]float64, len(flows)), len(flows)
	rate, users := slices.Clone(f.rate), make([]int, len(f.rate))
	for _, x := range flows {
		for _, l := range x.links {
			users[l]++
		}
	}
	for open > 0 {
		tight, least := -1, math.Inf(1)
		for l, n := range users {
			if n > 0 && (tight < 0 || rate[l]/float64(n) < least) {
				tight, least = l, rate[l]/float64(n)
			}
		}
		for i, x := range flows {
			if shares[i] > 0 || !slices.Contains(x.links, tight) {
				continue
			}
			shares[i] = least
			for _, l := range x.links {
				rate[l] = max(0, rate[l]-least)
				users[l]--
			}
			open--
		}
	}
	return shares
}
