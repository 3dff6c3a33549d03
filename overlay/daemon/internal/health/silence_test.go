package health

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Each step is a second after the previous one. A step has the growth of each counter, and the
// expected second since which the peer owes an answer.
func TestSilence(t *testing.T) {
	type step struct {
		session             bool
		sent, resent, acked uint64
		shook               bool // a session began
		tx, rx              uint64
		silent              bool
		from                int // second
		seconds             int // number of seconds that pass before the step; 0 means one
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"nothing is sent", []step{{}, {session: true}, {seconds: 3600}}},
		{"a handshake without an answer", []step{
			{tx: 148}, {tx: 148}, {tx: 148}, {}, {}, {tx: 148, silent: true, from: 1}, {seconds: 3600, silent: true, from: 1}}},
		{"a handshake that is answered late", []step{
			{tx: 148}, {seconds: 6, silent: true, from: 1}, {session: true, shook: true}, {session: true, seconds: 3600}}},
		{"a session, and the peer dies", []step{
			{session: true, shook: true, tx: 300, rx: 100, sent: 5, acked: 5}, {session: true, sent: 1, tx: 100},
			{session: true, sent: 9, tx: 900, seconds: 4}, {session: true, resent: 9, tx: 900, silent: true, from: 2},
			{tx: 148, silent: true, from: 2}, {session: true, rx: 50, acked: 1}, {session: true, seconds: 9}}},
		{"a session, and only the way there is cut", []step{
			{session: true, shook: true, tx: 300, rx: 100}, {session: true, sent: 1, tx: 100, rx: 100},
			{session: true, resent: 1, tx: 100, rx: 100, seconds: 4}, {session: true, tx: 100, rx: 100, silent: true, from: 2},
			{session: true, rx: 100, acked: 1}}},
		{"no session, and the peer's calls are heard", []step{
			{tx: 148, rx: 148}, {tx: 100, rx: 148, seconds: 4}, {tx: 100, rx: 148, silent: true, from: 1}, {session: true, shook: true}}},
		{"what is only sent again", []step{
			{session: true, sent: 1, acked: 1, tx: 100, rx: 100}, {session: true, resent: 1, tx: 100}, {session: true, seconds: 5, silent: true, from: 2}}},
		{"acknowledgements and keepalives", []step{
			{session: true, shook: true, tx: 50, rx: 1000}, {session: true, tx: 50}, {session: true, tx: 50, seconds: 30}, {session: true, seconds: 9}}},
		{"keys expire after an acknowledgement", []step{
			{session: true, shook: true, tx: 50, rx: 1000}, {session: true, tx: 50}, {seconds: 180}, {seconds: 9}}},
	} {
		var s Silence
		var n srd.Stats
		var begun mono.Time
		second := 0
		for i, st := range c.steps {
			second += max(1, st.seconds)
			n.Sent, n.Retransmitted, n.Acked = n.Sent+st.sent, n.Retransmitted+st.resent, n.Acked+st.acked
			n.TxBytes, n.RxBytes = n.TxBytes+st.tx, n.RxBytes+st.rx
			now := at(second)
			if st.shook {
				begun = now
			}
			s.Observe(now, srd.Session{Ready: st.session, Since: begun}, &n)
			from, silent := s.Since(now)
			if silent != st.silent || silent && from != at(st.from) {
				t.Errorf("%s: step %d, second %d: silent %v since %v", c.name, i, second, silent, from)
			}
		}
	}
}

func at(second int) mono.Time { return mono.Time(0).Add(time.Duration(second) * time.Second) }
