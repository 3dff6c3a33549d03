package daemon

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// noAnswerAfter is how long what was sent may be unanswered before a peer counts
// as silent: what WireGuard waits for the answer to a handshake (REKEY_TIMEOUT),
// and many times what acknowledgements take.
const noAnswerAfter = 5 * time.Second

// silence finds out from a connection's counters since when its peer owes an
// answer. Acknowledgements and keepalives are not answered, so with a session only
// messages count, and without one the packets of handshakes. Use starts with the
// zero value.
type silence struct {
	heard uint64    // packets that proved to be the peer's, in a measure that only grows
	asked uint64    // likewise, what it should answer
	tx    uint64    // bytes sent
	from  mono.Time // of the first unanswered one, as far as the observer saw; 0: none
}

// observe looks at the counters, at least once in a while.
func (s *silence) observe(now mono.Time, session bool, t *srd.Stats) {
	heard, asked := t.RxBytes+t.Handshakes, t.Sent+t.Retransmitted
	switch {
	case heard != s.heard:
		s.from = 0
	case s.from == 0 && (asked != s.asked || !session && t.TxBytes != s.tx):
		s.from = now
	}
	s.heard, s.asked, s.tx = heard, asked, t.TxBytes
}

// since returns from when on the peer has not answered, if that is long ago.
func (s *silence) since(now mono.Time) (from mono.Time, silent bool) {
	return s.from, s.from != 0 && now.Sub(s.from) >= noAnswerAfter
}
