// Package foe implements the adversaries of the simulator. No simulated adversary can break
// cryptography.
//
//	strangers.go the attacks of strangers and observers in a run
//	tap.go       an observer before a host: it replays, races, spoils, and never drops
//	forge.go     packets that the tap forges with public keys alone
//	liar.go      a peer that is configured and lies; lies.go: each of its lies
//	doubt.go     the application of an honest host above its connection to the liar
//	ground.go    the adversaries' view of the network
package foe
