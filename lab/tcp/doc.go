// Package tcp is a model of TCP and of MPTCP in virtual time, good enough that
// completion times under loss, incast and colliding flows can be believed. It is
// what srdtun is compared with, and the legacy traffic that shares its fabric.
//
// A Conn is one end of a connection. It counts bytes instead of carrying them,
// its sequence numbers do not wrap, and its segments are net.Packet whose Meta is
// the header, so links and switches treat them like any others. What is modelled,
// and after which document:
//
//	scoreboard.go  what is in flight: RFC 2018, RFC 6675
//	receiver.go    what came in, SACK blocks; acknowledgements in conn_recv.go: RFC 5681
//	rtt.go         round trip and retransmission timeout: RFC 6298, RFC 7323
//	rack.go        losses by time; tail loss probes in conn_timer.go: RFC 8985
//	conn_loss.go   recovery by proportional rate reduction (RFC 9937), timeouts, and
//	               taking back what was not needed (RFC 3522, RFC 4015)
//	control.go     Reno (RFC 5681), DCTCP (RFC 8257); cubic.go: RFC 9438; hystart.go: RFC 9406
//	conn_open.go   the handshake, which may be left out
//	nic.go         turns among the connections of a host
//	multi.go       MPTCP: RFC 8684; lia.go: RFC 6356
//
// What is left out: the end of a connection, urgent data, silly windows and
// Nagle's rule, pacing, segmentation offload, reneging. The
// receiver's application reads at once. Congestion marks are echoed as a count of
// bytes in every acknowledgement, as in AccECN (RFC 9768), so that a classic
// sender and DCTCP need no two kinds of receiver.
//
// Like all of the simulator, a Conn is driven by one goroutine and is deterministic. Its only
// randomness is Config.Jitter, of the engine's seed.
package tcp
