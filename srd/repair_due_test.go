package srd

import (
	"testing"
	"time"
)

// While queues build up a path's round trips vary by so much that its timeout is longer
// than a payload is worth repairing. A lone packet that is lost on it, and that nothing
// follows there, is repaired in time all the same, unless nothing at all is heard.
func TestScriptLoneLossOnAnUnsteadyPath(t *testing.T) {
	for _, heard := range []bool{true, false} {
		s := newScript(t, 3)
		p := s.c.paths[0]
		for i := range 20 {
			p.rtt.Add(s.now, time.Duration(1+i%2*400)*time.Millisecond)
		}
		if d := p.timeout(&s.c.slack, 0, &s.c.rtt); d < 2*giveUpStream {
			t.Fatalf("the path's timeout is %v: nothing was tested", d)
		}
		lone := s.send(1, 0)[0]
		number := lone.numbers()[0]
		from := len(s.sent)
		s.mute = !heard
		begin, repaired := s.now, []uint16(nil)
		for repaired == nil && s.now.Sub(begin) < 2*giveUpStream/3 {
			s.wait(2 * time.Millisecond)
			if later := s.send(1, 1); heard {
				s.ack(got(1, later[0].pn))
				repaired = s.paths(from, number)
			}
		}
		if heard && (len(repaired) != 1 || repaired[0] == 0 || s.now.Sub(begin) < giveUpStream/3) {
			t.Errorf("sent again on paths %v after %v, want one other", repaired, s.now.Sub(begin))
		}
		if s.c.stats.GivenUp != 0 {
			t.Error("it is given up")
		}
		if p.state != PathActive || (p.stats.Lost != 0) != heard {
			t.Errorf("the path is %v, %d lost on it", p.state, p.stats.Lost)
		}
		s.wantSound(t)
		if !heard {
			continue
		}
		// It had only been late: that says nothing of the order of packets.
		before := p.reorder
		s.ack(got(0, lone.pn))
		if p.stats.Spurious != 1 || p.reorder != before {
			t.Errorf("%d spurious losses, a gap of %d is a loss, before %d", p.stats.Spurious, p.reorder, before)
		}
	}
}
