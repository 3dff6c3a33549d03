package lab

import (
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// SRDConfig is the configuration of the SRD transport.
type SRDConfig struct {
	Ports       int           // number of source ports of each host, and so of paths to each other host
	MTU         int           // bytes of the largest IP packet
	Granularity time.Duration // granularity of clock and scheduling (srd.Config)
	Policy      string        // name of a path policy in package steer; "" means spray
	// FlowletTimeout is the timeout of flowlet policies, or zero for the policy's default.
	FlowletTimeout time.Duration
	// LinkRate is the path rate given to policies, in bytes per second. Zero means unknown.
	LinkRate float64
	// If AtOnce is set, all connections open at the same time. Then the challenges of their paths
	// wait for each other.
	AtOnce bool
	// If Unordered is set, the order of inner flows is not restored.
	Unordered bool
	// Host is the host model. nil means Ideal.
	Host *HostModel
	// Watch, if set, wraps each connection's path policy.
	Watch func(steer.Policy) steer.Policy
}

// policy creates the path policy of a connection.
func (c *SRDConfig) policy(seed uint64) (steer.Policy, error) {
	name := c.Policy
	if name == "" {
		name = steer.Names()[0]
	}
	p, err := steer.New(name, steer.Options{Seed: seed, FlowletTimeout: c.FlowletTimeout, Granularity: c.Granularity, LinkRate: c.LinkRate})
	if err == nil && c.Watch != nil {
		p = c.Watch(p)
	}
	return p, err
}

// trainBytes bounds a train of an ideal host in bytes. A network card sends packet by packet, so
// its trains are short.
const trainBytes = mostMTU

// srdHeaders is the size of the IPv4 and UDP headers before a UDP payload.
const srdHeaders = 28

// SRD is this project's transport, with the unchanged state machines of package srd. Each pair of
// hosts has one connection, whose flows send in turn. The simulation of the transport omits two
// steps for speed. First, simulated packets are not encrypted, but have the same sizes as encrypted
// packets. Second, simulated application data consists of zeros.
type SRD struct {
	cfg   SRDConfig
	net   *Network
	rng   *rand.Rand
	hosts []*srdHost // nil: the host has no flows
	first Stats      // counters at time zero
	made  int        // number of connections
	train srd.Train  // the train that is being built, on ideal hosts
	plain []byte     // payload of the packet that is being handled
}

// NewSRD returns the SRD transport for a network. NewSRD returns an error if the path policy does
// not exist.
func NewSRD(n *Network, cfg SRDConfig) (*SRD, error) {
	t := &SRD{cfg: cfg, net: n, rng: n.Engine.Fork(), hosts: make([]*srdHost, n.machines())}
	t.train.Buf = make([]byte, 0, trainBytes)
	_, err := cfg.policy(0)
	return t, err
}

// srdHost is the transport on one host, and acts as srd/loop does in the daemon.
type srdHost struct {
	*Host
	srd   *SRD
	id    *handshake.Identity
	end   *coreEndpoint
	base  uint16 // UDP port of socket 0
	ends  []*srdEnd
	index map[uint32]*srdIndex
	next  uint32 // next receiver index
	// begun and ended are the times at which this host's last connections, as initiator and as
	// responder, have opened.
	begun, ended time.Duration

	process *process // nil: an ideal host
	done    Stats    // counters of connections of earlier programs
}

// srdIndex is the entry of a receiver index. It is first reserved for a connection, and later gets
// keys.
type srdIndex struct {
	end  *srdEnd
	keys *coreKeys
}

// random is an io.Reader that returns bytes of a seeded generator.
type random struct{ rng *rand.Rand }

func (r random) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.rng.Uint32())
	}
	return len(b), nil
}

func (t *SRD) host(i int) *srdHost {
	if t.hosts[i] != nil {
		return t.hosts[i]
	}
	h := &srdHost{Host: t.net.machine(i), srd: t, index: map[uint32]*srdIndex{}}
	var key [32]byte
	io.ReadFull(random{t.rng}, key[:])
	h.id, _ = handshake.NewIdentity(key)
	h.end = newEndpoint(h.id, random{t.rng})
	for n := range t.cfg.Ports {
		p := h.Port()
		if n == 0 {
			h.base = p.Port()
		}
		h.Bind(net.ProtoUDP, p.Port(), h)
	}
	if m := t.cfg.Host; m != nil && m.delays != nil {
		h.process = newProcess(h, m.delays)
	}
	t.hosts[i] = h
	return h
}

// cold reports whether connections are opened only when the first data is sent.
func (t *SRD) cold() bool { return t.cfg.Host != nil && t.cfg.Host.delays != nil }

