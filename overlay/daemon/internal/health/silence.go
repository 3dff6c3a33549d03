package health

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// noAnswerAfter is how long what was sent may be unanswered before a peer counts
// as silent: what WireGuard waits for the answer to a handshake (REKEY_TIMEOUT),
// and many times what acknowledgements take.
const noAnswerAfter = 5 * time.Second

// Silence finds out from a connection's counters since when its peer owes an
// answer. What it says of its own accord is none: if the way there is cut, its
// packets may still get here. Acknowledgements and keepalives are not answered, so
// with a session only messages count, and without one the packets of handshakes. Use
// starts with the zero value.
type Silence struct {
	acked uint64    // messages that the peer had
	begun mono.Time // when the newest session began, which takes both directions
	asked uint64    // what it should answer, in a measure that only grows
	tx    uint64    // bytes sent
	from  mono.Time // of the first unanswered one, as far as the observer saw; 0: none
}

// Observe looks at session and counters, at least once in a while.
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

// Since returns from when on the peer has not answered, if that is long ago.
func (s *Silence) Since(now mono.Time) (from mono.Time, silent bool) {
	return s.from, s.from != 0 && now.Sub(s.from) >= noAnswerAfter
}

// Start returns since when the peer owes an answer, however long that is; 0: it does not.
func (s *Silence) Start() mono.Time { return s.from }
