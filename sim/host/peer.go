package host

import (
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/internal/inspect"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// trainsPerTurn exceeds the number of trains of any loop iteration: a full outbox, a full queue
	// of acknowledgements, all replies and probes. More trains than trainsPerTurn indicate an
	// endless loop.
	trainsPerTurn = 2 * srd.OutboxLimit
	// closeLookEvery is the number of loop iterations between two checks of a connection's complete
	// state, which are slow.
	closeLookEvery = 48
	// pathClasses is the number of path classes, for policies that use them.
	pathClasses = 3
)

// Peer is one connection of a program, together with its application.
type Peer struct {
	Conn *srd.Conn
	App  App

	Received int // number of messages and tombstones received
	Restarts int // number of detected new incarnations of the peer

	process *Process
	remote  *Host
	lies    bool // the peer is no honest host
	tuples  []srd.Tuple
	back    []pair    // addresses of tuples for handshakes with a peer without configured addresses
	recalls mono.Time // when `back` may change
	turns   int
	asked   promise // set by service()
	calls   calls
}

// calls counts the initiations of a connection in one second, as long as no handshake completes.
type calls struct {
	since mono.Time
	met   uint64 // completed handshakes before
	index uint32 // index of the newest initiation
	n     int
}

// callsMost bounds the number of initiations in one second. The regular interval between handshake
// attempts is 250 ms, then 500 ms and so on. A cookie may cause one additional handshake attempt
// for each regular one.
const callsMost = 2 * 4

func newPeer(p *Process, r Remote, incarnation uint64) *Peer {
	h := p.host
	peer := &Peer{process: p, remote: r.Host, lies: r.Lies}
	peer.tuples = h.tuplesTo(r.Addrs)
	switch {
	case r.App != nil:
		peer.App = r.App(h, p.gen)
	case h.Tunnel:
		peer.App = newTunnel(h, r.Host.Index, p.gen, h.engine.Fork())
	default:
		s := h.Audit.NewStream(h.Index, r.Host.Index, p.gen, h.engine.Fork())
		s.tells = h.Tells
		peer.App = Bare{s}
	}
	peer.Conn = srd.New(srd.Config{
		Identity: h.id, Remote: r.Host.id.Public(), PSK: r.PSK, Offers: h.Offers,
		Incarnation: incarnation, Rand: net.Bytes(h.rng), Indexes: p, Addresses: &p.where,
		Timestamp: func(now mono.Time) handshake.Timestamp { return h.wall(now) },
		MTU:       func(srd.Tuple) int { return h.MTU },
		Class:     func(t srd.Tuple) int { return int(t.Sock) % pathClasses },
		Policy:    h.policy(h.rng.Uint64()), Control: h.control(), Keepalive: h.Keepalive,
		KeyLife: h.KeyLife, KeyPackets: h.KeyPackets,
	})
	return peer
}

// recallEvery is the interval at which a host updates the addresses of a peer without
// configured addresses.
const recallEvery = 10 * time.Second

// pair holds the two addresses of a path, without the local port.
type pair struct {
	local  netip.Addr
	remote netip.AddrPort
}

// recall sets the tuples of a connection without configured addresses, from the addresses of its
// measured paths. As in the daemon, there is one tuple for each of the host's ports.
func (p *Peer) recall(now mono.Time) {
	if len(p.tuples) > 0 || p.lies || now < p.recalls {
		return
	}
	var pairs []pair
	for _, v := range p.Conn.Paths() {
		if at := (pair{v.Tuple.Local.Addr(), v.Tuple.Remote}); v.RTT != 0 && !slices.Contains(pairs, at) {
			pairs = append(pairs, at)
		}
	}
	if len(pairs) == 0 || !slices.ContainsFunc(pairs, func(v pair) bool { return !slices.Contains(p.back, v) }) {
		return
	}
	p.recalls, p.back = now.Add(recallEvery), pairs
	h := p.process.host
	var back []srd.Tuple
	for i := range max(h.Ports, len(pairs)) {
		v := pairs[i%len(pairs)]
		back = append(back, srd.Tuple{Sock: uint16(i % h.Ports), Local: srd.UplinkOf(v.local, 0), Remote: v.remote})
	}
	p.Conn.SetTuples(now, nil, back...)
}

// Host returns the host at this end.
func (p *Peer) Host() *Host { return p.process.host }

// Remote returns the host at the other end.
func (p *Peer) Remote() *Host { return p.remote }

// Lies reports whether the other end is not an honest host.
func (p *Peer) Lies() bool { return p.lies }

// Drops returns how many packets the program has dropped before they reached a connection.
func (p *Peer) Drops() *[NumProcessDrops]uint64 { return &p.process.Drops }

// drain delivers all received messages to the application.
func (p *Peer) drain() {
	now := p.process.host.Clock()
	if p.Conn.Restarted() {
		p.Restarts++
		p.App.Restarted(now)
		p.process.host.engine.Note(p.process.host.noun, "sees a restart of", uint64(p.remote.Index), 0, 0)
	}
	for {
		m, ok := p.Conn.Recv()
		if !ok {
			return
		}
		p.Received++
		p.App.Deliver(now, &m)
	}
}

