// Package tcp is a model of TCP and of MPTCP in virtual time. The model is accurate enough for
// credible completion times under loss, incast and colliding flows. Experiments compare srdtun with
// this model, or use it as conventional traffic on the same fabric.
//
// A Conn is one end of a connection. A Conn counts bytes instead of carrying them, and its sequence
// numbers do not wrap. A segment is a net.Packet with the TCP header in Meta, so links and switches
// treat it like other packets. The following list names the parts of the model and their
// specifications:
//
//	scoreboard.go  segments in flight: RFC 2018, RFC 6675
//	receiver.go    received data, SACK blocks; acknowledgements in conn_recv.go: RFC 5681
//	rtt.go         round trip and retransmission timeout: RFC 6298, RFC 7323
//	rack.go        losses by time; tail loss probes in conn_timer.go: RFC 8985
//	conn_loss.go   recovery by proportional rate reduction (RFC 9937), timeouts, and
//	               undoing spurious reductions (RFC 3522, RFC 4015)
//	control.go     Reno (RFC 5681), DCTCP (RFC 8257); cubic.go: RFC 9438; hystart.go: RFC 9406
//	conn_open.go   the handshake, which may be left out
//	kernel.go      where Linux 6.18 differs, with Config.Kernel: kernel_cubic.go,
//	               kernel_hystart.go, kernel_super.go
//	nic.go         scheduling of the connections of a host
//	multi.go       MPTCP: RFC 8684; lia.go: RFC 6356
//
// The model omits connection termination, urgent data, silly window avoidance, Nagle's rule,
// pacing, and reneging. Segmentation offload is modelled only with Config.Kernel. The receiver's
// application reads data immediately. Every acknowledgement echoes congestion marks as a count of
// bytes, as in AccECN (RFC 9768). The same receiver therefore works with classic senders and with
// DCTCP.
//
// Like the whole simulator, a Conn is driven by one goroutine and is deterministic. The only
// randomness of a Conn is Config.Jitter, which uses the engine's seed.
package tcp
