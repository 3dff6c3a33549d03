package lab

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

const (
	// timerTick is the granularity of timers. A packet at 400 Gbit/s takes 80 ns.
	timerTick = 10 * time.Nanosecond
	// zeroBytes is the largest message.
	zeroBytes = srd.MaxPacket
)

// zeros is the payload of all messages.
var zeros [zeroBytes]byte

// srdEnd is one end of a connection, with the flows that begin there.
type srdEnd struct {
	conn    *coreConn
	control *coreControl
	app     endApp
	host    *srdHost
	remote  *srdHost
	peer    *srdEnd

	flows []*srdFlow
	ring  []*srdFlow // flows with something to send, in turns
	turn  int

	train *srd.Train
	more  []*net.Packet // of a train, behind the first
	fire  func()
	wake  mono.Time // earliest timer that is set; Never: none
	due   mono.Time // when service is due

	// These fields are used on hosts that are processes:
	called  bool // the connection has been asked for
	touched bool // it is to be served
	trains  int  // sent in this round
}

// endApp is the application of an end: flows of messages without a tunnel, or a tunnel.
type endApp interface {
	srd.Source
	deliver(now mono.Time, m *srd.Message)
	advance(now mono.Time)
	deadline() mono.Time
	// restarted reports that the peer is a new process, ended that this process ends.
	restarted(now mono.Time)
	ended(now mono.Time)
}

// srdFlow is one flow of a connection.
type srdFlow struct {
	flow *Flow
	end  *srdEnd
	left int64 // bytes not handed to the transport
}

func newSRDEnd(h, remote *srdHost) (*srdEnd, error) {
	cfg, err := h.config(remote)
	if err != nil {
		return nil, err
	}
	e := &srdEnd{host: h, remote: remote, train: &srd.Train{}, wake: mono.Never, conn: newConn(cfg), control: cfg.Control.(*coreControl)}
	e.app, e.fire = e, e.onTimer
	h.ends = append(h.ends, e)
	h.end.Add(e.conn)
	return e, nil
}

// tuples returns all tuples to the peer: every pair of addresses, with each port of this end and
// the peer's first port. As in the daemon, the ports are outermost.
func (e *srdEnd) tuples() (v []srd.Tuple) {
	for n := range e.host.srd.cfg.Ports {
		for _, to := range e.remote.Addrs() {
			for _, from := range e.host.Addrs() {
				if len(v) < steer.MaxPaths {
					v = append(v, srd.Tuple{Sock: uint16(n), Local: srd.UplinkOf(from, 0), Remote: netip.AddrPortFrom(to, e.remote.base)})
				}
			}
		}
	}
	return v
}

// settled reports whether every path has its full packet size.
func (e *srdEnd) settled() bool {
	paths := e.conn.Paths()
	for _, p := range paths {
		if p.State != srd.PathActive || p.MTU < e.host.srd.cfg.MTU-srdHeaders {
			return false
		}
	}
	return len(paths) >= len(e.tuples())
}

// turnOf returns the flow whose turn is next, or nil if there is none.
func (e *srdEnd) turnOf() *srdFlow {
	if len(e.ring) == 0 {
		return nil
	}
	if e.turn >= len(e.ring) {
		e.turn = 0
	}
	return e.ring[e.turn]
}

// hash replaces a hash of the inner five-tuple: it is Knuth's multiplicative hash (The Art
// of Computer Programming, volume 3, section 6.4).
func (f *srdFlow) hash() uint32 { return uint32(f.flow.ID+1) * 2654435761 }

// Waiting implements srd.Source: programs that use the transport directly do not report
// whether they have data.
func (e *srdEnd) Waiting() int { return 0 }

// Peek implements srd.Source.
func (e *srdEnd) Peek(mono.Time) (flow uint32, bytes int, ok bool) {
	f := e.turnOf()
	if f == nil {
		return 0, 0, false
	}
	return f.hash(), int(min(f.left, zeroBytes)), true
}

// Pull implements srd.Source: flows take turns, message by message.
func (e *srdEnd) Pull(_ mono.Time, most int) (m srd.Message, ok bool) {
	f := e.turnOf()
	if f == nil {
		return m, false
	}
	n := int(min(f.left, int64(most)))
	m.Data, m.Flow = zeros[:n], f.hash()
	binary.BigEndian.PutUint32(m.Imm[:], uint32(f.flow.ID))
	binary.BigEndian.PutUint32(m.Imm[4:], uint32(n))
	if f.left -= int64(n); f.left > 0 {
		e.turn++
	} else {
		e.ring = append(e.ring[:e.turn], e.ring[e.turn+1:]...)
	}
	return m, true
}

