// Package swarm plays seeds. A seed draws a network, faults, adversaries and traffic; the audit
// checks what must hold at every step; and when all faults are healed, progress is demanded.
//
//	plan.go      what a seed draws; hostile.go: who is hostile
//	strict.go    networks so good that more is demanded
//	siege.go     a good network full of adversaries; filter.go: one that takes handshakes away
//	fabric.go    the network; fault.go: what goes wrong in it, and when
//	swarm.go     the course of a seed; settle.go: its end
//	race.go      how fast a seed has to be
package swarm