// Open implements Transport.
func (t *SRD) Open(f *Flow) error {
	e, err := t.between(f.Src, f.Dst)
	if err != nil {
		return err
	}
	e.flows = append(e.flows, &srdFlow{flow: f, end: e})
	f.State = e.flows[len(e.flows)-1]
	return nil
}

// between returns the local end of the connection from one machine to another. If the connection
// does not exist, between creates it.
func (t *SRD) between(from, to int) (*srdEnd, error) {
	a, b := t.host(from), t.host(to)
	if e := a.find(b); e != nil {
		return e, nil
	}
	return t.connect(a, b)
}

func (h *srdHost) find(remote *srdHost) *srdEnd {
	for _, e := range h.ends {
		if e.remote == remote {
			return e
		}
	}
	return nil
}

// connect creates the connection between two hosts. Host a initiates the handshake.
func (t *SRD) connect(a, b *srdHost) (*srdEnd, error) {
	x, err := newSRDEnd(a, b)
	if err != nil {
		return nil, err
	}
	y, err := newSRDEnd(b, a)
	if err != nil {
		return nil, err
	}
	x.peer, y.peer = y, x
	if t.cold() {
		return x, nil
	}
	t.net.Engine.After(t.turn(a, b), x.call)
	t.made++
	return x, nil
}

// turn returns the time, before time zero, at which the connection from a to b opens. A host's
// connections open one after another, unless AtOnce is set. If all opened at the same time, the
// probes of their paths would fill queues and be lost, and handshake initiations would need
// cookies.
//
// The interval between connections also keeps their path challenges apart. If two connections
// opened in step, each challenge of one would meet a challenge of the other on a common link. The
// resulting queueing delay would count as part of the path's base RTT.
func (t *SRD) turn(a, b *srdHost) time.Duration {
	if t.cfg.AtOnce {
		return 0
	}
	at := max(time.Duration(t.made)*connectEvery, a.begun, b.ended)
	a.begun = at + time.Duration(t.cfg.Ports)*connectPath + connectRest
	b.ended = a.begun
	return at
}

const (
	// connectEvery is about twice the time that the probes of 32 paths take at 10 Gbit/s.
	connectEvery = 500 * time.Microsecond
	// connectPath is the interval between the first challenges of a connection's paths (openEvery
	// of package srd). In addition a connection has the time connectRest for its handshake and its
	// last size probes.
	connectPath = 300 * time.Microsecond
	connectRest = time.Millisecond
)

// call gives both ends the list of all paths, and then starts the handshake.
func (e *srdEnd) call() {
	e.called, e.peer.called = true, true
	now := e.host.engine.Now()
	e.conn.SetTuples(now, e.tuples())
	e.peer.conn.SetTuples(now, e.peer.tuples())
	e.conn.Connect(now)
	e.service()
}

// Settled implements Transport, and reports whether every path is in use with its full packet size.
func (t *SRD) Settled() bool { return t.settled((*srdEnd).settled) }

// settled reports whether the function is() returns true for all ends of connections. If
// connections are cold, settled always returns true.
func (t *SRD) settled(is func(*srdEnd) bool) bool {
	if t.cold() {
		return true
	}
	for _, h := range t.hosts {
		if h != nil && slices.ContainsFunc(h.ends, func(e *srdEnd) bool { return !is(e) }) {
			return false
		}
	}
	t.first = t.sum()
	return true
}

// Start implements Transport.
func (t *SRD) Start(f *Flow) {
	s := f.State.(*srdFlow)
	s.left = f.Left()
	s.end.ring = append(s.end.ring, s)
	s.end.service()
}

// Stats implements Transport.
func (t *SRD) Stats() Stats {
	s := t.sum()
	return Stats{
		Packets: s.Packets - t.first.Packets, Retransmitted: s.Retransmitted - t.first.Retransmitted,
		Spurious: s.Spurious - t.first.Spurious, LeastPacket: t.leastPacket(), Timeouts: s.Timeouts - t.first.Timeouts, Acks: s.Acks - t.first.Acks,
		Overflow: s.Overflow - t.first.Overflow, NoBuffer: s.NoBuffer - t.first.NoBuffer,
	}
}

// leastPacket returns the size in bytes of the smallest full packet on any active path.
func (t *SRD) leastPacket() (least int) {
	for _, h := range t.hosts {
		if h == nil {
			continue
		}
		for _, e := range h.ends {
			for _, p := range e.conn.Paths() {
				if p.State == srd.PathActive && (least == 0 || p.MTU < least) {
					least = p.MTU
				}
			}
		}
	}
	return least
}

