package foe

import (
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// doubt is the application of an honest host on its connection to a lying peer. The application
// sends a stream of messages. The application also reassembles the liar's messages into frames as
// the overlay does, and discards the frames.
type doubt struct {
	*host.Stream
	host   *host.Host
	gather *order.Reassembler
	alive  int    // bytes of live buffers of the overlay
	room   []byte // memory that all buffers share, because they are never read
	ready  []*frame.Frame

	blank  bool          // the peer's acknowledgements have no records
	window int           // the largest congestion window within blankAfter
	base   time.Duration // least round trip of the shortest path so far
	began  mono.Time     // when the first message was sent
	lied   mono.Time     // when the peer's first lie was found
}

// doubtSizes lists the buffer sizes of the device's pool, of which doubtRoom is the largest.
var doubtSizes = [...]int{2048, 10 << 10, doubtRoom}

const (
	doubtRoom     = 64<<10 + doubtHeadroom
	doubtHeadroom = 16
	// doubtHeld bounds the time for which a host may store a payload for a liar. A host begins as
	// many handshakes with a lying peer as with any other peer, but at longer intervals.
	doubtHeld = 2 * host.HeldMost
	// A process may send liesFree invalid acknowledgements to another process without a delay. Each
	// further invalid acknowledgement doubles the minimum time for all of them, which starts at
	// liesFirst.
	liesFree    = 3
	liesFirst   = time.Second
	liesLongest = 100 * time.Second
	// blankGrowth bounds the congestion window for a peer that acknowledges no packets, as a
	// multiple of the largest window within the first blankAfter.
	blankGrowth = 2
	blankAfter  = 200 * time.Millisecond
	// doubtSlack is the number of bytes by which live buffers may exceed the limit of held bytes.
	doubtSlack = doubtRoom
)

func newDoubt(h *host.Host, to int, gen uint16, blank bool) *doubt {
	d := &doubt{Stream: h.Audit.NewStream(h.Index, to, gen, h.Engine().Fork()), host: h, blank: blank}
	d.Doubted = true
	d.gather = order.NewReassembler(order.Config{Alloc: d.alloc})
	return d
}

// alloc allocates a frame with the same buffer sizes as the device's pool.
func (d *doubt) alloc(n int) *frame.Frame {
	if d.room == nil {
		d.room = make([]byte, doubtRoom)
	}
	size := doubtRoom
	for _, s := range doubtSizes {
		if n+doubtHeadroom <= s {
			size = s
			break
		}
	}
	d.alive += size
	f := frame.New(d.room[doubtHeadroom:doubtHeadroom+n], func(*frame.Frame) { d.alive -= size })
	f.Buf = d.room[:size]
	return f
}

// Deliver implements App.
func (d *doubt) Deliver(now mono.Time, m *srd.Message) {
	d.gather.Add(now, m)
	d.take()
}

func (d *doubt) take() {
	d.ready = d.gather.TakeReady(d.ready[:0])
	for _, f := range d.ready {
		f.Release()
	}
}

// Restarted implements App.
func (d *doubt) Restarted(now mono.Time) {
	d.gather.Reset(now)
	d.take()
}

// Advance implements App.
func (d *doubt) Advance(now mono.Time, c *srd.Conn) {
	d.gather.Advance(now)
	d.take()
}

// Deadline implements App.
func (d *doubt) Deadline() mono.Time { return d.gather.Deadline() }

// Begun implements App.
func (d *doubt) Begun() int { return d.Pulled }

// Dropped implements App.
func (d *doubt) Dropped() int { return 0 }

// Sending implements App.
func (d *doubt) Sending() int { return d.Open() }

// Look implements App.
func (d *doubt) Look(c *srd.Conn) {
	switch s := c.Stats(); {
	case s.Sent != uint64(d.Pulled):
		d.host.Audit.Fail("host %d counts %d messages sent to a liar, %d were pulled", d.From, s.Sent, d.Pulled)
	case d.Held() > doubtHeld:
		d.host.Audit.Fail("host %d holds a payload for a liar for %v", d.From, d.Held())
	case !c.Backlog() && d.Open() != 0:
		d.host.Audit.Fail("host %d has an empty outbox but holds %d payloads for a liar", d.From, d.Open())
	}
	d.lookAtLies(c.Stats().Drops[srd.DropAckInvalid])
	if d.blank {
		d.lookAtWindow(c)
	}
	if d.alive > order.DefaultHeldBytes+doubtSlack {
		d.host.Audit.Fail("host %d keeps %d bytes for a liar", d.From, d.alive)
	}
}

// lookAtWindow checks that the congestion window does not grow for a peer that acknowledges
// messages but no packets. The first window may be large: it is derived from the interface's rate
// and the round trip. The peer cannot shorten that round trip, because path challenges measure
// it, and no peer can respond to a challenge before it arrives.
func (d *doubt) lookAtWindow(c *srd.Conn) {
	now := d.host.Engine().Now()
	if d.Pulled == 0 {
		return
	}
	if d.began == 0 {
		d.began = now
	}
	nearer := false
	for _, p := range c.Paths() {
		if p.Base != 0 && (d.base == 0 || p.Base < d.base) {
			d.base, nearer = p.Base, true
		}
	}
	switch w, _, _ := c.Window(); {
	case nearer || now.Sub(d.began) < blankAfter:
		d.window = max(d.window, w)
	case w > blankGrowth*d.window:
		d.host.Audit.Fail("host %d opens its window from %d to %d bytes for a liar that acknowledges no packet", d.From, d.window, w)
	}
}

// lookAtLies checks that invalid acknowledgements take time. Each invalid acknowledgement beyond
// liesFree doubles the minimum time.
func (d *doubt) lookAtLies(n uint64) {
	now := d.host.Engine().Now()
	switch {
	case n == 0:
	case d.lied == 0:
		d.lied = now
	case n > liesFree && now.Sub(d.lied) < min(liesLongest, liesFirst<<min(n-liesFree, 10)):
		d.host.Audit.Fail("host %d lets a peer lie %d times in %v", d.From, n, now.Sub(d.lied))
	}
}

// Account implements App. This application checks nothing, because no message to a liar must
// arrive.
func (d *doubt) Account(*srd.Conn) {}
