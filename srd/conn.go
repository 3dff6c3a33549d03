package srd

import (
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/candidate"
	"github.com/srdtun/srdtun/srd/internal/pace"
	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Indexes hands out receiver indices: random, unique in the process.
type Indexes interface {
	Reserve(*Conn) uint32
	Publish(uint32, *RecvKeys)
	Release(uint32)
}

// Config is what a Conn is made of. All fields but PSK, Addresses, Class,
// Keepalive, KeyLife, KeyPackets and Granularity are needed.
type Config struct {
	Identity    *handshake.Identity
	Remote      handshake.PublicKey
	PSK         handshake.PSK
	Offers      handshake.Offers // ciphers that may be used
	Incarnation uint64           // random, a new one each time the connection's state is made
	Rand        io.Reader        // of keys and of all that a peer must not foresee; it does not fail
	Indexes     Indexes
	Addresses   Addresses // where the peer is; nil: nobody wants to know
	// Timestamp maps the monotonic clock to the wall clock's TAI64N stamp.
	Timestamp func(mono.Time) handshake.Timestamp
	// MTU returns the UDP payload bytes worth probing for towards an address.
	MTU       func(Tuple) int
	Policy    steer.Policy
	Class     func(Tuple) int // of paths, for policies that weigh them; nil: all are alike
	Control   cc.Controller
	Keepalive time.Duration // on every path that is ours; 0: none
	// KeyLife and KeyPackets are after how long, and after how many packets of up to
	// 2,048 bytes (a larger one counts as several), the side that began a handshake
	// renews the keys; 0: 120 s and 2^27 packets. The shortest life is 12 s.
	KeyLife    time.Duration
	KeyPackets uint64
	// Granularity is how coarsely the driver's clock and scheduling act, which all
	// timeouts allow for; 0: mono.Granularity.
	Granularity time.Duration
}

// Conn is the transport state of one peer.
type Conn struct {
	cfg   Config
	rng   *rand.Rand
	slack slack

	session session
	held    holding
	tuples  []Tuple // where the peer may be reached: candidates for paths

	// Sending.
	paths    []*path // by slot
	usable   steer.Set
	busy     steer.Set // paths with packets in flight
	probing  steer.Set // paths with a probe planned
	spare    steer.Set // likewise
	choice   steer.Set // scratch: what a policy may choose from
	out      outbox
	inflight int
	freed    int // of inflight, in packets whose messages were acknowledged by number
	bucket   pace.Bucket
	rtt      rtt.Estimator
	timer    lossTimer
	limit    Limit     // what stopped Next last
	stopped  mono.Time // and since when
	limited  mono.Time // when the window or pacing last held back sending
	active   mono.Time // last new message sent
	frozen   mono.Time // until then only paths heard lately carry data
	fell     mono.Time // when the last of the paths that are silent now fell so; 0: none is
	reinject mono.Time // not before then is any message late
	patience uint      // additions to the slack of path timeouts
	humbled  mono.Time // when one was last added or taken back
	nextSkip int       // packets until a packet number is skipped
	replies  []owed
	round    uint16    // of round trips, for the responses in each
	roundAt  mono.Time // when it began
	packet   int       // UDP payload bytes of a full packet now
	steering steering
	reach    reach
	doubts   doubts

	// Addresses.
	candidates candidate.Table[Tuple]
	strayed    uint64    // packets sent to candidates: the next packet number of their slot
	opened     uint32    // paths opened so far
	wanting    bool      // some of tuples have no path, for want of room
	changed    bool      // a path has gone since the last Advance, is down, or carries too little
	askedAt    mono.Time // when quiet paths were last asked whether they work
	former     former

	dormant bool      // some silent paths are not probed while idle
	clock   mono.Time // last time Advance was told

	// Receiving.
	in        [steer.MaxPaths + 1]*inPath
	dirty     []*inPath
	inbox     seq.Window
	ack       ackState
	pings     int // acknowledgements since one last asked for an answer
	received  []Message
	taken     int // of received, by Recv
	lastHeard mono.Time
	lastPath  *path
	restarted bool

	rate  meter
	stats Stats
	parts *ackParts // nil while none was sent lately
}

// ackParts is where the parts of an acknowledgement are put together.
type ackParts struct {
	words [wire.MaxAckWords]uint64
	recs  [wire.MaxAckRecords]wire.Record
}

// ackParts returns the room for the parts of an acknowledgement.
func (c *Conn) ackParts() *ackParts {
	if c.parts == nil {
		c.parts = new(ackParts)
	}
	return c.parts
}

// lossTimer is the tail-loss state of the whole connection.
type lossTimer struct {
	progress mono.Time // last acknowledgement of something new, or first send after idle
	newest   mono.Time // sending time of the newest packet known to have arrived
	backoff  uint
	probe    bool // the oldest open message is to be sent, whatever the window says
	lastSent mono.Time
	probed   mono.Time // last tail probe
}

// Stats are a connection's counters.
type Stats struct {
	Sent          uint64 // messages sent for the first time
	Acked         uint64
	Retransmitted uint64 // message copies sent again
	GivenUp       uint64 // payloads given up
	NeverRepaired uint64 // of those, the ones that were sent only once
	Received      uint64 // messages delivered
	Spurious      uint64 // packets taken to be lost that had arrived
	Acks          uint64 // acknowledgements sent
	Handshakes    uint64
	PathsRefused  uint64 // paths taken out of use because this host had no way on them
	TxBytes       uint64 // UDP payload
	RxBytes       uint64
	// Waited is how long each limit held back sending, in all.
	Waited [NumLimits]time.Duration
	Drops  [NumReasons]uint64
}

// Limit is what holds back sending.
type Limit uint8

// The limits.
const (
	LimitData   Limit = iota // nothing to send
	LimitWindow              // congestion window full
	LimitPacing              // the pacer's tokens are spent
	LimitPaths               // no path may take more
	LimitOutbox              // as many messages unacknowledged as may be
	NumLimits
)

var limitNames = [NumLimits]string{"data", "window", "pacing", "paths", "outbox"}

// String returns the limit's name.
func (l Limit) String() string { return limitNames[l] }

// New returns a connection without a session. Nothing is sent before SetTuples,
// a message to send, or a handshake from the peer.
func New(cfg Config) *Conn {
	var seed [32]byte
	if _, err := io.ReadFull(cfg.Rand, seed[:]); err != nil {
		panic("srd: source of randomness: " + err.Error())
	}
	c := &Conn{
		cfg:    cfg,
		slack:  slackOf(cfg.Granularity),
		rng:    rand.New(rand.NewChaCha8(seed)),
		packet: BasePacket,
	}
	c.session.calls.indexes = cfg.Indexes
	c.session.life = lifeOf(cfg.KeyLife, cfg.KeyPackets)
	c.nextSkip = c.skipGap()
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
	return c.cfg.Control.Window(), c.inflight, c.cfg.Control.Rate()
}

// Backlog reports whether messages wait for an acknowledgement.
func (c *Conn) Backlog() bool { return !c.out.empty() }

// Delivered returns the rate at which what was sent has been acknowledged lately, in
// bytes of UDP payload per second: over some 200 ms, and 0 a second after the last.
func (c *Conn) Delivered(now mono.Time) float64 { return c.rate.at(now) }

// RTT returns the smoothed round trip over all paths, 0 when unknown.
func (c *Conn) RTT() time.Duration { return c.rtt.Smoothed() }

// failingFor is how long a path that fell silent counts as a matter of the moment: as
// long as two probes are apart at most. By then routing has mostly found another way, or
// the path is gone and the rest is what there is.
const failingFor = probeMost

// Failing reports whether a path fell silent a moment ago and has not come back. What
// the network carries has then changed without the doing of those who send.
func (c *Conn) Failing(now mono.Time) bool { return c.fell != 0 && now.Sub(c.fell) < failingFor }

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
	MTU      int // UDP payload bytes
	InFlight int
	Weight   float64
	PathStats
}

// Paths describes all paths in use.
func (c *Conn) Paths() []PathInfo {
	var v []PathInfo
	for _, p := range c.paths {
		if p.state == PathFree {
			continue
		}
		v = append(v, PathInfo{
			Slot: p.slot, Tuple: p.tuple, State: p.state, RTT: p.rtt.Smoothed(), Base: p.rtt.Base(),
			MTU: p.mtu, InFlight: p.inflight, Weight: c.cfg.Policy.Weight(int(p.slot)), PathStats: p.stats,
		})
	}
	return v
}

// Endpoint returns the address the peer was last heard from.
func (c *Conn) Endpoint() netip.AddrPort {
	if c.lastPath != nil {
		return c.lastPath.tuple.Remote
	}
	return netip.AddrPort{}
}

// Recv returns the next message that arrived. Its payload lies in the packet
// that was handled last and is valid until that buffer is used again.
func (c *Conn) Recv() (Message, bool) {
	if c.taken == len(c.received) {
		c.received, c.taken = c.received[:0], 0
		return Message{}, false
	}
	m := c.received[c.taken]
	c.taken++
	return m, true
}

func (c *Conn) drop(r Reason) { c.stats.Drops[r]++ }
