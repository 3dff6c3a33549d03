package host

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// These constants are the properties of a host's sockets and timers.
const (
	// FirstPort is the UDP port of socket 0. Socket n has the port FirstPort + n.
	FirstPort = 4000
	// socketBuffer is the number of bytes that a socket can queue while the program does not run.
	// The value of socketBuffer is Linux's default of net.core.rmem_max.
	socketBuffer = 212992
	// timerTick is the granularity of a host's timers.
	timerTick = time.Microsecond
)

// Config is the configuration of a host.
type Config struct {
	Addrs   []netip.Addr
	Ports   int           // number of UDP sockets
	MTU     int           // largest UDP payload of its interface, in bytes
	Latency time.Duration // time from a packet's arrival until the program runs
	Slack   time.Duration // largest lateness of a timer
	Offset  time.Duration // offset of its monotonic clock
	Skew    time.Duration // error of its wall clock
	// With AnyLocal set, tuples have no source address, as in a configuration without local
	// addresses.
	AnyLocal bool
	// With Tunnel set, applications use the overlay above the transport.
	Tunnel bool

	Offers     handshake.Offers
	Keepalive  time.Duration
	KeyLife    time.Duration // as in srd.Config
	KeyPackets uint64
	HeldBytes  int    // memory of a tunnel's reassembler; 0: order.DefaultHeldBytes
	QueueBytes int    // limit of a tunnel's queue; 0: queue.DefaultLimitBytes
	Policy     string // path policy of all its connections; "" is spray
	// With Tells set, applications report to the connection whether they have data to send, as the
	// daemon does. Without these reports, a connection never detects that it is idle.
	Tells bool
	// With Unordered set, a tunnel restores the order of only every second flow.
	Unordered bool
}

// control creates the congestion control of one connection.
func (c *Config) control() cc.Controller {
	return cc.New(0) // the granularity of a process, as in the daemon
}

// policy creates the path policy of one connection.
func (c *Config) policy(seed uint64) steer.Policy { return policyNamed(c.Policy, seed) }

// policyNamed creates the path policy with the given name; "" selects the default.
func policyNamed(name string, seed uint64) steer.Policy {
	if name == "" {
		name = steer.Names()[0]
	}
	p, err := steer.New(name, steer.Options{Seed: seed})
	if err != nil {
		panic(err)
	}
	return p
}

// Host is a machine with sockets, clocks, a program, and the loop that drives the transport.
type Host struct {
	Config
	Index int
	Up    net.Node // next node for its packets
	Audit *Audit

	Sent      uint64 // packets
	SentBytes uint64
	Overflow  uint64 // packets dropped because a socket was full

	engine  *net.Engine
	noun    net.Noun
	rng     *rand.Rand
	id      *handshake.Identity
	remotes []Remote
	process *Process // nil: no program runs
	held    bool     // the sockets wait for the next program
	gen     uint16   // number of processes so far
	paused  int      // number of faults that pause the program

	inbox   []*net.Packet
	waiting int       // bytes in inbox
	turn    bool      // a run for the packets in inbox is scheduled
	wake    mono.Time // when the timer fires, in engine time; Never: not set

	trust trust
}

// Remote is the entry of a peer in a host's configuration.
type Remote struct {
	Host  *Host
	PSK   handshake.PSK
	Addrs []netip.AddrPort // addresses at which it may be reachable; none: it must begin the handshakes
	// Lies marks a dishonest peer, on whose connection fewer invariants are checked.
	Lies bool
	// App creates the application for the connection of a process of h. If App is nil, Config
	// determines the application.
	App func(h *Host, gen uint16) App
}

// New returns a host without a running program.
func New(e *net.Engine, name string, index int, cfg Config, audit *Audit) *Host {
	h := &Host{Config: cfg, Index: index, Audit: audit, engine: e, noun: e.Name(name), rng: e.Fork(), wake: mono.Never, trust: newTrust()}
	var key [32]byte
	net.Bytes(h.rng).Read(key[:])
	h.id, _ = handshake.NewIdentity(key)
	return h
}

// Identity returns the host's key pair, and Public returns its public key.
func (h *Host) Identity() *handshake.Identity { return h.id }

// Public returns the host's public key.
func (h *Host) Public() handshake.PublicKey { return h.id.Public() }

// Engine returns the simulation engine of the host.
func (h *Host) Engine() *net.Engine { return h.engine }

// Peer adds the peer r to the host's configuration.
func (h *Host) Peer(r Remote) { h.remotes = append(h.remotes, r) }

// Clock returns the host's monotonic time.
func (h *Host) Clock() mono.Time { return h.engine.Now().Add(h.Offset) }

// Boot starts the program.
func (h *Host) Boot() {
	h.engine.Note(h.noun, "boots", uint64(h.gen), 0, 0)
	h.gen++
	h.trust.boot()
	h.process, h.held = newProcess(h, h.gen-1), false
	h.process.connect()
	h.plan()
}

