// Package swarm runs simulations, each of which is determined by a seed: its network, faults,
// adversaries and traffic. The audit checks invariants at every step. After all faults have
// ended, the simulation requires progress.
//
//	plan.go      the plan that a seed draws; hostile.go: its adversaries
//	strict.go    networks so good that more is demanded
//	siege.go     a good network full of adversaries; filter.go: one that drops handshakes
//	fabric.go    the network; fault.go: its faults and their times
//	swarm.go     the course of a seed; settle.go: its end
//	race.go      how fast a seed is; speed.go: all of them, beside recorded ones
package swarm
