package order

import (
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
)

// later adds a message whose payload is copied only when Copies.Run is called.
func (s *script) later(c *srd.Copies, m *srd.Message) {
	s.Helper()
	m.Copies = c
	s.add(m)
}

func (s *script) ready() (lengths []int) {
	for _, f := range s.g.TakeReady(nil) {
		if !clean(f) {
			s.Error("a byte that nobody sent was delivered")
		}
		lengths = append(lengths, len(f.Data))
		f.Release()
	}
	return lengths
}

// A frame into which a copy is in progress delays the later frames. No frame is lost.
func TestReadyIsFilled(t *testing.T) {
	s := newScript(t, Config{})
	var mine, theirs srd.Copies
	s.add(piece(0, 0, 0, 600, 600))
	s.later(&mine, piece(0, 1, 0, 700, 1400))
	s.later(&theirs, piece(0, 1, 700, 700, 1400))
	s.add(piece(1, 0, 0, 800, 800))
	if got := s.ready(); len(got) != 1 || got[0] != 600 {
		t.Errorf("took %v", got)
	}
	mine.Run()
	if got := s.ready(); len(got) != 0 {
		t.Errorf("took %v, half of which is still copied", got)
	}
	theirs.Run()
	if got := s.ready(); len(got) != 2 || got[0] != 1400 || got[1] != 800 {
		t.Errorf("took %v", got)
	}
}

// If a frame is given up during a copy into it, it is returned to its pool after the copy.
func TestGivenUpWhileFilled(t *testing.T) {
	s := newScript(t, Config{})
	var c srd.Copies
	s.later(&c, piece(0, 1, 0, 500, 1000))
	s.later(&c, piece(0, 2, 0, 900, 900))
	s.g.EachHeld(func(*frame.Frame) { t.Error("its bytes are not there yet") })
	s.g.Reset(s.now)
	if s.pool.out != 2 {
		t.Errorf("%d frames are out, while two are copied into", s.pool.out)
	}
	c.Run()
	if s.pool.out != 1 {
		t.Errorf("%d frames are out", s.pool.out)
	}
	if got := s.ready(); len(got) != 1 || got[0] != 900 {
		t.Errorf("took %v", got)
	}
}
