package ep

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// Bounds that both ends know.
const (
	// MaxMessage is the most bytes of a message: what three bytes can say, and less than
	// a window, so that no message waits for itself.
	MaxMessage = 1 << 20
	// window is what the pieces may cost that a receiver has not taken yet: what a path of
	// 300 Mbit/s and 100 ms holds.
	window = 4 << 20
	// pieceCost is what a piece costs beside its bytes: about the memory of one alone.
	pieceCost = 128
	// leastPiece is the shortest piece that a message is cut into for want of credit: many
	// short ones would be a load for both.
	leastPiece = 1024
	// reliablePiece is the longest piece of a reliable message: any path carries it, also
	// when the network has changed since it was first sent.
	reliablePiece = srd.BasePacket - wire.Overhead - wire.MessageOverhead
)

// letter is a message on its way. It owns its pieces at the transport.
type letter struct {
	out    *outgoing
	data   []byte
	number uint32
	at     int       // bytes cut so far
	until  mono.Time // given up then; 0: reliable
	done   func(srd.Status)

	over   bool // what is left is not worth sending
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

// class returns how long pieces that are sent now are worth repairing.
func (l *letter) class(now mono.Time) srd.Class {
	if l.until == 0 {
		return srd.Reliable
	}
	return srd.Deadline(l.until.Sub(now))
}

// outcome is what a message's sender is to be told.
type outcome struct {
	f func(srd.Status)
	s srd.Status
}

// outgoing is what one end sends: an srd.Source. It is not safe for concurrent use.
type outgoing struct {
	queue  []*letter
	number uint32     // of the next message
	held   int        // what messages without a status cost
	due    mono.Time  // when to look for messages whose time is over; 0: none has one
	told   *[]outcome // where what became of messages is put, to be told
	wake   func()     // is called when a message has a status

	sent    uint64 // what all pieces so far cost
	allowed uint64 // and may

	credits receipts
	reset   bool // the transport said that the peer is gone
}

// receipts are the credits on their way.
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

// cost is what a message counts while it has no status.
func cost(data []byte) int { return len(data) + pieceCost }

// push takes a message; life 0: reliable.
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

// owe has the peer told how much was taken.
func (o *outgoing) owe(taken uint64) { o.credits.owed, o.credits.taken = true, taken }

// credit takes what the peer says it has taken. It returns false when that cannot be.
func (o *outgoing) credit(taken uint64) bool {
	if taken > o.sent {
		return false
	}
	o.allowed = max(o.allowed, taken+window)
	return true
}

// room returns how many bytes the next piece may have, and whether that is enough. What a
// rest costs is always left over.
func (o *outgoing) room() (n int, ok bool) {
	if len(o.queue) == 0 {
		return 0, false
	}
	l := o.queue[0]
	rest := len(l.data) - l.at
	n = int(int64(o.allowed) - int64(o.sent) - 2*pieceCost)
	return n, l.over || n >= min(rest, leastPiece)
}

// backlog reports whether pull would return something.
func (o *outgoing) backlog() bool {
	_, ok := o.room()
	return ok || o.credits.owed
}

// pull returns the next piece, of at most so many bytes.
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

// rest ends a message that was begun, and whose time is over: the peer waits for no more.
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

// expire gives up the messages whose time is over.
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

// settle notes what became of l once that is known of all its pieces.
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

// end resets what the transport does not have. What it has it resets itself, or did.
func (o *outgoing) end() {
	for _, l := range o.queue {
		l.cut, l.status = true, srd.Reset
		o.settle(l)
	}
	o.queue, o.due, o.credits.owed = nil, 0, false
}
