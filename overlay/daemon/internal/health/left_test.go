package health

import (
	"testing"

	"github.com/srdtun/srdtun/srd"
)

// Each step is a second after the previous one. A step has the number of new CLOSE packets, and the
// expected second in which the peer left.
func TestLeft(t *testing.T) {
	type step struct {
		session bool
		closed  uint64
		left    int // second; 0: the peer has not left
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"no session, and none before", []step{{}, {}}},
		{"a session expires", []step{{session: true}, {}, {}}},
		{"the peer leaves and comes back", []step{{session: true}, {closed: 1, left: 2}, {left: 2}, {session: true}, {}}},
		{"the peer leaves twice", []step{{session: true}, {closed: 1, left: 2}, {session: true}, {closed: 1, left: 4}}},
		{"a second CLOSE", []step{{session: true}, {closed: 1, left: 2}, {closed: 1, left: 2}}},
		{"a CLOSE under replaced keys", []step{{session: true}, {session: true, closed: 1}, {}}},
		{"a new session within a second", []step{{session: true}, {session: true, closed: 1}, {session: true}}},
	} {
		var l Left
		var n srd.Stats
		for i, st := range c.steps {
			n.Drops[srd.DropClosed] += st.closed
			l.Observe(at(i+1), srd.Session{Ready: st.session}, &n)
			if want := at(st.left); l.At() != want {
				t.Errorf("%s: step %d: left at %v, want %v", c.name, i, l.At(), want)
			}
		}
	}
}
