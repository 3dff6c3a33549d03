package ep

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// These are bounds that both ends use.
const (
	// MaxMessage is the most bytes of a message. Its size fits in three bytes, and is
	// less than a window, so that no message waits for a credit that only itself could
	// cause.
	MaxMessage = 1 << 20
	// window bounds the cost of pieces that a receiver has not taken yet. A path of 300
	// Mbit/s with a round trip of 100 ms holds that many bytes in flight.
	window = 4 << 20
	// pieceCost is the cost of a piece in addition to its bytes: about the memory that it
	// needs.
	pieceCost = 128
	// leastPiece is the shortest piece that is sent if the credit does not suffice for a
	// longer one. Many short pieces would be expensive for both ends.
	leastPiece = 1024
	// reliablePiece is the longest piece of a reliable message. Every path can carry it,
	// even if the network has changed since the piece was first sent.
	reliablePiece = srd.BasePacket - wire.Overhead - wire.MessageOverhead
)

// letter is a message that is being sent. It is the srd.Owner of its pieces.
type letter struct {
	out    *outgoing
	data   []byte
	number uint32
	at     int       // bytes cut so far
	until  mono.Time // deadline; 0: reliable
	done   func(srd.Status)

	over   bool // the remaining bytes are not worth sending
	open   int  // pieces without a status
	cut    bool
	status srd.Status // the worst so far
}

// Done implements srd.Owner.
func (l *letter) Done(s srd.Status) {
	l.open--
	l.status = max(l.status, s)
	l.out.settle(l)
}

// class returns the class of pieces that are sent now, which says how long they are worth
// repairing.
func (l *letter) class(now mono.Time) srd.Class {
	if l.until == 0 {
		return srd.Reliable
	}
	return srd.Deadline(l.until.Sub(now))
}

// outcome is a status to report to the sender of a message.
type outcome struct {
	f func(srd.Status)
	s srd.Status
}

// outgoing holds the messages that one end sends: an srd.Source. It is not safe for
// concurrent use.
type outgoing struct {
	queue  []*letter
	number uint32     // of the next message
	held   int        // cost of messages without a status
	due    mono.Time  // earliest deadline to check; 0: none
	told   *[]outcome // outcomes to report
	wake   func()     // called when a message gets a status

	sent    uint64 // cost of all pieces so far
	allowed uint64 // bound of sent

	credits receipts
	reset   bool // the transport reported that the peer is gone
}

// receipts are credits that are being sent.
type receipts struct {
	out   *outgoing
	owed  bool
	taken uint64
}

// Done implements srd.Owner.
func (r *receipts) Done(s srd.Status) { r.out.reset = r.out.reset || s == srd.Reset }

func (o *outgoing) init(told *[]outcome, wake func()) {
	o.allowed, o.credits.out = window, o
	o.told, o.wake = told, wake
}

// cost returns the cost of a message without a status.
func cost(data []byte) int { return len(data) + pieceCost }

// push queues a message. If life is 0 the message is reliable.
func (o *outgoing) push(now mono.Time, data []byte, life time.Duration, done func(srd.Status)) {
	l := &letter{out: o, data: data, number: o.number, done: done}
	if life > 0 {
		l.until = now.Add(life)
		o.expect(l.until)
	}
	o.number++
	o.held += cost(data)
	o.queue = append(o.queue, l)
}

func (o *outgoing) expect(t mono.Time) {
	if o.due == 0 || t < o.due {
		o.due = t
	}
}

// owe schedules a credit for the peer.
func (o *outgoing) owe(taken uint64) { o.credits.owed, o.credits.taken = true, taken }

// credit applies a credit from the peer. It returns false if the stated value is
// impossible.
func (o *outgoing) credit(taken uint64) bool {
	if taken > o.sent {
		return false
	}
	o.allowed = max(o.allowed, taken+window)
	return true
}

// room returns how many bytes the next piece may have, and whether these are enough. It
// always leaves enough credit for a rest.
func (o *outgoing) room() (n int, ok bool) {
	if len(o.queue) == 0 {
		return 0, false
	}
	l := o.queue[0]
	rest := len(l.data) - l.at
	n = int(int64(o.allowed) - int64(o.sent) - 2*pieceCost)
	return n, l.over || n >= min(rest, leastPiece)
}

// backlog reports whether pull would return a piece.
func (o *outgoing) backlog() bool {
	_, ok := o.room()
	return ok || o.credits.owed
}

// pull returns the next piece, with as many bytes as most allows.
func (o *outgoing) pull(now mono.Time, most int) (m srd.Message, ok bool) {
	if o.credits.owed {
		o.credits.owed = false
		h := header{kind: kindCredit, taken: o.credits.taken}
		m = srd.Message{Owner: &o.credits, Class: srd.Reliable}
		h.put(&m.Imm)
		return m, true
	}
	o.expire(now)
	room, ok := o.room()
	if !ok {
		return m, false
	}
	l := o.queue[0]
	if l.over {
		return o.rest(l), true
	}
	n := min(most, room, len(l.data)-l.at, pieceMost)
	if l.until == 0 {
		n = min(n, reliablePiece)
	}
	h := header{kind: kindPiece, number: l.number, total: len(l.data), at: l.at, size: n}
	m = srd.Message{Data: l.data[l.at : l.at+n], Owner: l, Class: l.class(now)}
	h.put(&m.Imm)
	o.sent += uint64(n + pieceCost)
	l.open++
	if l.at += n; l.at == len(l.data) {
		l.cut = true
		o.pop(0)
	}
	return m, true
}

// rest ends a message whose deadline passed after a part was sent, so that the peer stops
// waiting for more.
func (o *outgoing) rest(l *letter) (m srd.Message) {
	h := header{kind: kindRest, number: l.number, total: len(l.data), at: l.at}
	m = srd.Message{Owner: l, Class: srd.Reliable}
	h.put(&m.Imm)
	o.sent += uint64(h.price())
	l.open++
	l.cut, l.status = true, max(l.status, srd.GivenUp)
	o.pop(0)
	return m
}

// expire gives up the messages that are past their deadlines.
func (o *outgoing) expire(now mono.Time) {
	if o.due == 0 || now < o.due {
		return
	}
	o.due = 0
	for i := 0; i < len(o.queue); {
		switch l := o.queue[i]; {
		case l.until == 0:
			i++
		case now >= l.until && l.at > 0:
			l.over = true
			i++
		case now >= l.until:
			o.pop(i)
			l.cut, l.status = true, srd.GivenUp
			o.settle(l)
		default:
			o.expect(l.until)
			i++
		}
	}
}

func (o *outgoing) pop(i int) {
	copy(o.queue[i:], o.queue[i+1:])
	o.queue[len(o.queue)-1] = nil
	o.queue = o.queue[:len(o.queue)-1]
}

// settle records the status of l once all its pieces have one.
func (o *outgoing) settle(l *letter) {
	if !l.cut || l.open > 0 {
		return
	}
	o.held -= cost(l.data)
	o.reset = o.reset || l.status == srd.Reset
	if l.done != nil {
		*o.told = append(*o.told, outcome{l.done, l.status})
	}
	o.wake()
}

// end resets the messages that are still queued. The transport resets its own pieces.
func (o *outgoing) end() {
	for _, l := range o.queue {
		l.cut, l.status = true, srd.Reset
		o.settle(l)
	}
	o.queue, o.due, o.credits.owed = nil, 0, false
}
