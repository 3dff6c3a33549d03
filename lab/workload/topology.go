package workload

import (
	"errors"
	"fmt"
	"time"
)

// Tier is one layer of switches, and tier 0 is next to the hosts.
type Tier struct {
	// Rate and Latency describe each link down from this tier: bytes per second, and one-way delay.
	// Through is the additional delay within a switch.
	Rate    float64
	Latency time.Duration
	Through time.Duration
	// Down and Up are the numbers of a switch's links to the tier below and to the tier above. In
	// the last tier Up is 0.
	Down, Up int
	// Bundle is the number of parallel links to the same lower switch.
	Bundle int
	// Oversubscribed is the ratio that the file states, and is not used.
	Oversubscribed int
}

// Topology is a fat tree of one to three tiers.
type Topology struct {
	Nodes int
	Pod   int // number of hosts in a pod; with two tiers, of all hosts
	Tiers []Tier
}

const gbps = 1e9 / 8 // bytes per second

// ParseTopology parses a .topo file with "Nodes", "Tiers" and "Podsize", followed by a block for
// each tier that begins with "Tier N".
func ParseTopology(file, text string) (*Topology, error) {
	t := &Topology{}
	tiers, at := 0, line{file: file, number: 1}
	var tier *Tier
	for _, l := range split(file, text) {
		at = l
		if err := l.alone(2); err != nil {
			return nil, err
		}
		var err error
		switch key := l.fields[0]; {
		case key == "Tier":
			err = t.begin(l, tiers)
			if err == nil {
				tier = &t.Tiers[len(t.Tiers)-1]
			}
		case tier != nil:
			err = tier.set(l)
		case key == "Nodes":
			t.Nodes, err = whole(l, 1, mostNodes)
		case key == "Tiers":
			tiers, err = whole(l, 1, mostTiers)
		case key == "Podsize":
			t.Pod, err = whole(l, 1, mostNodes)
		default:
			err = l.errorf("unknown key %q", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(t.Tiers) != tiers || tiers == 0 {
		return nil, at.errorf("%d tiers, want %d", len(t.Tiers), tiers)
	}
	if err := t.check(); err != nil {
		return nil, at.errorf("%v", err)
	}
	return t, nil
}

func whole(l line, least, most int64) (int, error) {
	n, err := l.count(1, least, most)
	return int(n), err
}

// begin starts the block of the next tier.
func (t *Topology) begin(l line, tiers int) error {
	n, err := whole(l, 0, mostTiers)
	if err != nil {
		return err
	}
	if n != len(t.Tiers) || n >= tiers {
		return l.errorf("tier %d of %d after %d others", n, tiers, len(t.Tiers))
	}
	t.Tiers = append(t.Tiers, Tier{Bundle: 1, Oversubscribed: 1})
	return nil
}

func (t *Tier) set(l line) (err error) {
	var x float64
	switch key := l.fields[0]; key {
	case "Downlink_speed_Gbps":
		x, err = l.real(1, 1e-3, mostGbps)
		t.Rate = x * gbps
	case "Downlink_Latency_ns":
		x, err = l.real(1, 0, mostDelay)
		t.Latency = time.Duration(x)
	case "Switch_Latency_ns":
		x, err = l.real(1, 0, mostDelay)
		t.Through = time.Duration(x)
	case "Radix_Down":
		t.Down, err = whole(l, 1, mostRadix)
	case "Radix_Up":
		t.Up, err = whole(l, 1, mostRadix)
	case "Bundle":
		t.Bundle, err = whole(l, 1, mostRadix)
	case "Oversubscribed":
		t.Oversubscribed, err = whole(l, 1, mostRadix)
	default:
		err = l.errorf("unknown key %q of a tier", key)
	}
	return err
}

// check returns an error unless the numbers describe a fat tree.
func (t *Topology) check() error {
	if t.Nodes == 0 {
		return errors.New("no Nodes")
	}
	last := len(t.Tiers) - 1
	for i := range t.Tiers {
		tier := &t.Tiers[i]
		switch {
		case tier.Rate == 0 || tier.Down == 0:
			return fmt.Errorf("tier %d has no Downlink_speed_Gbps or no Radix_Down", i)
		case i < last && tier.Up == 0:
			return fmt.Errorf("tier %d has no Radix_Up, and is not the last", i)
		case tier.Down%tier.Bundle != 0:
			return fmt.Errorf("tier %d: bundles of %d do not fill %d links", i, tier.Bundle, tier.Down)
		}
	}
	t.Tiers[last].Up = 0
	if t.Pod == 0 || last < 2 {
		t.Pod = t.Nodes
	}
	switch {
	case t.Nodes%t.Pod != 0 || t.Pod%t.Tiers[0].Down != 0:
		return fmt.Errorf("%d nodes do not fill pods of %d and switches of %d", t.Nodes, t.Pod, t.Tiers[0].Down)
	case last == 0 && t.Nodes != t.Tiers[0].Down:
		return fmt.Errorf("%d nodes on one switch of %d", t.Nodes, t.Tiers[0].Down)
	}
	return t.checkLinks()
}

// checkLinks returns an error unless each tier has as many links up as the next tier has links
// down. Every switch must have a link to every switch below it.
func (t *Topology) checkLinks() error {
	last := len(t.Tiers) - 1
	for i := range last {
		lower, links := t.Switches(i), t.Switches(i)*t.Tiers[i].Up
		down := t.Tiers[i+1].Down
		if links%down != 0 {
			return fmt.Errorf("%d links up from tier %d do not fill switches of %d", links, i, down)
		}
		if i+1 < last && (links/down)%t.Pods() != 0 {
			return fmt.Errorf("%d switches of tier %d do not fill %d pods", links/down, i+1, t.Pods())
		}
		// The switches below a switch of the next tier are either all switches of a pod, or one
		// switch of each pod.
		reach := lower / t.Pods()
		if i == 1 {
			reach = t.Pods()
		}
		if down != reach*t.Tiers[i+1].Bundle {
			return fmt.Errorf("a switch of tier %d has %d links down, not %d to each of %d", i+1, down, t.Tiers[i+1].Bundle, reach)
		}
	}
	return nil
}

// Pods returns the number of pods.
func (t *Topology) Pods() int { return t.Nodes / t.Pod }

// Switches returns the number of switches in a tier.
func (t *Topology) Switches(tier int) int {
	n := t.Nodes / t.Tiers[0].Down
	for i := range tier {
		n = n * t.Tiers[i].Up / t.Tiers[i+1].Down
	}
	return n
}
