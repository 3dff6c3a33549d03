package order

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/budget"
)

// hoard sends whole frames of 1,000 bytes, each of which waits for one that is never sent. It
// returns the largest amount of memory that the frames took.
func (s *script) hoard(slot uint16, bytes int) (most int) {
	for i := range uint32(bytes / 1000) {
		s.add(piece(slot+uint16(i%64), 2+2*(i/64), 0, 1000, 1000))
		most = max(most, s.g.Stats().Memory)
	}
	return most
}

// honest sends `bytes` bytes in order, which are delivered immediately.
func (s *script) honest(slot uint16, bytes int) {
	for i := range uint32(bytes / 1000) {
		s.add(piece(slot, i, 0, 1000, 1000))
		for f := s.g.Pop(); f != nil; f = s.g.Pop() {
			f.Release()
		}
	}
}

// If a peer delivers nothing, its frames may take little memory. If it delivers much, they may take
// about as much as it delivered, but only as long as those bytes count.
func TestWhatWaitsFollowsWhatIsDelivered(t *testing.T) {
	liar := newScript(t, Config{})
	if most := liar.hoard(0, 64<<20); most > firstBytes+1<<20 || most < firstBytes/2 {
		t.Errorf("%d bytes are held of a peer that delivers nothing", most)
	}
	if s := liar.g.Stats(); s.OverShare == 0 || s.Overflow != 0 {
		t.Errorf("%d over its share, %d overflows", s.OverShare, s.Overflow)
	}
	busy := newScript(t, Config{})
	busy.honest(100, 16<<20)
	busy.hoard(0, 12<<20)
	if s := busy.g.Stats(); s.OverShare != 0 || s.Overflow != 0 || s.HeldBytes < 11<<20 {
		t.Errorf("a busy peer holds %d bytes, and lost %d and %d", s.HeldBytes, s.OverShare, s.Overflow)
	}
	old := newScript(t, Config{})
	old.honest(100, 16<<20)
	old.now = old.now.Add(2 * earnTime)
	if most := old.hoard(0, 64<<20); most > firstBytes+1<<20 {
		t.Errorf("%d bytes are held for what was delivered long ago", most)
	}
}

// Peers whose frames take much memory share one budget. A peer above its share loses its own
// frames.
func TestPeersShareOneBudget(t *testing.T) {
	b := budget.New(16 << 20)
	honest := newScript(t, Config{Budget: b})
	honest.hoard(0, 50_000)
	var all []*script
	for range 32 {
		s := newScript(t, Config{Budget: b})
		s.hoard(0, 8<<20)
		all = append(all, s)
	}
	honest.hoard(200, 50_000)
	sum := 0
	for _, s := range all {
		s.hoard(64, 1<<20)
		sum += s.g.Stats().Memory
	}
	if sum > 17<<20 {
		t.Errorf("32 peers hold %d bytes", sum)
	}
	if s := honest.g.Stats(); s.OverShare+s.Overflow != 0 {
		t.Errorf("a peer below its share lost %d frames", s.OverShare+s.Overflow)
	}
	for _, s := range append(all, honest) {
		s.g.Reset(s.now)
	}
	if b.Users() != 0 {
		t.Errorf("%d users are left when all is given back", b.Users())
	}
	// The waiting may end because the missing frame arrives, because of the time limit, or because
	// of a tombstone.
	for name, end := range map[string]func(*script){
		"in order": func(s *script) { s.add(piece(0, 0, 0, 1000, 1000)); s.add(piece(0, 1, 0, 1000, 1000)) },
		"by time":  func(s *script) { s.g.Advance(s.now.Add(time.Hour)) },
		"given up": func(s *script) {
			for seq := range uint32(2) {
				m := piece(0, seq, 0, 1000, 1)
				m.Data, m.Expired = nil, true
				s.add(m)
			}
		},
	} {
		s := newScript(t, Config{Budget: b})
		for i := range uint32(200) {
			s.add(piece(0, 2+i, 0, 1000, 1000))
		}
		if b.Users() != 1 {
			t.Fatalf("%s: %d users", name, b.Users())
		}
		end(s)
		if b.Users() != 0 {
			t.Errorf("%s: %d users are left", name, b.Users())
		}
	}
}
