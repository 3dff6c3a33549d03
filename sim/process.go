package sim

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// ProcessDrop names why a program dropped a packet before any connection saw it.
type ProcessDrop uint8

// The reasons; what srd.Endpoint drops it counts itself.
const (
	NoIndex  ProcessDrop = iota // receiver index not in use, or without keys yet
	NotFresh                    // Conn.Fresh said no
	Forged                      // did not open
	NotOurs                     // port without a socket
	NumProcessDrops
)

// Process is the program on a host: what srd/loop is in a real one.
type Process struct {
	Peers []*Peer
	Drops [NumProcessDrops]uint64

	host  *Host
	gen   uint16
	end   *srd.Endpoint
	index map[uint32]*entry
	train *srd.Train
	buf   []byte // the packet being read, as a socket's buffer is used again
}

// entry is a receiver index: reserved for a connection, later with keys.
type entry struct {
	conn *srd.Conn
	keys *srd.RecvKeys
}

func newProcess(h *Host, gen uint16) *Process {
	p := &Process{host: h, gen: gen, index: map[uint32]*entry{}, train: srd.NewTrain()}
	p.end = srd.NewEndpoint(h.id, reader{h.rng})
	incarnation := h.rng.Uint64()
	for _, r := range h.remotes {
		peer := newPeer(p, r, incarnation)
		p.Peers = append(p.Peers, peer)
		p.end.Add(peer.Conn)
	}
	return p
}

// connect tells the connections where their peers are and begins handshakes
// with those that may be called.
func (p *Process) connect() {
	now := p.host.clock()
	for _, peer := range p.Peers {
		if len(peer.tuples) > 0 {
			peer.Conn.SetTuples(now, peer.tuples)
			peer.Conn.Connect(now)
		}
	}
}

// close says goodbye to all peers.
func (p *Process) close() {
	for _, peer := range p.Peers {
		if peer.Conn.Close(p.host.clock(), p.train) {
			peer.transmit(p.train)
		}
	}
}

// Reserve implements srd.Indexes.
func (p *Process) Reserve(c *srd.Conn) uint32 {
	for {
		i := p.host.rng.Uint32()
		if p.index[i] == nil {
			p.index[i] = &entry{conn: c}
			return i
		}
	}
}

// Publish implements srd.Indexes.
func (p *Process) Publish(i uint32, k *srd.RecvKeys) {
	if p.index[i] == nil {
		p.host.Audit.Fail("host %d publishes index %08x, which is not reserved", p.host.Index, i)
		return
	}
	p.index[i].keys = k
}

// Release implements srd.Indexes.
func (p *Process) Release(i uint32) {
	if p.index[i] == nil {
		p.host.Audit.Fail("host %d releases index %08x, which is not reserved", p.host.Index, i)
	}
	delete(p.index, i)
}

// Indexes returns how many receiver indices are in use.
func (p *Process) Indexes() int { return len(p.index) }

// handle takes one datagram from a socket.
func (p *Process) handle(pkt *Packet) {
	sock := pkt.Dst.Port() - FirstPort
	if int(sock) >= p.host.Ports {
		p.Drops[NotOurs]++
		return
	}
	t := srd.Tuple{Sock: sock, Local: pkt.Dst.Addr(), Remote: pkt.Src}
	b := append(p.buf[:0], pkt.Data...)
	p.buf = b[:0]
	if index, ok := srd.DataIndex(b); ok {
		p.data(t, index, b, pkt.CE)
	} else {
		p.handshake(t, b)
	}
}

func (p *Process) data(t srd.Tuple, index uint32, b []byte, ce bool) {
	e := p.index[index]
	if e == nil || e.keys == nil {
		p.Drops[NoIndex]++
		return
	}
	if !e.conn.Fresh(srd.DataNumber(b)) {
		p.Drops[NotFresh]++
		return
	}
	pkt, ok := e.keys.Open(b, new(srd.Nonce))
	if !ok {
		p.Drops[Forged]++
		return
	}
	pkt.Tuple, pkt.CE = t, ce
	peer := p.peer(e.conn)
	s := e.conn.Stats()
	dropped := s.Drops[srd.DropReplay] + s.Drops[srd.DropSessionOld] + s.Drops[srd.DropSlot]
	e.conn.Handle(p.host.clock(), &pkt)
	if s.Drops[srd.DropReplay]+s.Drops[srd.DropSessionOld]+s.Drops[srd.DropSlot] == dropped {
		p.host.Audit.Taken(p.host.Index, index, pkt.Slot, pkt.PN)
	}
	peer.drain()
	clear(b) // the buffer is used again: nothing may point into it any more
}

func (p *Process) handshake(t srd.Tuple, b []byte) {
	now := p.host.clock()
	a, reply := p.end.Receive(now, t, b, func(i uint32) *srd.Conn {
		if e := p.index[i]; e != nil {
			return e.conn
		}
		return nil
	})
	if a.Conn != nil {
		if a.Deliver(now) {
			reply = p.end.Stale(now, &a)
		}
		p.peer(a.Conn).drain()
	}
	if reply != nil {
		p.host.transmit(t.Sock, t.Local, t.Remote, reply)
	}
}

func (p *Process) peer(c *srd.Conn) *Peer {
	for _, peer := range p.Peers {
		if peer.Conn == c {
			return peer
		}
	}
	panic("sim: connection of no peer")
}

// service gives every connection its turn and returns when the next is due, and
// why.
func (p *Process) service() (mono.Time, string) {
	at, why := mono.Never, "nothing"
	for _, peer := range p.Peers {
		if t, w := peer.service(); t < at {
			at, why = t, w
		}
	}
	return at, why
}

// wall returns the host's idea of the time of day.
func (h *Host) wall(now mono.Time) handshake.Timestamp {
	return handshake.TimestampOf(time.Unix(1e9, 0).Add(now.Sub(0) - h.Offset + h.Skew))
}

// tuplesTo returns all ways from a host's sockets to a peer's addresses: each
// local address goes with the remote one of the same rail.
func (h *Host) tuplesTo(remote []netip.AddrPort) []srd.Tuple {
	var v []srd.Tuple
	for sock := range h.Ports {
		for i, r := range remote {
			t := srd.Tuple{Sock: uint16(sock), Remote: r}
			if !h.AnyLocal {
				t.Local = h.Addrs[i%len(h.Addrs)]
			}
			v = append(v, t)
		}
	}
	return v
}
