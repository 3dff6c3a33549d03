// Package net simulates a network in virtual time: links, switches, address translators and
// packets. An Engine orders the events, and nodes pass packets to each other.
//
//	Host -> NAT -> Switch (leaf) -> Link -> Switch (spine) -> Link -> Switch -> Tap -> Host
//
// All events run in one goroutine, ordered by their time, and at the same time by their serial
// number. All randomness comes from generators that are forked from one seed, and no code iterates
// over a map. The same seed therefore gives exactly the same run, as long as the code does not
// change. Engine.Hash shows whether two runs were identical.
//
// Three packages build on package net, each on the previous one: host implements the machines, foe
// the adversaries, and swarm runs seeds. The lab module uses the same nodes to build experiments at
// the scale of the papers.
package net
