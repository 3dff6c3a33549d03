package host

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// App is the application that sends and receives on a connection, as in srd/loop. An App is either
// a Stream of messages without the overlay, or a Tunnel that carries inner packets. An App numbers
// its messages or inner packets from 0, and records the outcome of each.
type App interface {
	srd.Source
	// Pending reports whether the application has data to send.
	Pending() bool
	// Deliver handles a received message.
	Deliver(now mono.Time, m *srd.Message)
	// Restarted is called when the peer is a new process.
	Restarted(now mono.Time)
	// Advance processes timers of the application at the time `now`. Deadline returns the time at
	// which Advance must be called next.
	Advance(now mono.Time, c *srd.Conn)
	Deadline() mono.Time

	// Offer adds a batch to send. Withdraw removes all messages that the transport has not pulled yet.
	Offer(Batch)
	Withdraw()
	// Begun returns how many items (messages or inner packets) have been numbered so far.
	Begun() int
	// Undelivered counts the items that have not arrived, beginning with the number `first`, and
	// returns the lowest such item.
	Undelivered(first int) (n, example int)
	// Dropped returns how many items were dropped on purpose before they were pulled.
	Dropped() int
	// Open returns how many sent items the transport or the application still stores.
	Open() int
	// Sending returns how many of the open items this end still has to send or to send again.
	Sending() int
	// Look checks invariants during the run. Account checks invariants at the end of the run.
	Look(c *srd.Conn)
	Account(c *srd.Conn)
}

// Bare is an App that uses the transport directly.
type Bare struct{ *Stream }

// Deliver implements App. The sending side's stream checks the message.
func (b Bare) Deliver(_ mono.Time, m *srd.Message) { b.audit.Arrived(b.To, b.From, m) }

func (b Bare) Restarted(mono.Time)          {}
func (b Bare) Advance(mono.Time, *srd.Conn) {}
func (b Bare) Deadline() mono.Time          { return mono.Never }
func (b Bare) Begun() int                   { return b.Pulled }

// Sending implements App.
func (b Bare) Sending() int { return b.Open() }

// Dropped implements App. A Bare application never drops a message before the transport pulls it.
func (b Bare) Dropped() int { return 0 }

// Look implements App.
func (b Bare) Look(c *srd.Conn) {
	s := c.Stats()
	switch {
	case s.Sent != uint64(b.Pulled):
		b.audit.Fail("host %d counts %d messages sent, %d were pulled", b.From, s.Sent, b.Pulled)
	case b.Held() > HeldMost:
		b.audit.Fail("host %d holds a payload for %v", b.From, b.Held())
	case !c.Backlog() && b.Open() != 0:
		b.audit.Fail("host %d has an empty outbox but holds %d payloads", b.From, b.Open())
	}
}

// Account implements App. Each message must have been delivered, given up, or excused by a restart,
// and each payload must have been returned.
func (b Bare) Account(c *srd.Conn) {
	x := c.Stats()
	void := int(x.Drops[srd.DropIncarnation] + x.Drops[srd.DropSessionOld])
	n, first := b.Unsettled(0)
	switch {
	case n > void:
		b.audit.Fail("%d messages of host %d have vanished, first %d, %d excused", n, b.From, first, void)
	case b.Expired > int(x.GivenUp):
		b.audit.Fail("%d tombstones of host %d arrived, %d given up", b.Expired, b.From, x.GivenUp)
	}
}
