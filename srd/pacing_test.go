package srd

import (
	"testing"
	"time"
)

// paced is a fixed controller with a pacing rate.
type paced struct {
	*fixed
	rate float64 // bytes per second
}

func (p *paced) Rate() float64 { return p.rate }

// Before the first round trip is measured there is no pacing rate. Packets that were sent
// before take no tokens from the pacer; later packets do.
func TestScriptNoDebtFromBeforeThePace(t *testing.T) {
	s := newScript(t, 2)
	control := &paced{fixed: s.fixed}
	s.c.env.cfg.Control = control
	first := s.send(100, 0)
	control.rate = 1e6
	s.ackAll(s.c.recovery.out.next, nil)
	s.send(1, 0)
	s.wantSound(t)

	s.left = 100
	from := len(s.sent)
	s.wait(time.Second / 20)
	sum := 0
	for _, p := range s.sent[from:] {
		sum += p.size
	}
	if most := int(control.rate/20) + burstBytes + 2*first[0].size; s.left == 0 || sum > most || sum < int(control.rate/20)/2 {
		t.Errorf("%d bytes in 50 ms at %.0f bytes/s", sum, control.rate)
	}
}
