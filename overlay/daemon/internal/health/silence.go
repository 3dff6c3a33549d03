package health

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// noAnswerAfter is the time without an answer after which a peer is reported as silent. WireGuard
// also waits for 5 s before it repeats a handshake (REKEY_TIMEOUT). An acknowledgement normally
// arrives in a small fraction of that time.
const noAnswerAfter = 5 * time.Second

// Silence computes from a connection's counters the time since which the peer owes an answer. An
// answer is an acknowledgement of a message, or a new session. Other packets of the peer are not
// answers, because they may arrive even if all packets to the peer are lost. A peer does not answer
// acknowledgements and keepalives. With a session only messages require an answer, and without a
// session only handshake packets. The zero value of Silence is ready for use.
type Silence struct {
	acked uint64    // number of messages that the peer has acknowledged
	begun mono.Time // start of the newest session, which proves both directions
	asked uint64    // number of messages sent, retransmissions included
	tx    uint64    // number of bytes sent
	from  mono.Time // observed time of the first packet that is not answered yet; 0: none
}

// Observe updates the state from the session and the counters. The daemon calls Observe about
// once a second.
func (s *Silence) Observe(now mono.Time, session srd.Session, t *srd.Stats) {
	asked := t.Sent + t.Retransmitted
	switch {
	case t.Acked != s.acked || session.Since != s.begun:
		s.from = 0
	case s.from == 0 && (asked != s.asked || !session.Ready && t.TxBytes != s.tx):
		s.from = now
	}
	s.acked, s.begun, s.asked, s.tx = t.Acked, session.Since, asked, t.TxBytes
}

// Since returns the time since which the peer owes an answer, and whether noAnswerAfter has
// passed.
func (s *Silence) Since(now mono.Time) (from mono.Time, silent bool) {
	return s.from, s.from != 0 && now.Sub(s.from) >= noAnswerAfter
}

// Start returns the time since which the peer owes an answer, even if that is recent, or 0 if it
// owes none.
func (s *Silence) Start() mono.Time { return s.from }
