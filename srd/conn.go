package srd

import (
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// Conn is the transport state of one peer: the glue between the machines that own it.
// docs/core.md says who does what.
type Conn struct {
	*env
	session   session
	paths     paths
	receiver  receiver
	recovery  recovery
	choice    choice
	sender    sender
	restarted bool
}

// introduce makes the machines of c known to each other.
func introduce(c *Conn) {
	e, v := c.env, &c.receiver
	c.session.env, c.session.paths, c.session.recovery, c.session.conn = e, &c.paths, &c.recovery, c
	c.paths.env, c.paths.session, c.paths.receiver, c.paths.recovery, c.paths.choice = e, &c.session, v, &c.recovery, &c.choice
	c.recovery.env, c.recovery.session, c.recovery.paths, c.recovery.choice = e, &c.session, &c.paths, &c.choice
	c.choice.env, c.choice.paths, c.choice.receiver, c.choice.recovery = e, &c.paths, v, &c.recovery
	c.sender.env, c.sender.session, c.sender.paths, c.sender.receiver, c.sender.recovery, c.sender.choice = e, &c.session, &c.paths, v, &c.recovery, &c.choice
	v.env, v.paths, v.choice = e, &c.paths, &c.choice
}

// New returns a connection without a session. Nothing is sent before SetTuples,
// a message to send, or a handshake from the peer.
func New(cfg Config) *Conn {
	var seed [32]byte
	if _, err := io.ReadFull(cfg.Rand, seed[:]); err != nil {
		panic("srd: source of randomness: " + err.Error())
	}
	c := &Conn{env: &env{cfg: cfg, hosts: newHosts(cfg.Granularity), rng: rand.New(rand.NewChaCha8(seed))}}
	introduce(c)
	c.paths.packet = BasePacket
	c.session.calls.indexes = cfg.Indexes
	c.session.life = lifeOf(cfg.KeyLife, cfg.KeyPackets)
	c.recovery.nextSkip, c.recovery.copies = c.recovery.skipGap(), copiesMost
	c.SetPolicy(cfg.Policy)
	return c
}

// Remote returns the peer's static public key.
func (c *Conn) Remote() handshake.PublicKey { return c.cfg.Remote }

// Stats returns the counters.
func (c *Conn) Stats() *Stats { return &c.stats }

// Window returns congestion window, bytes in flight, and pacing rate in bytes
// per second.
func (c *Conn) Window() (window, inflight int, rate float64) {
	return c.cfg.Control.Window(), c.recovery.inflight, c.cfg.Control.Rate()
}

// Backlog reports whether messages wait for an acknowledgement.
func (c *Conn) Backlog() bool { return !c.recovery.out.empty() }

// Delivered returns the rate at which what was sent has been acknowledged lately, in
// bytes of UDP payload per second: over some 200 ms, and 0 a second after the last.
func (c *Conn) Delivered(now mono.Time) float64 { return c.recovery.rate.at(now) }

// RTT returns the smoothed round trip over all paths, 0 when unknown.
func (c *Conn) RTT() time.Duration { return c.rtt.Smoothed() }

// failingFor is how long a path that fell silent counts as a matter of the moment: as
// long as two probes are apart at most. By then routing has mostly found another way, or
// the path is gone and the rest is what there is.
const failingFor = probeMost

// Failing reports whether a path fell silent a moment ago and has not come back. What
// the network carries has then changed without the doing of those who send.
func (c *Conn) Failing(now mono.Time) bool {
	return c.paths.fell != 0 && now.Sub(c.paths.fell) < failingFor
}

// Queue returns the smoothed queueing delay and its target.
func (c *Conn) Queue() (queue, target time.Duration) {
	return c.cfg.Control.Queue(), c.cfg.Control.Target()
}

// PathInfo describes a path, for people.
type PathInfo struct {
	Slot     uint16
	Tuple    Tuple
	State    PathState
	RTT      time.Duration // smoothed
	Base     time.Duration
	MTU      int       // UDP payload bytes
	Seen     mono.Time // last packet of the peer's on it
	Unsized  bool      // a small packet has passed, and whether one of BasePacket bytes does is not known
	InFlight int
	Weight   float64
	PathStats
}

// Paths describes all paths in use.
func (c *Conn) Paths() []PathInfo {
	var v []PathInfo
	for _, p := range c.paths.table {
		if p.state == PathFree {
			continue
		}
		v = append(v, PathInfo{
			Slot: p.slot, Tuple: p.tuple, State: p.state, RTT: p.rtt.Smoothed(), Base: p.rtt.Base(),
			MTU: p.mtu, Seen: p.seen, Unsized: p.unsized, InFlight: p.inflight, Weight: c.cfg.Policy.Weight(int(p.slot)), PathStats: p.stats,
		})
	}
	return v
}

// Endpoint returns the address the peer was last heard from.
func (c *Conn) Endpoint() netip.AddrPort {
	if c.receiver.lastPath != nil {
		return c.receiver.lastPath.tuple.Remote
	}
	return netip.AddrPort{}
}

// Recv returns the next message that arrived. Its payload lies in the packet
// that was handled last and is valid until that buffer is used again.
func (c *Conn) Recv() (Message, bool) {
	if c.receiver.taken == len(c.receiver.received) {
		c.receiver.received, c.receiver.taken = c.receiver.received[:0], 0
		return Message{}, false
	}
	m := c.receiver.received[c.receiver.taken]
	c.receiver.taken++
	return m, true
}

// Advance lets time pass: path timeouts, tail-loss probes, session timers.
func (c *Conn) Advance(now mono.Time) {
	c.clock = now
	c.allowForHosts()
	c.hosts.forgive(now)
	c.recovery.expireDue(now)
	c.advanceSession(now)
	if c.recovery.inflight > 0 {
		c.recovery.checkPaths(now)
	}
	if c.session.ready(now) && c.recovery.checkTail(now) {
		c.session.doubt(now)
	}
	c.paths.advanceProbes(now)
}

// Deadline returns when Advance or Next should be called at the latest, and
// why.
func (c *Conn) Deadline() (mono.Time, string) {
	at, why := c.session.sessionDeadline()
	add := func(t mono.Time, w string) {
		if t < at {
			at, why = t, w
		}
	}
	if due := c.recovery.out.due; due != 0 {
		add(max(due, c.clock), "deadline of a message")
	}
	if !c.session.ready(c.clock) {
		return at, why
	}
	// Without a path that works an acknowledgement waits for one, not for time.
	if c.receiver.ack.packets > 0 && c.receiver.ackPath() != nil {
		add(c.receiver.ack.deadline(), "ack")
	}
	if c.recovery.inflight > 0 {
		add(c.recovery.pathDeadline(), "path timeout")
	}
	// How long a far path takes is found out while sending, after Advance: what that
	// made overdue is due now.
	add(max(c.recovery.tailDeadline(), c.clock), "tail probe")
	add(c.paths.probeDeadline(), "path probe")
	if c.sender.mayCopy() && c.recovery.reinject > c.clock {
		add(c.recovery.reinject, "reinjection")
	}
	return at, why
}

// SendDeadline returns when the pacer will let new messages go, if it is the
// pacer that holds them back; Never otherwise. The driver asks when it has
// something to send.
func (c *Conn) SendDeadline(now mono.Time) mono.Time {
	rate := c.cfg.Control.Rate()
	if rate == 0 || c.sender.bucket.Ready() || c.recovery.inflight >= c.cfg.Control.Window() || c.paths.usable.Empty() ||
		c.recovery.out.full() || !c.session.ready(now) || c.recovery.silent() {
		return mono.Never
	}
	return max(now, c.sender.bucket.When(rate, min(2*c.paths.packet, int(rate*c.hosts.burst().Seconds()))))
}

// Next fills t with the next train to send, taking new messages from src (which
// may be nil). It returns false when there is nothing to send now.
func (c *Conn) Next(now mono.Time, t *Train, src Source) bool {
	if c.session.nextHandshake(now, t) {
		return true
	}
	if !c.session.ready(now) {
		return false
	}
	return c.paths.nextReply(now, t) || c.paths.nextProbe(now, t) || c.paths.nextMeasure(now, t) || c.sender.nextAck(now, t, src) ||
		c.sender.nextRetransmit(now, t) || c.sender.nextCopy(now, t) || c.sender.nextPing(now, t) || c.sender.nextData(now, t, src) ||
		c.sender.nextProof(now, t) || c.sender.nextReinjection(now, t)
}
