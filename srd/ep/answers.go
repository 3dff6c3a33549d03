package ep

import (
	"slices"

	"github.com/srdtun/srdtun/srd"
)

// answers holds the unsent answers to one peer's requests, and counts the sent answers that are
// not yet acknowledged. An answers value is not safe for concurrent use.
type answers struct {
	queue  []byte // answers to be sent, of answerLen bytes each
	sent   int    // bytes of sent answers that are not yet acknowledged
	ready  int    // number of posted receives that are still to be announced
	broken bool   // the transport has dropped answers, because the session has ended
	spare  []*answerMessage
}

// spareMost bounds the answer messages that are kept for reuse. More than eight are in flight
// only if the network loses packets.
const spareMost = 8

// readyMost is the largest number of posted receives that one answer announces.
const readyMost = 1<<16 - 1

// answerMessage is a message that contains answers, and the srd.Owner of its own payload.
type answerMessage struct {
	of *answers
	b  []byte
}

// Done implements srd.Owner.
func (m *answerMessage) Done(s srd.Status) {
	m.of.broken = m.of.broken || s == srd.Reset
	m.of.sent -= len(m.b)
	if len(m.of.spare) < spareMost {
		m.of.spare = append(m.of.spare, m)
	}
}

func (a *answers) add(number uint32, v verdict) { a.queue = appendAnswer(a.queue, number, v) }

// unheard returns the number of answers, sent or not, that are not yet acknowledged.
func (a *answers) unheard() int { return (len(a.queue) + a.sent) / answerLen }

func (a *answers) waiting() bool { return len(a.queue) > 0 || a.ready > 0 }

// pull returns the next message of answers, with up to `most` bytes. Call pull() only if the
// method waiting() returns true.
func (a *answers) pull(most int) srd.Message {
	var m *answerMessage
	if n := len(a.spare); n > 0 {
		m, a.spare = a.spare[n-1], a.spare[:n-1]
	} else {
		m = &answerMessage{of: a}
	}
	n := min(len(a.queue), min(most, reliablePiece)/answerLen*answerLen)
	m.b = append(m.b[:0], a.queue[:n]...)
	a.queue = slices.Delete(a.queue, 0, n)
	a.sent += n
	h := header{kind: kindAnswer, ready: min(a.ready, readyMost)}
	a.ready = 0
	out := srd.Message{Data: m.b, Owner: m, Class: srd.Reliable}
	h.put(&out.Imm)
	return out
}

// reset deletes the unsent answers. The transport reports the status of the sent ones.
func (a *answers) reset() { a.queue, a.ready, a.broken = nil, 0, false }
