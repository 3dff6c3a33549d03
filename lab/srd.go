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

// SRDConfig is the configuration of srd connections.
type SRDConfig struct {
	Ports       int           // source ports of each host: paths to each other host
	MTU         int           // bytes of the largest IP packet
	Granularity time.Duration // of clock and scheduling (srd.Config)
	Policy      string        // path policy, a name of package steer; "" is spray
	// FlowletTimeout is the timeout of flowlet policies; 0 means the policy's default.
	FlowletTimeout time.Duration
	// LinkRate is the rate of every path as policies know it, in bytes per second; 0 means
	// unknown.
	LinkRate float64
	// AtOnce makes all connections at the same time, so that the challenges of their paths
	// queue behind each other.
	AtOnce bool
	// Unordered does not restore the order of inner flows.
	Unordered bool
	// Host is the model of the hosts; nil means Ideal.
	Host *HostModel
	// Watch, if set, wraps the policy of each connection.
	Watch func(steer.Policy) steer.Policy
}

// policy makes the path policy of a connection.
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

// srdHeaders is the size of the IPv4 and UDP headers before a UDP payload.
const srdHeaders = 28

// SRD is this project's transport: the unchanged state machines of package srd. There is one
// connection for each pair of hosts, whose flows take turns. Two steps are omitted for
// speed. First, packets are not encrypted: their content is not used here, and everything
// else, including sizes, stays the same. Second, application data consists of zeros.
type SRD struct {
	cfg   SRDConfig
	net   *Network
	rng   *rand.Rand
	hosts []*srdHost // nil: takes no part
	first Stats      // at time zero
	made  int        // connections
}

// NewSRD returns the transport for a network. The error is about the policy.
func NewSRD(n *Network, cfg SRDConfig) (*SRD, error) {
	t := &SRD{cfg: cfg, net: n, rng: n.Engine.Fork(), hosts: make([]*srdHost, n.machines())}
	_, err := cfg.policy(0)
	return t, err
}

// srdHost is the transport on one host, in the role of srd/loop.
type srdHost struct {
	*Host
	srd   *SRD
	id    *handshake.Identity
	end   *coreEndpoint
	base  uint16 // UDP port of socket 0
	ends  []*srdEnd
	index map[uint32]*srdIndex
	next  uint32 // receiver index
	// This is the time at which the last connection that begins or ends at this host is
	// made.
	begun, ended time.Duration

	process *process // nil: the host acts in no time
	done    Stats    // of connections of former programs
}

// srdIndex is a receiver index, which is first reserved for a connection and later has keys.
type srdIndex struct {
	end  *srdEnd
	keys *coreKeys
}

// random makes bytes of a stream of randomness.
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

// cold reports whether connections are made at their first data.
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

// between returns the near end of the connection from one machine to another. It creates the
// connection if there is none.
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

// connect makes the connection of two hosts. Host a initiates it.
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

// turn returns the time at which the connection from a to b is made, before time zero. A
// host's connections are made one after the other, unless the plan asks for all at once. If
// they are made at once, the probes of their paths fill queues and are lost, and initiations
// need cookies.
//
// Paths are also opened at equal intervals. If two connections are in step, each challenge
// of one meets a challenge of the other on a common link. Its queueing delay there would
// count as part of the length of the path.
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
	// connectEvery is about twice the time of the probes of 32 paths at 10 Gbit/s.
	connectEvery = 500 * time.Microsecond
	// connectPath is the interval of the first challenges of a connection's paths (openEvery
	// of package srd). The handshake takes connectRest, with the size probes of the last
	// path on a fabric.
	connectPath = 300 * time.Microsecond
	connectRest = time.Millisecond
)

// call starts the handshake, with all paths known at both ends.
func (e *srdEnd) call() {
	e.called, e.peer.called = true, true
	now := e.host.engine.Now()
	e.conn.SetTuples(now, e.tuples())
	e.peer.conn.SetTuples(now, e.peer.tuples())
	e.conn.Connect(now)
	e.service()
}

// Settled implements Transport: it reports whether every path is in use, with its full
// packet size.
func (t *SRD) Settled() bool { return t.settled((*srdEnd).settled) }

// settled reports whether all ends are settled, or need not be.
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

// leastPacket returns the size of the smallest full packet on any path in use.
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

// Reserve implements srd.Indexes for the connection that is being made.
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

// take passes a packet to its connection, and returns the connection's end. at is the
// kernel's stamp, or 0 if there is none.
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
	pkt := srd.Packet{
		Tuple: t, Slot: slot, PN: pn, At: at, ECN: ecnOf(p), Size: len(p.Data), Load: p.Load, Keys: i.keys,
		Plain: p.Data[srd.HeaderLen : len(p.Data)-srd.Overhead+srd.HeaderLen],
	}
	i.end.conn.Handle(h.engine.Now(), &pkt)
	return i.end
}

// source returns the source address of packets on a tuple. If the tuple has none, the host's
// routes choose the host's first address.
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
	msg := append([]byte(nil), p.Data...)
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

// config returns the configuration of a connection to a remote host.
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
