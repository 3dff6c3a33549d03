// Package host is a machine in the simulator, with a program that runs the transport's real
// machines (srd.Endpoint and srd.Conn) as the driver does. Only its clock, its randomness and its
// sockets are the simulator's.
//
//	host.go      the machine: sockets, clocks, turns       process.go  the program on it
//	peer.go      one connection of the program
//	app.go       what is above a connection                stream.go   messages, bare
//	tunnel.go    inner packets, through the overlay        early.go    wake-ups that mean nothing
//	audit.go     what must hold of all that is sent        trust.go    what may be sent where
package host
