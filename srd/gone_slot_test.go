package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// The peer acknowledges packets of a freed path, and answers challenges that were sent on
// it. All of these are handled correctly, although another path may have the slot
// (CVE-2025-29785 of quic-go).
func TestScriptAcknowledgedPathIsGone(t *testing.T) {
	for name, lie := range map[string]bool{"true": false, "of packets that were never sent": true} {
		s := newScript(t, 3)
		v := s.send(3, 1)
		s.c.paths.freePath(s.c.paths.table[1]) // as if its address had been removed
		s.ack(got(1, v[0].pn, v[1].pn))
		s.arrive(0, BasePacket, repeated(1, 7, wire.KindResponse)) // a response to a challenge on the freed path
		s.wantEnded(false)
		s.wantSound(t)
		// Another path has the slot now, and a late acknowledgement refers to the path that had
		// the slot before.
		s.c.SetTuples(s.now, []Tuple{s.tuple(0), s.tuple(2), s.tuple(3)})
		s.wait(time.Second)
		if p := s.c.paths.table[1]; p.state == PathFree || p.tuple != s.tuple(3) {
			t.Fatalf("the slot is %v, of %v", p.state, p.tuple)
		}
		pn := v[2].pn
		if lie {
			pn += 1 << 20
		}
		s.ack(got(1, pn))
		if s.wantEnded(lie); t.Failed() {
			t.Fatalf("records that are %s", name)
		}
		s.wantSound(t)
	}
}
