package srd

import (
	"io"
	"math/rand/v2"
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// Conn is the transport state of one peer. Each field of Conn owns a part of the state
// (docs/core.md).
type Conn struct {
	env       *env
	session   session
	paths     paths
	receiver  receiver
	recovery  recovery
	choice    choice
	sender    sender
	restarted bool
}

// introduce sets the pointers from the parts of c to each other.
func introduce(c *Conn) {
	e, slots := c.env, &c.paths.slots
	c.session.env, c.session.paths, c.session.recovery, c.session.self = e, &c.paths, &c.recovery, self{c}
	c.session.calls.self = self{c}
	c.paths.env, c.paths.keys, c.paths.flight, c.paths.choice = e, &c.session.keyring, &c.recovery.flight, &c.choice
	c.recovery.env, c.recovery.keys, c.recovery.paths, c.recovery.choice = e, &c.session.keyring, &c.paths, &c.choice
	c.choice.env, c.choice.paths, c.choice.recovery = e, slots, &c.recovery.flight
	c.sender.env, c.sender.keys, c.sender.paths, c.sender.receiver, c.sender.recovery, c.sender.choice = e, &c.session.keyring, slots, &c.receiver, &c.recovery, &c.choice
	c.receiver.env = e
}

// New returns a connection without a session. The connection sends no packet before
// SetTuples, a message to send, or a handshake from the peer.
func New(cfg Config) *Conn {
	var seed [32]byte
	if _, err := io.ReadFull(cfg.Rand, seed[:]); err != nil {
		panic("srd: source of randomness: " + err.Error())
	}
	cfg.KeyLife, cfg.KeyPackets = keyLimits(cfg.KeyLife, cfg.KeyPackets)
	c := &Conn{env: &env{cfg: cfg, hosts: newHosts(cfg.Granularity), rng: rand.New(rand.NewChaCha8(seed))}}
	introduce(c)
	c.paths.packet = BasePacket
	c.recovery.nextSkip, c.recovery.copies = c.recovery.skipGap(), copiesMost
	c.SetPolicy(cfg.Policy)
	return c
}

// Remote returns the peer's static public key.
func (c *Conn) Remote() handshake.PublicKey { return c.env.cfg.Remote }

// Stats returns the counters.
func (c *Conn) Stats() *Stats { return &c.env.stats }

// Window returns the congestion window in bytes, the bytes in flight, and the pacing rate
// in bytes per second.
func (c *Conn) Window() (window, inflight int, rate float64) {
	return c.env.cfg.Control.Window(), c.recovery.inflight, c.env.cfg.Control.Rate()
}

// Backlog reports whether messages wait for an acknowledgement.
func (c *Conn) Backlog() bool { return !c.recovery.out.empty() }

// Delivered returns the recent rate of acknowledged data in bytes of UDP payload per
// second. The rate is measured over some 200 ms, and is 0 if the last measurement ended
// more than a second ago.
func (c *Conn) Delivered(now mono.Time) float64 { return c.recovery.rate.at(now) }

// RTT returns the smoothed round trip over all paths, or 0 if it is unknown.
func (c *Conn) RTT() time.Duration { return c.env.rtt.Smoothed() }

// Queue returns the smoothed queueing delay and its target.
func (c *Conn) Queue() (queue, target time.Duration) {
	return c.env.cfg.Control.Queue(), c.env.cfg.Control.Target()
}

// Recv returns the next message that arrived. The payload is a part of the buffer of the
// last handled packet, and is valid until that buffer is used again.
func (c *Conn) Recv() (Message, bool) {
	if c.receiver.taken == len(c.receiver.received) {
		c.receiver.received, c.receiver.taken = c.receiver.received[:0], 0
		return Message{}, false
	}
	m := c.receiver.received[c.receiver.taken]
	c.receiver.taken++
	return m, true
}

// Waits returns the total time for which each limit delayed sending, up to `now`. The
// counters of Stats include a wait only when it ends.
func (c *Conn) Waits(now mono.Time) [NumLimits]time.Duration {
	v := c.env.stats.Waited
	if c.sender.stopped != 0 && now > c.sender.stopped {
		v[c.sender.limit] += now.Sub(c.sender.stopped)
	}
	return v
}

// Packet returns the UDP payload of a full packet in bytes: the largest size that all paths
// in use carry.
func (c *Conn) Packet() int { return c.paths.packet }

// Pending returns the number of messages that were sent and are neither acknowledged nor
// given up.
func (c *Conn) Pending() int { return int(c.recovery.out.next - c.recovery.out.first) }