func (t *SRD) sum() (s Stats) {
	for _, h := range t.hosts {
		if h == nil {
			continue
		}
		if h.process != nil {
			s.Overflow += h.process.Overflow
			s.NoBuffer += h.process.NoBuffer
		}
		s.Packets += h.done.Packets
		s.Retransmitted += h.done.Retransmitted
		s.Spurious += h.done.Spurious
		s.Acks += h.done.Acks
		s.Timeouts += h.done.Timeouts
		for _, e := range h.ends {
			s.add(e.conn.Stats())
		}
	}
	return s
}

// Reserve implements srd.Indexes for a connection that is being created.
func (h *srdHost) Reserve(c *coreConn) uint32 {
	h.next++
	for _, e := range h.ends {
		if e.conn == c {
			h.index[h.next] = &srdIndex{end: e}
		}
	}
	return h.next
}

// Publish implements srd.Indexes.
func (h *srdHost) Publish(i uint32, k *coreKeys) { h.index[i].keys = k }

// Release implements srd.Indexes.
func (h *srdHost) Release(i uint32) { delete(h.index, i) }

// Receive implements net.Node.
func (h *srdHost) Receive(p *net.Packet) {
	if h.process != nil {
		h.process.arrive(p)
		return
	}
	if e := h.take(p, 0); e != nil {
		e.drain()
		h.engine.Free(p)
		e.service()
		return
	}
	h.engine.Free(p)
}

// take passes a packet to its connection, and returns this host's end of the connection. The
// argument `at` is the kernel's timestamp, or 0 if there is none.
func (h *srdHost) take(p *net.Packet, at mono.Time) *srdEnd {
	t := srd.Tuple{Sock: p.Dst.Port() - h.base, Local: srd.UplinkOf(p.Dst.Addr(), 0), Remote: p.Src}
	index, ok := srd.DataIndex(p.Data)
	if !ok {
		return h.greet(t, p)
	}
	i := h.index[index]
	if i == nil || i.keys == nil {
		return nil
	}
	slot, pn := srd.DataNumber(p.Data)
	if !i.end.conn.Fresh(slot, pn) {
		return nil
	}
	b := p.Payload(h.srd.plain[:0])
	h.srd.plain = b
	pkt := srd.Packet{
		Tuple: t, Slot: slot, PN: pn, At: at, ECN: ecnOf(p), Size: len(b), Load: p.Load, Keys: i.keys,
		Plain: b[srd.HeaderLen : len(b)-srd.Overhead+srd.HeaderLen],
	}
	i.end.conn.Handle(h.engine.Now(), &pkt)
	return i.end
}

// source returns the source address for packets of a path. If the tuple has no local address, the
// host's routes choose the host's first address.
func (h *srdHost) source(t srd.Tuple) netip.AddrPort {
	a := t.Local.Addr()
	if !a.IsValid() {
		a = h.Addr
	}
	return netip.AddrPortFrom(a, h.base+t.Sock)
}

// greet handles a handshake packet.
func (h *srdHost) greet(t srd.Tuple, p *net.Packet) *srdEnd {
	now := h.engine.Now()
	msg := p.Payload(nil)
	a, _ := h.end.Receive(now, t, msg, func(i uint32) *coreConn {
		if e := h.index[i]; e != nil {
			return e.end.conn
		}
		return nil
	})
	if a.Conn == nil {
		return nil
	}
	a.Deliver(now)
	for _, e := range h.ends {
		if e.conn == a.Conn {
			return e
		}
	}
	return nil
}

// config returns the configuration of the connection to a remote host.
func (h *srdHost) config(remote *srdHost) (coreConfig, error) {
	t := h.srd
	policy, err := t.cfg.policy(t.rng.Uint64())
	control := newControl(t.cfg.Granularity)
	var late func() time.Duration
	if h.process != nil {
		late = h.process.late.Value
	}
	return coreConfig{
		Eager:    !t.cold(),
		Identity: h.id, Remote: remote.id.Public(), Offers: handshake.OffersOf(handshake.AES256GCM),
		Incarnation: t.rng.Uint64(), Rand: random{t.rng}, Indexes: h,
		Timestamp: func(now mono.Time) handshake.Timestamp {
			return handshake.TimestampOf(time.Unix(1e9, 0).Add(now.Sub(0)))
		},
		MTU:    func(srd.Tuple) int { return t.cfg.MTU - srdHeaders },
		Policy: policy, Control: control, Granularity: t.cfg.Granularity, HostDelay: late,
	}, err
}

func ecnOf(p *net.Packet) srd.ECN {
	if p.CE {
		return srd.CE
	}
	return srd.ECT
}
