// Package foe has the adversaries of the simulator. None of them breaks cryptography.
//
//	strangers.go what strangers and observers do in a run
//	tap.go       an observer before a host: it replays, races, spoils, and never drops
//	forge.go     what it makes itself, with public keys alone
//	liar.go      a peer that is configured and lies; lies.go: each of its lies
//	doubt.go     what an honest host has above its connection to the liar
//	ground.go    what adversaries see of the network
package foe
