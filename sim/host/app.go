package host

import (
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// App is the application above a connection, as srd/loop has it. It is a Stream of bare
// messages, or a Tunnel that carries inner packets. It numbers its messages or packets from
// 0, and remembers the fate of each.
type App interface {
	srd.Source
	// Pending reports whether the application has something to send.
	Pending() bool
	// Deliver takes a message that has arrived.
	Deliver(now mono.Time, m *srd.Message)
	// Restarted tells that the peer is another process than before.
	Restarted(now mono.Time)
	// Advance lets time pass on connection c; Deadline is when it should be called.
	Advance(now mono.Time, c *srd.Conn)
	Deadline() mono.Time

	// Offer adds a batch to send; Withdraw takes back the part that was not pulled.
	Offer(Batch)
	Withdraw()
	// Begun is how many items have been numbered so far.
	Begun() int
	// Undelivered returns how many items from number first on have not arrived, and the
	// first of them.
	Undelivered(first int) (n, example int)
	// Dropped is how many items were dropped on purpose before they were pulled.
	Dropped() int
	// Open returns how many items the transport, or the app itself, holds.
	Open() int
	// Sending returns how many open items are on their way from here.
	Sending() int
	// Look checks invariants between turns, Account those at the end.
	Look(c *srd.Conn)
	Account(c *srd.Conn)
}

// Bare is the App without a layer between it and the transport.
type Bare struct{ *Stream }

// Deliver implements App. The stream of the other side checks the message.
func (b Bare) Deliver(_ mono.Time, m *srd.Message) { b.audit.Arrived(b.To, b.From, m) }

func (b Bare) Restarted(mono.Time)          {}
func (b Bare) Advance(mono.Time, *srd.Conn) {}
func (b Bare) Deadline() mono.Time          { return mono.Never }
func (b Bare) Begun() int                   { return b.Pulled }

// Sending implements App.
func (b Bare) Sending() int { return b.Open() }

// Dropped implements App.
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

// Account implements App. Each message is delivered, given up, or excused by a restart, and
// each payload given back.
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
