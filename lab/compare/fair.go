package compare

import (
	"math"
	"slices"
	"time"

	"github.com/srdtun/srdtun/lab"
)

// fairKind is the name of a theoretical reference that the tables list like a system. In it, flows
// always share the servers' links, and the capacity between the leaves, max-min fairly (Bertsekas
// and Gallager, Data Networks, section 6.5.2). There are no round trips, headers, losses or
// collisions. A system with a lower mean than the reference cannot be fair, because it serves one
// of two equal flows before the other. The reference is ignored when the best system is determined.
const fairKind = "fair"

// fairFlow is one flow of the theoretical reference. All times of a fairFlow are in microseconds.
type fairFlow struct {
	size, start, took float64
	left              float64
	links             []int
}

// fair is the network of the theoretical reference, with each link's capacity in bytes per
// microsecond.
type fair struct {
	rate []float64
	flow []fairFlow
	// At the time `drop`, in microseconds, the rate of the link `core` changes to `after`. If
	// `drop` is 0, the rate does not change.
	drop, after float64
	core        int
}

// playFair returns the completion times of the cell's flows in the theoretical reference.
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

// us converts a duration to microseconds.
func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// fairOf returns the reference network of a cell, with an up link and a down link for each server.
// If the network has two leaves, the capacity between them is one more link. In a scenario with a
// late fault, the fault occurs at the time `drop`, in microseconds.
func (c *Cell) fairOf(flows []*lab.Flow, drop float64) *fair {
	const bytesPerUs = 1e3 / 8 // bytes per microsecond at 1 Gbit/s
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

// lost returns how much capacity between the leaves the scenario removes, in Gbit/s.
func (c *Cell) lost() float64 {
	if c.Scenario.fault == "" {
		return 0
	}
	return float64(len(c.Fabric.Broken)) * c.Fabric.Uplink * (1 - c.Scenario.value)
}

// play advances virtual time until all flows have ended.
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

// shares returns the max-min fair rates of the flows in bytes per microsecond. In each step, the
// link with the least capacity per flow determines the rate of its flows. The remaining capacity is
// divided among the remaining flows in the next steps.
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
