package lab

import (
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/lab/workload"
	"github.com/srdtun/srdtun/sim/net"
)

// These constants describe the fault "degradation" as the paper's artifact simulates it. A cable
// has three lanes, and loses the share of packets that its failed lanes would carry. In most
// degraded cables one lane fails, in a few two, and in almost none all three. A degraded switch or
// interface loses a fixed share of its packets. If the plan states no percentage, a degraded device
// also loses all of its rate except 1 kbit/s.
const (
	oneLane, twoLanes = 0.9, 0.99 // cumulative probabilities of the number of failed lanes
	laneLoss          = 1.0 / 3
	switchLoss        = 0.10
	nicLoss           = 0.05
	crawl             = 1000.0 / 8 // bytes per second
)

// filePlan converts a fault plan of package workload to faults of one network.
type filePlan struct {
	*Network
	stop   time.Duration
	most   int // largest number of failed cables; 0: as many as the plan says
	rng    *rand.Rand
	faults []Fault
}

// fromFile converts a fault plan of package workload to faults of this network. The argument
// `most` bounds the number of failing cables, and 0 means as many as the plan says. The argument
// `flows` holds the case's flows, sorted by start time.
func fromFile(f *workload.Faults, most int, n *Network, flows []*Flow, rng *rand.Rand) []Fault {
	p := &filePlan{Network: n, stop: f.Stop, most: most, rng: rng}
	p.cables(&f.Cable, flows)
	p.switches(&f.Switch)
	p.nics(&f.NIC)
	if f.Drop > 0 {
		p.everywhere(&workload.Element{Most: f.Drop / float64(2*len(n.Cables))})
	}
	return p.faults
}

// each calls the function hit() for each device that an element of the plan affects, with the index
// of the device and the time of the fault. The argument n is the number of devices. If `most` is
// not 0, it bounds the number of affected devices.
func (p *filePlan) each(e *workload.Element, n, most int, hit func(i int, at time.Duration)) {
	if !e.On {
		return
	}
	count := max(1, int(e.Most*float64(n)))
	if most > 0 {
		count = min(count, most)
	}
	for i := range min(n, count) {
		at := e.Start + time.Duration(i)*e.Period
		if p.stop > 0 && at > p.stop {
			return
		}
		hit(i, at)
	}
}

func (p *filePlan) add(x Fault) { p.faults = append(p.faults, x) }

// cables adds the faults of the cables above leaves. They affect only the direction up.
func (p *filePlan) cables(f *workload.Faulty, flows []*Flow) {
	if f.Fail.On || f.WorstCase.On || f.Degradation.On || f.PeriodicLoss.On {
		order := p.deathOrder(flows, p.rng)
		one := func(i int) []int { return []int{order[i]} }
		for _, e := range []*workload.Element{&f.Fail, &f.WorstCase} {
			p.each(e, len(order), p.most, func(i int, at time.Duration) {
				p.add(Fault{Kind: "dead", At: at, For: e.For, Tier: 1, Cable: one(i), Up: true})
			})
		}
		p.each(&f.Degradation, len(order), 0, func(i int, at time.Duration) {
			p.add(Fault{Kind: "loss", At: at, Tier: 1, Cable: one(i), Up: true, Value: p.lanes()})
		})
		e := &f.PeriodicLoss
		p.each(e, len(order), 0, func(i int, at time.Duration) {
			p.add(Fault{Kind: "cycle", At: at, Tier: 1, Cable: one(i), Up: true, Cycle: net.Cycle{Pass: e.Gap, Drop: e.Burst}})
		})
	}
	if f.BER.On {
		p.everywhere(&f.BER)
	}
}

// lanes draws the share of packets that a degraded cable loses.
func (p *filePlan) lanes() float64 {
	switch u := p.rng.Float64(); {
	case u < oneLane:
		return laneLoss
	case u < twoLanes:
		return 2 * laneLoss
	}
	return 1
}

// everywhere makes each cable of the network lose a given share of its packets.
func (p *filePlan) everywhere(e *workload.Element) {
	for tier, row := range p.Cables {
		x := Fault{Kind: "loss", At: e.Start, Value: e.Most, Tier: tier}
		for i := range row {
			x.Cable = append(x.Cable, i)
		}
		p.add(x)
	}
}

// switches adds the faults of second-tier switches, which affect both directions of all their
// cables.
func (p *filePlan) switches(f *workload.Faulty) {
	if len(p.tiers) < 2 {
		return
	}
	order := p.rng.Perm(len(p.tiers[1]))
	hit := func(i int, x Fault) {
		for tier := 1; tier < len(p.Cables); tier++ {
			x.Tier, x.Cable = tier, nil
			for k, c := range p.Cables[tier] {
				if tier == 1 && c.upper == order[i] || tier == 2 && c.lower == order[i] {
					x.Cable = append(x.Cable, k)
				}
			}
			p.add(x)
		}
	}
	p.equipment(f, len(order), switchLoss, p.Topology.Tiers[1].Rate, hit)
}

// nics adds the faults of network interfaces, which affect both directions of a host's cable.
func (p *filePlan) nics(f *workload.Faulty) {
	order := p.rng.Perm(len(p.Cables[0]))
	p.equipment(f, len(order), nicLoss, p.Cables[0][0].Up.Rate, func(i int, x Fault) {
		x.Tier, x.Cable = 0, []int{order[i]}
		p.add(x)
	})
}

// equipment adds the faults that switches and interfaces have in common. A degraded device drops
// packets with the probability `loss`. The argument `rate` is the rate of a link in bytes per
// second. The function hit() applies a fault to the device with index i.
func (p *filePlan) equipment(f *workload.Faulty, n int, loss, rate float64, hit func(i int, x Fault)) {
	for _, e := range []*workload.Element{&f.Fail, &f.WorstCase} {
		p.each(e, n, 0, func(i int, at time.Duration) { hit(i, Fault{Kind: "dead", At: at, For: e.For}) })
	}
	left := crawl / rate
	if f.Degradation.Percent > 0 {
		left = max(left, 1-f.Degradation.Percent)
	}
	p.each(&f.Degradation, n, 0, func(i int, at time.Duration) {
		hit(i, Fault{Kind: "loss", At: at, Value: loss})
		hit(i, Fault{Kind: "rate", At: at, Value: left})
	})
	e := &f.PeriodicLoss
	p.each(e, n, 0, func(i int, at time.Duration) {
		hit(i, Fault{Kind: "cycle", At: at, Cycle: net.Cycle{Pass: e.Gap, Drop: e.Burst}})
	})
	if f.BER.On {
		for i := range n {
			hit(i, Fault{Kind: "loss", At: f.BER.Start, Value: f.BER.Most})
		}
	}
}
