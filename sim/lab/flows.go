package lab

import "github.com/srdtun/srdtun/sim"

// Flows returns the flows that Run would play, with nobody to carry them.
func Flows(p *Plan, c *Case, seed uint64) ([]*Flow, error) {
	r := &run{plan: p, c: c, seed: seed, engine: sim.NewEngine(seed, nil)}
	err := r.addFlows()
	return r.flows, err
}