// service makes the connection do all due work, and returns the time of its next wake-up.
func (p *Peer) service() mono.Time {
	h := p.process.host
	now := h.Clock()
	p.recall(now)
	p.Conn.Advance(now)
	p.App.Advance(now, p.Conn)
	if p.App.Pending() {
		p.Conn.Connect(now)
	}
	for n := 0; p.next(now); n++ {
		if n == trainsPerTurn {
			h.Audit.Fail("host %d sends %d trains in one turn", h.Index, n)
			break
		}
	}
	p.look()
	at, why := p.Conn.Deadline()
	if t := p.App.Deadline(); t < at {
		at, why = t, "application"
	}
	if at < now {
		h.Audit.Fail("host %d wants to be woken %v ago: %s", h.Index, now.Sub(at), why)
	}
	if p.App.Pending() {
		if t := p.Conn.SendDeadline(now, p.App); t < at {
			at, why = t, "pacing"
		}
	}
	p.asked = promise{at, why, p.App.Pending(), p.Conn.SendDeadline(now, p.App) != mono.Never}
	return at
}

// next sends one train and checks it.
func (p *Peer) next(now mono.Time) bool {
	h, t := p.process.host, p.process.train
	s := p.Conn.Stats()
	sent, repaired, probes := s.Sent, s.Retransmitted, inspect.TailProbes(p.Conn)
	window, before, _ := p.Conn.Window()
	if !p.Conn.Next(now, t, p.App) {
		return false
	}
	_, after, _ := p.Conn.Window()
	if s.Sent > sent && before >= window {
		h.Audit.Fail("host %d sends new data with %d of %d bytes in flight", h.Index, before, window)
	}
	if s.Sent > sent && after > window+len(t.Buf) {
		h.Audit.Fail("host %d has %d bytes in flight, window %d, train %d", h.Index, after, window, len(t.Buf))
	}
	if s.Retransmitted > repaired && before >= window && probes == 0 {
		h.Audit.Fail("host %d repairs with %d of %d bytes in flight, and not to probe the tail", h.Index, before, window)
	}
	p.transmit(t)
	return true
}

// transmit encrypts a train and sends it packet by packet.
func (p *Peer) transmit(t *srd.Train) {
	h := p.process.host
	t.Seal()
	for b := t.Buf; len(b) > 0; {
		n := min(t.Size, len(b))
		h.Audit.Sealed(h.Index, p.remote.Index, b[:n], &h.Config)
		p.called(b[:n])
		if n <= h.MTU {
			h.transmit(p.remote, t.Tuple.Sock, t.Tuple.Local.Addr(), t.Tuple.Remote, b[:n])
		}
		b = b[n:]
	}
}

// called checks that a host does not send initiations to a peer too often. Cookies may cause at
// most one additional attempt for each regular attempt.
func (p *Peer) called(b []byte) {
	index, ok := handshake.SenderIndex(b)
	if !ok || handshake.Kind(b) != handshake.TypeInitiation {
		return
	}
	h, c := p.process.host, &p.calls
	now, met := h.Clock(), p.Conn.Stats().Handshakes
	if met != c.met || now.Sub(c.since) >= time.Second {
		*c = calls{since: now, met: met}
	}
	if index == c.index {
		return // a copy on another path
	}
	c.index = index
	if c.n++; c.n > callsMost {
		h.Audit.Fail("host %d calls host %d %d times in %v", h.Index, p.remote.Index, c.n, now.Sub(c.since))
	}
}

// Down returns the failed paths to valid addresses of the peer.
func (p *Peer) Down() []srd.PathInfo {
	return slices.DeleteFunc(p.Conn.Paths(), func(i srd.PathInfo) bool {
		port := int(i.Tuple.Remote.Port()) - FirstPort
		return i.State != srd.PathDown || port < 0 || port >= p.remote.Ports || !slices.Contains(p.remote.Addrs, i.Tuple.Remote.Addr())
	})
}

// look checks the connection's invariants after each loop iteration.
func (p *Peer) look() {
	h, s := p.process.host, p.Conn.Stats()
	p.App.Look(p.Conn)
	void := s.Drops[srd.DropIncarnation] + s.Drops[srd.DropSessionOld]
	switch {
	case s.Received != uint64(p.Received):
		h.Audit.Fail("host %d counts %d messages received, %d were", h.Index, s.Received, p.Received)
	case s.Acked > s.Sent: // messages that were taken over count as sent
		h.Audit.Fail("host %d counts %d of %d messages acknowledged", h.Index, s.Acked, s.Sent)
	case s.Sent > s.Acked+void+srd.OutboxLimit:
		h.Audit.Fail("host %d has %d messages in its outbox", h.Index, s.Sent-s.Acked)
	}
	if err := inspect.Within(p.Conn); err != nil {
		h.Audit.Fail("host %d to %d: %w", h.Index, p.remote.Index, err)
	}
	if p.turns++; p.turns%closeLookEvery == 0 {
		p.lookClosely()
	}
}

// lookClosely checks the consistency of the connection's counters.
func (p *Peer) lookClosely() {
	h := p.process.host
	if err := inspect.Sound(p.Conn); err != nil {
		h.Audit.Fail("host %d to %d: %w", h.Index, p.remote.Index, err)
	}
	if i, some := p.mistrusted(); some {
		h.Audit.Fail("host %d uses a path to where host %d has not proven to be: %+v", h.Index, p.remote.Index, i)
	}
	if n := p.process.Indexes(); n > indexesEach*len(p.process.Peers) {
		h.Audit.Fail("host %d uses %d receiver indices for %d peers", h.Index, n, len(p.process.Peers))
	}
}

// indexesEach is the number of receiver indices that a connection may use. A connection uses two
// indices for its current and former keys, two for unconfirmed handshakes as responder, and two for
// open attempts.
const indexesEach = 6

// Settled reports whether the connection has nothing to send and nothing in flight.
func (p *Peer) Settled() bool {
	_, inflight, _ := p.Conn.Window()
	return !p.App.Pending() && !p.Conn.Backlog() && inflight == 0
}
