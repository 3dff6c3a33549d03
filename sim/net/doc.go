// Package net is a network in virtual time: links, switches, address translators and the
// packets between them. One Engine orders the events; the nodes pass packets to each other.
//
//	Host -> NAT -> Switch (leaf) -> Link -> Switch (spine) -> Link -> Switch -> Tap -> Host
//
// Everything happens in one goroutine, in the order of (time, serial number of the event).
// Randomness comes from streams that are forked from one seed, and no code iterates over a
// map. So a seed gives the same run, bit by bit, as long as the code stays the same.
// Engine.Hash shows whether two runs were the same.
//
// Three packages build on it, each on the one before: host contains the machines, foe the
// adversaries, and swarm plays seeds. The lab module builds experiments from the same nodes,
// at the scale of the papers.
package net
