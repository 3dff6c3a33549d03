// Package sim is a network in virtual time. One Engine orders the events; links,
// switches, address translators and hosts are nodes that hand packets to each
// other; a host runs the transport's real machines (srd.Endpoint and srd.Conn)
// as the driver does, and only its clock, its randomness and its sockets are
// the simulator's.
//
//	Host -> NAT -> Switch (leaf) -> Link -> Switch (spine) -> Link -> Switch -> Tap -> Host
//
// Everything happens in one goroutine and in the order of (time, serial number
// of the event), randomness comes from streams forked off one seed, and no map
// is ever ranged over. So a seed names one run, bit by bit, for as long as the
// code stays the same: Engine.Hash tells whether two runs were the same.
//
// Swarm is the test that the package exists for: a seed draws a network, faults
// and traffic, the Audit checks what must hold at every step, and when all
// faults are healed it demands progress.
//
// Package lab builds experiments of the same nodes, at the scale of the papers;
// tcp has the models of what they compare with.
//
// The files: engine.go time and events; packet.go, link.go, switch.go, nat.go
// the network, pool.go a switch's buffer; host.go, process.go, peer.go a machine, the program on
// it, and one of its connections; app.go, stream.go, tunnel.go what is sent,
// bare or through the overlay; audit.go what must hold; trust.go what may be sent
// where; fabric.go topologies; fault.go what goes wrong and when; tap.go, foe.go,
// forge.go strangers and observers; liar.go, lies.go, doubt.go a peer that lies, and
// what is above a connection to it; plan.go, swarm.go, settle.go, strict.go, siege.go
// the test: what is drawn, its course, its end, and what good networks are held to;
// race.go how fast a seed has to be.
package sim
