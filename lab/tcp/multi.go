package tcp

import (
	"net/netip"

	"github.com/srdtun/srdtun/sim/net"
)

// Multi is one end of an MPTCP connection (RFC 8684). The subflows of a connection carry one byte
// stream, and have their own ports, so that ECMP spreads them. New data are sent on the subflow
// with the shortest round trip that has free window. If a subflow has timed out, its data are sent
// on the other subflows as well.
//
// The model differs from real MPTCP in two respects. First, the model's receiver adds data to the
// stream immediately, even if the subflow has a gap before them. Second, a subflow is never closed,
// however long it receives nothing.
type Multi struct {
	// Acked and Received are callbacks like those of Conn, for the byte stream.
	Acked    func(total int64)
	Received func(total int64)
	// Reinjected counts segments that were sent again on another subflow.
	Reinjected uint64

	engine   *net.Engine
	window   int64
	subflows []*Conn
	order    []*Conn // the subflows, sorted by round trip

	written, taken int64
	una            int64 // data acknowledgement
	again          spans // data to send again on another subflow
	blocked        bool  // the receiver's window limited a subflow
	late           bool  // the other subflows join after the first acknowledgement

	in        stream
	toldAcked int64
	toldNext  int64
}

// stream assembles received data in order.
type stream struct {
	next  int64
	early spans
}

// NewMulti returns one end of an MPTCP connection with a subflow for each pair of addresses. LIA
// couples the subflows and ignores cfg.Algorithm, unless cfg.Uncoupled is set. The other end of the
// connection must be created with the addresses exchanged.
func NewMulti(e *net.Engine, cfg Config, out net.Node, local, remote []netip.AddrPort) *Multi {
	if !cfg.Uncoupled {
		cfg.Algorithm = lia
	}
	cfg.complete(remote[0], optionMap)
	m := &Multi{engine: e, window: cfg.Window, late: cfg.LateJoins}
	for i := range local {
		own := cfg
		if i > 0 && cfg.LateJoins {
			own.Handshake, own.RTT = true, 0
		}
		c := newConn(e, own, out, local[i], remote[i])
		c.multi = m
		if !cfg.Uncoupled {
			c.ctl = &coupled{of: m}
		}
		m.subflows = append(m.subflows, c)
	}
	m.order = append(m.order, m.subflows...)
	return m
}

// Subflows returns the subflows, whose counters the caller may read.
func (m *Multi) Subflows() []*Conn { return m.subflows }

// Write adds n bytes to the data to send.
func (m *Multi) Write(n int64) {
	m.written += n
	m.begin()
}

// begin sends the written data on all subflows. The first subflow opens the connection, and the
// other subflows join when the connection is open.
func (m *Multi) begin() {
	if first := m.subflows[0]; first.opening != open {
		first.begin()
		return
	}
	m.join()
	m.pump(m.subflows[0])
}

// join starts or resumes the subflows. Before the first acknowledgement it may be too early for a
// subflow to join.
func (m *Multi) join() {
	for _, c := range m.subflows {
		switch {
		case c.opening == open:
			c.restart()
		case !m.late || m.una > 0:
			c.begin()
		}
	}
}

// pump sends data after an event on subflow c. The order of sending is: c's retransmissions, and
// then new data on the subflows, sorted by round trip.
func (m *Multi) pump(c *Conn) {
	if c.board.waiting > 0 {
		c.push()
	}
	for _, s := range m.byRoundTrip() {
		if m.taken == m.written && len(m.again.v) == 0 {
			return
		}
		if s.push(); s.queued {
			return // c waits for the interface, which calls pump again
		}
	}
}

// byRoundTrip returns the subflows, sorted by round trip.
func (m *Multi) byRoundTrip() []*Conn {
	for i := 1; i < len(m.order); i++ {
		for j := i; j > 0 && m.order[j].rtt.smoothed < m.order[j-1].rtt.smoothed; j-- {
			m.order[j], m.order[j-1] = m.order[j-1], m.order[j]
		}
	}
	return m.order
}

// Receive implements net.Node, and passes a packet to its subflow.
func (m *Multi) Receive(p *net.Packet) {
	for _, c := range m.subflows {
		if c.local == p.Dst && c.remote == p.Src {
			c.Receive(p)
			return
		}
	}
}

// available returns the payload size of the next segment on c, or 0 if there is none.
func (m *Multi) available(c *Conn) int {
	most := int64(c.cfg.MSS)
	if m.reinjects(c) {
		return int(min(most, m.again.v[0].to-m.again.v[0].from))
	}
	n := min(most, m.written-m.taken)
	if m.taken+n-m.una > m.window {
		m.blocked = true
		return 0
	}
	return int(n)
}

// reinjects reports whether c should send data that are stalled on another subflow.
func (m *Multi) reinjects(c *Conn) bool { return c.phase != loss && len(m.again.v) > 0 }

// take assigns n bytes of data to c, and returns the offset of these bytes. The number n must be
// a result of the method available().
func (m *Multi) take(c *Conn, n int) int64 {
	if m.reinjects(c) {
		m.Reinjected++
		return m.again.shift(int64(n)).from
	}
	at := m.taken
	m.taken += int64(n)
	return at
}

// stalled marks c's data in flight for retransmission on other subflows.
func (m *Multi) stalled(c *Conn) {
	b := &c.board
	for i := b.base; i < b.next; i++ {
		if r := b.at(i); !r.sacked {
			m.again.add(max(r.dsn, m.una), r.dsn+int64(r.size))
		}
	}
}

// acked handles a data acknowledgement.
func (m *Multi) acked(dack int64) {
	if dack > m.una {
		m.una = dack
		m.again.drop(dack)
	}
}

// arrived adds received data to the byte stream.
func (m *Multi) arrived(dsn, n int64) {
	s := &m.in
	switch {
	case dsn+n <= s.next:
	case dsn > s.next:
		s.early.add(dsn, dsn+n)
	default:
		s.early.add(s.next, dsn+n)
		s.next = s.early.v[0].to
		s.early.drop(s.next)
	}
}

// tell resumes subflows that waited for stream data, and calls the callbacks.
func (m *Multi) tell() {
	if m.una > m.toldAcked {
		if m.toldAcked == 0 && m.late {
			m.join()
		}
		m.toldAcked = m.una
		if m.blocked {
			m.blocked = false
			m.pump(m.subflows[0])
		}
		if m.Acked != nil {
			m.Acked(m.una)
		}
	}
	if m.in.next > m.toldNext {
		m.toldNext = m.in.next
		if m.Received != nil {
			m.Received(m.in.next)
		}
	}
}