// Backlog implements srd.Source.
func (e *srdEnd) Backlog() bool { return len(e.ring) > 0 }

// drain passes received messages to their flows.
func (e *srdEnd) drain() {
	now := e.host.engine.Now()
	if e.conn.Restarted() {
		e.app.restarted(now)
	}
	for {
		m, ok := e.conn.Recv()
		if !ok {
			return
		}
		e.app.deliver(now, &m)
	}
}

// deliver implements endApp.
func (e *srdEnd) deliver(_ mono.Time, m *srd.Message) {
	f := e.peer.flow(int(binary.BigEndian.Uint32(m.Imm[:])))
	if m.Expired {
		// The application sends these bytes again.
		f.again(int64(binary.BigEndian.Uint32(m.Imm[4:])))
		return
	}
	f.flow.Deliver(len(m.Data))
}

// advance and deadline implement endApp: flows have no timers.
func (e *srdEnd) advance(mono.Time)   {}
func (e *srdEnd) deadline() mono.Time { return mono.Never }

// restarted and ended implement endApp: messages of an ended connection are not sent again,
// so plans restart tunnels only.
func (e *srdEnd) restarted(mono.Time) {}
func (e *srdEnd) ended(mono.Time)     {}

func (e *srdEnd) flow(id int) *srdFlow {
	for _, f := range e.flows {
		if f.flow.ID == id {
			return f
		}
	}
	panic("lab: message of no flow")
}

// again gives n bytes back to the flow, to be sent again. The transport had given up their
// messages.
func (f *srdFlow) again(n int64) {
	if f.left == 0 {
		f.end.ring = append(f.end.ring, f)
	}
	f.left += n
	f.end.service()
}

// service lets the connection do all the work that is due, and sets its timer. On a process,
// it schedules that work.
func (e *srdEnd) service() {
	if p := e.host.process; p != nil {
		if !e.called {
			e.call()
		}
		p.offer(e)
		return
	}
	now := e.host.engine.Now()
	e.conn.Advance(now)
	e.app.advance(now)
	for e.next(now) {
	}
	e.arm(now)
}

// arm sets the timer.
func (e *srdEnd) arm(now mono.Time) {
	at, _ := e.conn.Deadline()
	at = at.Min(e.app.deadline())
	if e.app.Backlog() {
		at = at.Min(e.conn.SendDeadline(now, e.app))
	}
	e.due = max(at, now.Add(timerTick))
	if e.due < e.wake {
		e.wake = e.due
		e.host.engine.At(e.wake, e.fire)
	}
}

// onTimer runs at each time that was once set.
func (e *srdEnd) onTimer() {
	now := e.host.engine.Now()
	if now < e.wake {
		return // an earlier timer was set meanwhile, and has fired
	}
	e.wake = mono.Never
	if now >= e.due {
		if p := e.host.process; p != nil {
			p.expire(e)
			return
		}
		e.service()
		return
	}
	if e.due != mono.Never {
		e.wake = e.due
		e.host.engine.At(e.wake, e.fire)
	}
}

// next sends one train, a burst of packets. It builds the train in the buffer of a packet. A
// train of one packet stays in it.
func (e *srdEnd) next(now mono.Time) bool {
	h, t := e.host, e.train
	p := h.engine.NewPacket()
	t.Buf = p.Data[:0]
	if !e.conn.Next(now, t, e.app) {
		h.engine.Free(p)
		return false
	}
	from := e.host.source(t.Tuple)
	first := min(t.Size, len(t.Buf))
	e.more = e.more[:0]
	for b := t.Buf[first:]; len(b) > 0; {
		n := min(t.Size, len(b))
		q := h.engine.NewPacket()
		q.Data = append(q.Data, b[:n]...)
		e.more = append(e.more, q)
		b = b[n:]
	}
	p.Data = t.Buf[:first]
	p.Datagram(from, t.Tuple.Remote)
	h.Send(p)
	for _, q := range e.more {
		q.Datagram(from, t.Tuple.Remote)
		h.Send(q)
	}
	return true
}

var _ net.Node = (*srdHost)(nil)