// Kill ends the program without notifying its peers. All state of the program is lost, except for
// the host's key.
func (h *Host) Kill() {
	h.engine.Note(h.noun, "is killed", 0, 0, 0)
	h.process, h.wake = nil, mono.Never
	h.inbox, h.waiting, h.held = nil, 0, false
}

// HandOver closes the program's sessions and ends the program. The next program inherits the
// sockets, and the packets that have arrived since.
func (h *Host) HandOver() {
	if h.process == nil || h.paused > 0 {
		return
	}
	h.engine.Note(h.noun, "hands over", 0, 0, 0)
	h.process.close()
	h.process, h.wake, h.held = nil, mono.Never, true
}

// Stop closes the program's sessions and ends the program.
func (h *Host) Stop() {
	if h.process != nil && h.paused == 0 {
		h.process.close()
	}
	h.Kill()
}

// Pause suspends the program until Resume is called. Each call of Pause needs its own Resume.
func (h *Host) Pause() {
	h.paused++
	h.engine.Note(h.noun, "is paused", 0, 0, 0)
}

// Resume reverts one call of Pause.
func (h *Host) Resume() {
	h.paused--
	h.engine.Note(h.noun, "resumes", uint64(len(h.inbox)), 0, 0)
	h.run()
}

// SteerBy changes the path policy of all connections of the running program to the named policy.
func (h *Host) SteerBy(name string) {
	if h.process == nil {
		return
	}
	for _, p := range h.process.Peers {
		p.Conn.SetPolicy(policyNamed(name, h.rng.Uint64()))
	}
	h.Poke()
}

// Readdress keeps only the tuples for which the function left() returns true, as when a host's
// addresses change.
func (h *Host) Readdress(left func(srd.Tuple) bool) {
	if h.process == nil {
		return
	}
	for _, p := range h.process.Peers {
		gone := func(t srd.Tuple) bool { return !left(t) }
		p.Conn.SetTuples(h.Clock(), slices.DeleteFunc(slices.Clone(p.tuples), gone))
	}
	h.Poke()
}

// Revive starts a host's program unless the program is running.
func (h *Host) Revive() {
	if h.process == nil {
		h.Boot()
	}
}

// Process returns the running program, or nil.
func (h *Host) Process() *Process { return h.process }

// Receive implements net.Node for a packet to the host.
func (h *Host) Receive(p *net.Packet) {
	switch {
	case h.process == nil && !h.held:
		h.engine.Note(h.noun, "drops: no program", p.Digest(), 0, 0)
	case h.waiting+len(p.Data) > socketBuffer:
		h.Overflow++
		h.engine.Note(h.noun, "drops: socket buffer", p.Digest(), 0, 0)
	default:
		h.inbox = append(h.inbox, p)
		h.waiting += len(p.Data)
		h.plan()
	}
}

// plan schedules a run of the program's loop soon.
func (h *Host) plan() {
	if h.turn {
		return
	}
	h.turn = true
	h.engine.After(h.Latency, func() {
		h.turn = false
		h.run()
	})
}

// Poke schedules a run of the program's loop, for instance after an application has offered
// messages.
func (h *Host) Poke() { h.plan() }

// run is one iteration of the program's loop: it handles all waiting packets, then all connections.
func (h *Host) run() {
	if h.process == nil || h.paused > 0 {
		return
	}
	in := h.inbox
	h.inbox, h.waiting = nil, 0
	for _, p := range in {
		h.process.handle(p)
	}
	h.arm(h.process.service())
}

// arm sets the timer to a time on the host's clock.
func (h *Host) arm(at mono.Time) {
	if at == mono.Never {
		h.wake = mono.Never
		return
	}
	t := max(at.Add(-h.Offset), h.engine.Now().Add(timerTick))
	if h.wake == t {
		return
	}
	h.wake = t
	fire := t
	if h.Slack > 0 {
		fire = t.Add(time.Duration(h.rng.Int64N(int64(h.Slack))))
	}
	h.engine.At(fire, func() {
		if h.wake == t {
			h.wake = mono.Never
			h.run()
		}
	})
}

// transmit sends one datagram from a socket. The argument `peer` is nil if the datagram belongs
// to no connection.
func (h *Host) transmit(peer *Host, sock uint16, from netip.Addr, to netip.AddrPort, data []byte) {
	if !from.IsValid() {
		from = h.Addrs[0]
	}
	h.Sent++
	h.SentBytes += uint64(len(data))
	h.spend(peer, to.Addr(), len(data))
	if peer != nil && handshake.Kind(data) == handshake.TypeInitiation && !h.inOrder(peer, to.Addr()) {
		h.Audit.Fail("host %d calls host %d at %v, where it has not proven to be", h.Index, peer.Index, to)
	}
	p := net.UDP(netip.AddrPortFrom(from, FirstPort+sock), to, append([]byte(nil), data...))
	p.Origin = net.Origin{By: h, Gen: h.gen, Aim: to.Addr(), At: h.engine.Now()}
	h.engine.Note(h.noun, "sends", p.Digest(), uint64(len(data)), uint64(sock))
	h.Up.Receive(p)
}
