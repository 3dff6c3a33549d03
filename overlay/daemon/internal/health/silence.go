package health

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// noAnswerAfter is the time without an answer after which a peer counts as silent. WireGuard
// waits as long for the answer to a handshake (REKEY_TIMEOUT). It is many times the delay of
// an acknowledgement.
const noAnswerAfter = 5 * time.Second

// Silence finds out since when a peer owes an answer, from a connection's counters. Packets
// that the peer sends unasked are no answers, because they may arrive even if packets to the
// peer are lost. Acknowledgements and keepalives get no answer. So with a session only
// messages count, and without a session only handshake packets. The zero value is ready.
type Silence struct {
	acked uint64    // messages that the peer acknowledged
	begun mono.Time // start of the newest session, which proves both directions
	asked uint64    // messages to answer; only grows
	tx    uint64    // bytes sent
	from  mono.Time // observed time of the first unanswered packet; 0: none
}

// Observe reads the session and the counters. Call it about once a second.
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

// Since returns the time since which the peer owes an answer, and whether that is long ago.
func (s *Silence) Since(now mono.Time) (from mono.Time, silent bool) {
	return s.from, s.from != 0 && now.Sub(s.from) >= noAnswerAfter
}

// Start returns the time since which the peer owes an answer, even if that is recent, or 0 if
// it owes none.
func (s *Silence) Start() mono.Time { return s.from }
