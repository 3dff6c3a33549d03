// Package foe implements the adversaries of the simulator. No simulated adversary can break
// cryptography.
//
//	strangers.go the attacks of strangers and observers in a run
//	tap.go       an observer in front of a host: it replays, overtakes and corrupts packets
//	forge.go     packets that the tap forges with public keys alone
//	liar.go      a configured peer that lies; lies.go: each of its lies
//	doubt.go     the application of an honest host above its connection to the liar
//	ground.go    the adversaries' view of the network
package foe
