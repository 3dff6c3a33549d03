// Package host implements a simulated machine and its program. The program runs the transport's
// real state machines (srd.Endpoint and srd.Conn) as the driver does. Only the program's clock,
// randomness and sockets are simulated.
//
//	host.go      the machine: sockets, clocks, turns       process.go  the program on it
//	peer.go      one connection of the program
//	app.go       the application above a connection        stream.go   messages, bare
//	tunnel.go    inner packets, through the overlay        early.go    wake-ups before their time
//	audit.go     invariants of all packets and messages    trust.go    bytes to unproven addresses
package host
