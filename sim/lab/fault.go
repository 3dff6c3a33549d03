package lab

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/sim"
	"github.com/srdtun/srdtun/sim/workload"
)

// Fault is something that happens to cables.
type Fault struct {
	Kind  string        // "cut", "dead", "rate" or "loss"
	At    time.Duration // after time zero; negative: before anything is sent
	For   time.Duration // 0: to the end
	Tier  int           // of the cables' upper end; 0 are those of hosts
	Cable []int         // their numbers in Network.Cables
	Value float64       // rate: the share that is left; loss: the chance of a packet
	// Down leaves the direction up alone.
	Down bool
}

// kinds of faults: what each does to a link, and how it is undone.
var kinds = map[string]struct{ begin, end func(*sim.Link, float64) }{
	"dead": {func(l *sim.Link, _ float64) { l.Fail() }, func(l *sim.Link, _ float64) { l.Restore() }},
	"rate": {func(l *sim.Link, v float64) { l.Rate *= v }, func(l *sim.Link, v float64) { l.Rate /= v }},
	"loss": {func(l *sim.Link, v float64) { l.Loss += v }, func(l *sim.Link, v float64) { l.Loss -= v }},
}

// plant lets the fault happen, at times counted from now.
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
		links := []*sim.Link{c.Down, c.Up}
		if x.Down {
			links = links[:1]
		}
		for _, l := range links {
			n.Engine.After(x.At, func() { k.begin(l, x.Value) })
			if x.For > 0 {
				n.Engine.After(x.At+x.For, func() { k.end(l, x.Value) })
			}
		}
	}
	return nil
}

// cut is a fault that routing knows of from the start, and that lasts: the cables are
// not used. What "dead" does nobody is told.
const cut = "cut"

func (x *Fault) cut(n *Network) error {
	if x.At != 0 || x.For != 0 || x.Tier != 1 || x.Down {
		return fmt.Errorf("cables that are cut are so between two tiers of switches, both ways and all the time")
	}
	for _, i := range x.Cable {
		if err := n.Cut(i); err != nil {
			return err
		}
	}
	return nil
}

// fromFile turns a fault plan of workload into faults of this network, with no
// more than most dead cables; 0: as many as the plan says.
func fromFile(f *workload.Faults, most int, n *Network, rng *rand.Rand) (v []Fault) {
	if f.Fail.On {
		top := len(n.Cables) - 1
		all := rng.Perm(len(n.Cables[top]))
		dead := max(1, int(f.Fail.Most*float64(len(all))))
		if most > 0 {
			dead = min(dead, most)
		}
		for i, c := range all[:dead] {
			v = append(v, Fault{Kind: "dead", At: f.Fail.Start + time.Duration(i)*f.Fail.Period, Tier: top, Cable: []int{c}})
		}
	}
	if f.BER.On {
		// Noticed at the receiver: lost on the last cable.
		hosts := Fault{Kind: "loss", At: f.BER.Start, Value: f.BER.Most, Down: true}
		for i := range n.Hosts {
			hosts.Cable = append(hosts.Cable, i)
		}
		v = append(v, hosts)
	}
	return v
}
