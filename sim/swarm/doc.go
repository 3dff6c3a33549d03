// Package swarm runs simulations, each of which is determined by a seed: its network, faults,
// adversaries and traffic. The audit checks invariants at every step. After all faults have
// ended, the simulation requires progress.
//
//	plan.go      the plan of a seed; hostile.go: its adversaries
//	strict.go    networks with no or few faults, with stricter requirements
//	siege.go     a good network full of adversaries; filter.go: one that drops handshakes
//	fabric.go    the network; fault.go: its faults and their times
//	swarm.go     the phases of a run; settle.go: its end
//	race.go      the speed with one seed; speed.go: compares all speeds with recorded ones
package swarm
