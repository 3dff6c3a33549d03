// Package net is a network in virtual time: links, switches, address translators and the packets
// between them. One Engine orders the events; the nodes hand packets to each other.
//
//	Host -> NAT -> Switch (leaf) -> Link -> Switch (spine) -> Link -> Switch -> Tap -> Host
//
// Everything happens in one goroutine, in the order of (time, serial number of the event).
// Randomness comes from streams forked off one seed, and no map is ever ranged over. So a seed
// names one run, bit by bit, for as long as the code stays the same: Engine.Hash tells whether
// two runs were the same.
//
// Three packages stand on it, each on those before: host has the machines, foe the adversaries,
// swarm plays seeds. The lab module builds experiments of the same nodes, at the scale of the
// papers.
package net
