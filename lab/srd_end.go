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
	// timerTick is the granularity of simulated timers. For comparison, a packet of 4,000 bytes
	// takes 80 ns at 400 Gbit/s.
	timerTick = 10 * time.Nanosecond
	// zeroBytes is the size in bytes of the largest message.
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
	ring  []*srdFlow // flows with data to send, in the order of their turns
	turn  int

	fire func()
	wake mono.Time // time of the earliest timer that is set; Never: none
	due  mono.Time // time at which service() must be called

	// The fields called and touched are used only on hosts that model a process.
	called  bool // an application has requested the connection
	touched bool // it is in the process's list touched
	trains  int  // number of trains sent in this round
}

// endApp is the application at one end of a connection: either flows of messages, or a tunnel.
type endApp interface {
	srd.Source
	deliver(now mono.Time, m *srd.Message)
	advance(now mono.Time)
	deadline() mono.Time
	// restarted is called when the peer has become a new process. ended is called when this process
	// ends.
	restarted(now mono.Time)
	ended(now mono.Time)
}

// srdFlow is the sending state of one flow of a connection.
type srdFlow struct {
	flow *Flow
	end  *srdEnd
	left int64 // number of bytes not yet passed to the transport
}

func newSRDEnd(h, remote *srdHost) (*srdEnd, error) {
	cfg, err := h.config(remote)
	if err != nil {
		return nil, err
	}
	e := &srdEnd{host: h, remote: remote, wake: mono.Never, conn: newConn(cfg), control: cfg.Control.(*coreControl)}
	e.app, e.fire = e, e.onTimer
	h.ends = append(h.ends, e)
	h.end.Add(e.conn)
	return e, nil
}

// tuples returns the 4-tuples of all paths to the peer. They combine every pair of addresses with
// each local port and the peer's first port. As in the daemon, they are ordered by port first.
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

// turnOf returns the next flow to send from, or nil if there is none.
func (e *srdEnd) turnOf() *srdFlow {
	if len(e.ring) == 0 {
		return nil
	}
	if e.turn >= len(e.ring) {
		e.turn = 0
	}
	return e.ring[e.turn]
}

// hash represents the hash of the inner five-tuple. It is Knuth's multiplicative hash of the flow's
// number (The Art of Computer Programming, volume 3, section 6.4).
func (f *srdFlow) hash() uint32 { return uint32(f.flow.ID+1) * 2654435761 }

// Waiting implements srd.Source. It always returns 0, because programs that use the transport
// directly do not report waiting data.
func (e *srdEnd) Waiting() int { return 0 }

// Peek implements srd.Source.
func (e *srdEnd) Peek(mono.Time) (flow uint32, bytes int, ok bool) {
	f := e.turnOf()
	if f == nil {
		return 0, 0, false
	}
	return f.hash(), int(min(f.left, zeroBytes)), true
}

// Pull implements srd.Source. Flows send in turn, one message each.
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

// drain passes received messages to the application.
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
		// The application sends the bytes of this given-up message again.
		f.again(int64(binary.BigEndian.Uint32(m.Imm[4:])))
		return
	}
	f.flow.Deliver(len(m.Data))
}

// advance and deadline implement endApp. Flows of messages have no timers.
func (e *srdEnd) advance(mono.Time)   {}
func (e *srdEnd) deadline() mono.Time { return mono.Never }

// restarted and ended implement endApp. Messages of an ended connection are not sent again, so
// plans may restart tunnels only.
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

// again returns n bytes to the flow, which sends them once more, because the transport has given up
// the messages with these bytes.
func (f *srdFlow) again(n int64) {
	if f.left == 0 {
		f.end.ring = append(f.end.ring, f)
	}
	f.left += n
	f.end.service()
}

// service lets the connection do all work that is due, and sets its timer. On a host that models a
// process, service only schedules the work.
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

// arm sets the timer to the connection's next deadline.
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

// onTimer runs at each time for which a timer was set, even if the deadline has changed since then.
func (e *srdEnd) onTimer() {
	now := e.host.engine.Now()
	if now < e.wake {
		return // an earlier timer was set in the meantime, and has already fired
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

// next builds one train in the transport's only buffer, and sends it.
func (e *srdEnd) next(now mono.Time) bool {
	h, t := e.host, &e.host.srd.train
	t.Buf = t.Buf[:0]
	if !e.conn.Next(now, t, e.app) {
		return false
	}
	from := h.source(t.Tuple)
	for b := t.Buf; len(b) > 0; {
		n := min(t.Size, len(b))
		h.emit(b[:n], from, t.Tuple.Remote)
		b = b[n:]
	}
	return true
}

// emit sends one datagram.
func (h *srdHost) emit(b []byte, from, to netip.AddrPort) {
	p := h.engine.NewPacket()
	p.Fill(b)
	p.Datagram(from, to)
	h.Send(p)
}

var _ net.Node = (*srdHost)(nil)
