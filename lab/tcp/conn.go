package tcp

import (
	"math/rand/v2"
	"net/netip"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/mono"
)

// Stats holds the counters of one end of a connection.
type Stats struct {
	Segments       uint64 // data segments sent, including retransmissions
	Bytes          uint64 // payload bytes in them
	Retransmitted  uint64 // retransmitted segments
	Recoveries     uint64 // times that fast recovery began
	Timeouts       uint64 // retransmission timeouts
	Probes         uint64 // tail loss probes
	Spurious       uint64 // spurious recoveries and timeouts
	MarkReductions uint64 // reductions for congestion marks
	Restarts       uint64 // reductions of the window after an idle time
	Acks           uint64 // segments without data sent

	Duplicates uint64 // segments received again
	Early      uint64 // segments received before an earlier one
}

// Conn is one end of a TCP connection. The state of a Conn changes in Write, in Receive and when an
// alarm expires. Callbacks run at the end of Write, Receive and alarms, when the state is
// consistent, so a callback may call Write.
type Conn struct {
	Stats Stats
	// Acked is called when written bytes are acknowledged, and Received when bytes have arrived in
	// order. Both get the total number of bytes so far, and may be nil.
	Acked    func(total int64)
	Received func(total int64)

	engine        *net.Engine
	cfg           Config
	out           net.Node
	local, remote netip.AddrPort
	noun          net.Noun
	spare         []*segment // segments for reuse
	rng           *rand.Rand // generator for Config.Jitter; nil without jitter
	leaves        mono.Time  // time of departure of the last segment
	opening       opening
	synTries      int
	answered      bool // a SYN was answered, and no segment has arrived since

	// The following fields of Conn hold the state of incoming data.
	in     receiver
	ackDue *alarm

	// The following fields of Conn hold the state of outgoing data.
	written int64
	board   scoreboard
	win     window
	ctl     control
	limited bool // the window, not the application, delayed the last segment
	queued  bool // the connection waits at the NIC
	sentAt  mono.Time

	// The following fields of Conn hold the state of round trips, losses and the window.
	rtt     rtt
	rack    rack
	phase   phase
	point   int64 // the phase ends when this sequence number is acknowledged
	prr     prr
	regret  regret
	backoff int
	probe   probe
	round   round
	hystart hystart
	timer   *alarm
	rtoAt   mono.Time // time of the retransmission timeout; 0: nothing is in flight
	probeAt mono.Time // time of the tail loss probe; 0: none
	reorder mono.Time // time of the next check by RACK; 0: none
	multi   *Multi
	kernel  kernel // used if Config.Kernel is set
}

// opening is the state of the TCP handshake.
type opening uint8

const (
	idle opening = iota
	asking
	open
)

// phase is the sender's state with respect to loss recovery.
type phase uint8

const (
	steady   phase = iota
	recovery       // fast recovery
	loss           // recovery after a retransmission timeout
)

// NewConn returns one end of a TCP connection. The connection sends its packets to the node
// `out`. The other end is created with the addresses exchanged, and gets packets through
// Receive.
func NewConn(e *net.Engine, cfg Config, out net.Node, local, remote netip.AddrPort) *Conn {
	cfg.complete(remote, 0)
	return newConn(e, cfg, out, local, remote)
}

func newConn(e *net.Engine, cfg Config, out net.Node, local, remote netip.AddrPort) *Conn {
	c := &Conn{
		engine: e, cfg: cfg, out: out, local: local, remote: remote,
		noun: e.Name("tcp " + local.String()),
		ctl:  newControl(&cfg),
	}
	c.win.mss = float64(cfg.MSS)
	c.win.cwnd = c.initialWindow()
	c.win.ssthresh = float64(cfg.Window)
	c.hystart.done = !cfg.HyStart || cfg.Kernel
	c.kernel.trains.off = !cfg.HyStart || cfg.Algorithm != Cubic
	c.in.quick = cfg.QuickAcks
	if cfg.Jitter > 0 {
		c.rng = e.Fork()
	}
	c.ackDue = newAlarm(e, func() { c.acknowledge(false) })
	c.timer = newAlarm(e, c.expire)
	if !cfg.Handshake {
		c.opening = open
		if cfg.RTT > 0 {
			c.rtt.sample(cfg.RTT)
			c.kernel.trains.least = cfg.RTT
		}
	}
	return c
}

func (c *Conn) initialWindow() float64 { return float64(c.cfg.InitialWindow) * c.win.mss }

// Write adds n bytes to the data to send.
func (c *Conn) Write(n int64) {
	c.written += n
	c.begin()
}

// begin starts to send the written data. If necessary, the connection first performs its handshake.
func (c *Conn) begin() {
	switch c.opening {
	case idle:
		c.opening = asking
		c.sendSyn()
	case open:
		c.restart()
		c.pump()
	}
}

// Window returns the congestion window and the slow start threshold in bytes.
func (c *Conn) Window() (cwnd, ssthresh int64) { return int64(c.win.cwnd), int64(c.win.ssthresh) }

// InFlight returns the estimated number of bytes in flight.
func (c *Conn) InFlight() int64 { return c.board.pipe() }

// SmoothedRTT returns the smoothed round trip in nanoseconds of virtual time, or 0 before the first
// sample.
func (c *Conn) SmoothedRTT() int64 { return int64(c.rtt.smoothed) }

// Receive implements net.Node, and handles a packet for this end.
func (c *Conn) Receive(p *net.Packet) {
	s, ok := p.Meta.(*segment)
	if !ok {
		return
	}
	var acked, arrived bool
	switch h := &s.header; h.kind {
	case syn:
		c.answer(h)
	case synAck:
		c.opened(h)
	default:
		c.answers(h)
		acked = c.takeAck(h)
		arrived = h.size > 0 && c.takeData(h, p.CE)
		c.pump()
	}
	s.free(p)
	c.tell(acked, arrived)
}

// tell calls the callbacks Acked and Received.
func (c *Conn) tell(acked, arrived bool) {
	if c.multi != nil {
		c.multi.tell()
		return
	}
	if acked && c.Acked != nil {
		c.Acked(c.board.una)
	}
	if arrived && c.Received != nil {
		c.Received(c.in.next)
	}
}
