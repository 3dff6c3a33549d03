package host

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// ProcessDrop is a reason for which a program dropped a packet before it reached a connection.
type ProcessDrop uint8

// These constants are the reasons for drops by the program itself, in addition to the drop reasons
// of srd.Endpoint.
const (
	NoIndex  ProcessDrop = iota // receiver index not in use, or without keys yet
	NotFresh                    // Conn.Fresh returned false
	Forged                      // could not be decrypted
	NotOurs                     // packet to a port without a socket
	NumProcessDrops
)

// Process is the program on a host, and acts as srd/loop does in the daemon.
type Process struct {
	Peers []*Peer
	Drops [NumProcessDrops]uint64

	host  *Host
	gen   uint16
	end   *srd.Endpoint
	index map[uint32]*entry
	where srd.AddressSet // addresses of the peers
	train *srd.Train
	buf   []byte // the packet being read, in a reused buffer as in the driver

	labour labour
}

// entry belongs to a receiver index, which is first reserved for a connection and later has keys.
type entry struct {
	conn *srd.Conn
	keys *srd.RecvKeys
}

func newProcess(h *Host, gen uint16) *Process {
	p := &Process{host: h, gen: gen, index: map[uint32]*entry{}, train: srd.NewTrain()}
	p.end = srd.NewEndpoint(h.id, net.Bytes(h.rng))
	p.end.Prefer(p.where.Has)
	incarnation := h.rng.Uint64()
	for _, r := range h.remotes {
		peer := newPeer(p, r, incarnation)
		p.Peers = append(p.Peers, peer)
		p.end.Add(peer.Conn)
	}
	return p
}

// connect configures the connections with the addresses of their peers, and initiates handshakes
// where addresses are configured.
func (p *Process) connect() {
	now := p.host.Clock()
	for _, peer := range p.Peers {
		if len(peer.tuples) > 0 {
			peer.Conn.SetTuples(now, peer.tuples)
			peer.Conn.Connect(now)
		}
	}
}

// close ends the sessions with all peers.
func (p *Process) close() {
	for _, peer := range p.Peers {
		if peer.Conn.Close(p.host.Clock(), p.train) {
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

// Indexes returns the number of receiver indices in use.
func (p *Process) Indexes() int { return len(p.index) }

// handle processes one datagram from a socket.
func (p *Process) handle(pkt *net.Packet) {
	sock := pkt.Dst.Port() - FirstPort
	p.host.trust.receive(p.host.engine.Now(), pkt)
	if int(sock) >= p.host.Ports {
		p.Drops[NotOurs]++
		return
	}
	t := srd.Tuple{Sock: sock, Local: srd.UplinkOf(pkt.Dst.Addr(), 0), Remote: pkt.Src}
	b := append(p.buf[:0], pkt.Data...)
	p.buf = b[:0]
	if index, ok := srd.DataIndex(b); ok {
		p.data(t, index, b, pkt)
	} else {
		p.handshake(t, b, pkt.Forged)
	}
}

func (p *Process) data(t srd.Tuple, index uint32, b []byte, from *net.Packet) {
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
	if pkt.Tuple = t; from.CE {
		pkt.ECN = srd.CE
	}
	peer := p.peer(e.conn)
	p.host.trust.of(peer.remote, t.Remote.Addr()).came += pkt.Size
	s := e.conn.Stats()
	dropped := s.Drops[srd.DropReplay] + s.Drops[srd.DropSessionOld] + s.Drops[srd.DropSlot]
	lies := s.Drops[srd.DropAckInvalid]
	e.conn.Handle(p.host.Clock(), &pkt)
	if s.Drops[srd.DropReplay]+s.Drops[srd.DropSessionOld]+s.Drops[srd.DropSlot] == dropped {
		p.host.Audit.Taken(p.host.Index, index, pkt.Slot, pkt.PN)
		if s.Drops[srd.DropAckInvalid] == lies {
			p.host.Audit.Believed(p.host.Index, peer.remote.Index, from.Trap)
		}
	}
	peer.drain()
	clear(b) // the buffer will be reused: no slice into it may be used any more
}

func (p *Process) handshake(t srd.Tuple, b []byte, forged bool) {
	now := p.host.Clock()
	a, reply := p.end.Receive(now, t, b, func(i uint32) *srd.Conn {
		if e := p.index[i]; e != nil {
			return e.conn
		}
		return nil
	})
	if a.Conn != nil {
		peer := p.peer(a.Conn)
		p.host.trust.of(peer.remote, t.Remote.Addr()).came += len(b)
		before := peer.unmoved(now)
		if a.Deliver(now) {
			reply = p.end.Stale(now, &a)
		}
		if after := peer.unmoved(now); forged && after != before {
			p.host.Audit.Fail("a packet that nobody of host %d's peers has made changes %+v to %+v", p.host.Index, before, after)
		}
		peer.drain()
	}
	if reply != nil {
		p.host.transmit(nil, t.Sock, t.Local.Addr(), t.Remote, reply)
	}
	if forged {
		p.labours(now)
	}
}

// labour counts forged handshake packets within one second.
type labour struct {
	since       mono.Time
	inits, rest uint64 // failed initiations and responses when the second began
}

// These constants bound the forged packets per second that cost Diffie-Hellman operations, of 0.35
// ms each. All forged packets together may use a quarter of a core, and responses to one attempt
// far less.
const (
	initsMost     = 500
	responsesMost = 300
)

// labours checks that forged handshake packets use no more than their share of the processor.
func (p *Process) labours(now mono.Time) {
	inits, rest := p.end.Drops[srd.EndBadInit], uint64(0)
	for _, q := range p.Peers {
		rest += q.Conn.Stats().Drops[srd.DropHandshakeBad]
	}
	if l := &p.labour; now.Sub(l.since) >= time.Second {
		*l = labour{now, inits, rest}
	} else if inits-l.inits > initsMost || rest-l.rest > responsesMost {
		p.host.Audit.Fail("host %d opens %d forged initiations and %d responses in %v", p.host.Index, inits-l.inits, rest-l.rest, now.Sub(l.since))
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

// service makes every connection do its due work, and returns the time of the program's next
// wake-up.
func (p *Process) service() mono.Time {
	at := mono.Never
	for _, peer := range p.Peers {
		at = at.Min(peer.service())
	}
	return at
}

// wall returns the time of day according to the host's clock.
func (h *Host) wall(now mono.Time) handshake.Timestamp {
	return handshake.TimestampOf(time.Unix(1e9, 0).Add(now.Sub(0) - h.Offset + h.Skew))
}

// tuplesTo returns all tuples from a host's sockets to a peer's addresses. Each local address is
// paired with the remote address on the same rail.
func (h *Host) tuplesTo(remote []netip.AddrPort) []srd.Tuple {
	var v []srd.Tuple
	for sock := range h.Ports {
		for i, r := range remote {
			t := srd.Tuple{Sock: uint16(sock), Remote: r}
			if !h.AnyLocal {
				t.Local = srd.UplinkOf(h.Addrs[i%len(h.Addrs)], 0)
			}
			v = append(v, t)
		}
	}
	return v
}
