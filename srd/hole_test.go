package srd

import (
	"testing"
	"time"
)

// Several large packets in a row are lost while small ones arrive. Then a challenge of the
// same size tests whether the path still carries such packets. If the peer answers the
// challenge, nothing changes.
func TestScriptBlackHole(t *testing.T) {
	for _, carries := range []bool{true, false} {
		s := newScript(t, 1)
		p := s.c.paths.table[0]
		small := func() {
			t.Helper()
			s.size = 100
			var pns []uint64
			for range reorderFirst + 1 {
				pns = append(pns, s.send(1, 0)[0].pn)
			}
			s.ack(got(0, pns...))
			s.ack(got(0, append(pns, s.send(1, 0)[0].pn)...))
			s.size = 1400
		}
		s.send(holeAfter-1, 0)
		small()
		if n := s.challenges(0); n != 0 || int(p.stats.Lost) < holeAfter-1 {
			t.Fatalf("%d challenges after %d large packets were lost", n, p.stats.Lost)
		}
		s.mute = !carries
		s.send(1, 0)
		small()
		if n := s.challenges(0); n != 1 {
			t.Errorf("%d challenges after large packets were lost, want one", n)
		}
		s.wait(2 * holeTries * mtuWait)
		asked := 0
		for _, q := range s.sent {
			if q.size == 1472 && len(q.numbers()) == 0 {
				asked++
			}
		}
		switch {
		case carries && (p.mtu != 1472 || asked != 1):
			t.Errorf("it carries %d bytes after %d challenges, all answered", p.mtu, asked)
		case !carries && (p.mtu != BasePacket || s.c.paths.packet != BasePacket || asked < holeTries):
			t.Errorf("it carries %d bytes after %d challenges without an answer", p.mtu, asked)
		}
		// As on a new path, larger sizes are probed.
		s.mute = false
		s.wait(time.Second)
		if p.mtu < 1400 {
			t.Errorf("it carries %d bytes, and answers again", p.mtu)
		}
		s.wantSound(t)
	}
}

// The arrival of a large packet shows that the path carries large packets, however many
// were lost.
func TestScriptLossIsNoBlackHole(t *testing.T) {
	s := newScript(t, 1)
	for range 5 * holeAfter {
		v := s.send(holeAfter+1, 0)
		s.ack(got(0, v[holeAfter].pn))
		s.size = 100
		w := s.send(1, 0)
		s.ack(got(0, v[holeAfter].pn, w[0].pn))
		s.size = 1400
	}
	if n := s.challenges(0); n != 0 {
		t.Errorf("%d challenges though large packets arrive", n)
	}
	s.wantSound(t)
}

// A challenge of a far path is not unanswered before the path's round trip is over.
func TestScriptHoleOnAFarPath(t *testing.T) {
	const far = 600 * time.Millisecond
	s := newFarScript(t, far)
	p := s.c.paths.table[4]
	p.probe = probe{next: s.now, want: uint16(p.mtu), hole: true}
	s.c.paths.probing.Add(int(p.slot))
	before := s.challenges(4)
	if s.wait(far); s.challenges(4) != before+1 || p.mtu == BasePacket {
		t.Errorf("%d challenges in one round trip, then full packets have %d bytes", s.challenges(4)-before, p.mtu)
	}
}
