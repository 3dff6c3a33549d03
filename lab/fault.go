package lab

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// Fault is a fault of one or more cables.
type Fault struct {
	Kind  string        // "cut", "dead", "rate", "loss", "cycle" or "delay"
	At    time.Duration // time of the fault after time zero; negative: before anything is sent
	For   time.Duration // duration; 0: until the end of the run
	Tier  int           // tier of the cables' upper end; 0 for the hosts' cables
	Cable []int         // numbers of the cables in Network.Cables
	Value float64       // rate: remaining share; loss: probability for each packet; delay: additional ms
	Cycle net.Cycle     // for the kind cycle: which packets are lost
	// Down and Up restrict the fault to one direction of a cable.
	Down, Up bool
}

// kinds maps each kind of fault to functions that begin and end its effect on a link.
var kinds = map[string]struct{ begin, end func(*net.Link, *Fault) }{
	"dead":  {func(l *net.Link, _ *Fault) { l.Fail() }, func(l *net.Link, _ *Fault) { l.Restore() }},
	"rate":  {func(l *net.Link, x *Fault) { l.Rate *= x.Value }, func(l *net.Link, x *Fault) { l.Rate /= x.Value }},
	"loss":  {func(l *net.Link, x *Fault) { l.Loss += x.Value }, func(l *net.Link, x *Fault) { l.Loss -= x.Value }},
	"delay": {func(l *net.Link, x *Fault) { l.Delay += x.more() }, func(l *net.Link, x *Fault) { l.Delay -= x.more() }},
	"cycle": {func(l *net.Link, x *Fault) { l.Cycle = x.Cycle }, func(l *net.Link, _ *Fault) { l.Cycle = net.Cycle{} }},
}

// more returns the additional delay of a link after a change of its route.
func (x *Fault) more() time.Duration { return time.Duration(x.Value * float64(time.Millisecond)) }

// plant schedules the fault, with times relative to now.
func (x *Fault) plant(n *Network) error {
	if x.Kind == cut {
		return x.cut(n)
	}
	k, ok := kinds[x.Kind]
	if !ok {
		return fmt.Errorf("no fault is called %q", x.Kind)
	}
	if x.Tier < 0 || x.Tier >= len(n.Cables) {
		return fmt.Errorf("fault in tier %d of %d", x.Tier, len(n.Cables))
	}
	for _, i := range x.Cable {
		if i < 0 || i >= len(n.Cables[x.Tier]) {
			return fmt.Errorf("fault of cable %d of %d in tier %d", i, len(n.Cables[x.Tier]), x.Tier)
		}
		c := n.Cables[x.Tier][i]
		links := []*net.Link{c.Down, c.Up}
		switch {
		case x.Down:
			links = links[:1]
		case x.Up:
			links = links[1:]
		}
		for _, l := range links {
			n.Engine.After(x.At, func() { k.begin(l, x) })
			if x.For > 0 {
				n.Engine.After(x.At+x.For, func() { k.end(l, x) })
			}
		}
	}
	return nil
}

// cut is a permanent fault that routing knows from the start, so that no route uses the cables.
// Routing never detects the fault "dead".
const cut = "cut"

func (x *Fault) cut(n *Network) error {
	if x.At != 0 || x.For != 0 || x.Tier != 1 || x.Down || x.Up {
		return fmt.Errorf("cables that are cut are so between two tiers of switches, both ways and all the time")
	}
	for _, i := range x.Cable {
		if err := n.Cut(i); err != nil {
			return err
		}
	}
	return nil
}

// deathOrder returns the cables above leaves in the order in which a fault plan fails them. In the
// paper's artifact, the first cable to fail is the one that the next packet takes. In this
// simulation, the first flow that leaves its leaf is sprayed over all cables of that leaf. So the
// first cable to fail is a random cable of that leaf, and the other cables follow in random order.
func (n *Network) deathOrder(flows []*Flow, rng *rand.Rand) []int {
	order := rng.Perm(len(n.Cables[1]))
	each := n.Topology.Tiers[0].Down
	for _, f := range flows {
		leaf := f.Src / each
		if leaf == f.Dst/each {
			continue
		}
		i := slices.IndexFunc(order, func(c int) bool { return n.Cables[1][c].lower == leaf })
		order[0], order[i] = order[i], order[0]
		break
	}
	return order
}
