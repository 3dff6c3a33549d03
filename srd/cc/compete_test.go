package cc

import (
	"testing"
	"time"
)

// shared is a link of 100 Mbit/s, round by round, that the network's sender shares with one
// that holds so many bytes under way, as Reno does.
type shared struct {
	*network
	buffer float64 // bytes
	others float64 // bytes under way
	flows  float64 // of theirs
}

const sharedRate = 100 * mbit

func newShared(buffer time.Duration, flows float64) *shared {
	return &shared{network: steady(), buffer: sharedRate * buffer.Seconds(), others: flows * 10 * MSS, flows: flows}
}

// turn is one round trip. What does not fit is lost, of both in proportion.
func (s *shared) turn() {
	under := float64(s.Window()) + s.others
	room := s.buffer + sharedRate*base.Seconds()
	if over := under - room; over > 0 {
		s.Lost(s.now, int(over*float64(s.Window())/under))
		s.others *= 1 - (1-cubicBeta)/s.flows*min(s.flows, over*s.others/under/MSS)
	}
	queue := time.Duration(min(s.buffer, max(0, under-sharedRate*base.Seconds())) / sharedRate * 1e9)
	s.rounds(1, true, queue)
	if s.others > 0 {
		s.others += s.flows * MSS
	}
}

// run lets so many turns pass.
func (s *shared) run(turns int) {
	for range turns {
		s.turn()
	}
}

// What was taken off the window while others hold the queue up is given back: it is less
// than a few packets for no longer than it takes to find out.
func TestIsNotSqueezedOut(t *testing.T) {
	s := newShared(20*time.Millisecond, 1)
	s.run(1000)
	squeezed := 0
	for range 1000 {
		s.turn()
		if s.Window() <= 2*MinWindow {
			squeezed++
		}
	}
	if squeezed > 100 {
		t.Errorf("squeezed out in %d of 1000 round trips", squeezed)
	}
}

// When the others are gone the queue is short again soon.
func TestStopsCompetingWhenAlone(t *testing.T) {
	s := newShared(20*time.Millisecond, 1)
	s.run(1000)
	if !s.rival.on {
		t.Fatal("it does not compete")
	}
	s.others = 0
	for gone := s.now; s.now.Sub(gone) < drainEvery+2*time.Second; {
		s.turn()
	}
	if q := time.Duration(float64(s.Window()) / sharedRate * 1e9); s.rival.on || q > 2*s.Target() {
		t.Errorf("competes %v, queue %v", s.rival.on, q)
	}
}

// A lone sender's queue falls with its window: it never competes, whatever the rate of the
// link becomes.
func TestLoneSenderDoesNotCompete(t *testing.T) {
	n := steady()
	for _, rate := range []float64{100 * mbit, 25 * mbit, 400 * mbit, 50 * mbit} {
		for range 500 {
			n.rounds(1, true, max(0, time.Duration(float64(n.Window())/rate*1e9)-base))
			if n.rival.on {
				t.Fatalf("competes at %.0f Mbit/s with a window of %d", rate/mbit, n.Window())
			}
		}
	}
}

// The number of flows is bounded, and none counts as one.
func TestFlowsAreBounded(t *testing.T) {
	c := New(0)
	for _, n := range []int{-1, 0, 1, 7, 1 << 30} {
		c.Flows(n)
		if c.rival.flows < 1 || c.rival.flows > flowsMost {
			t.Errorf("%d flows count as %.0f", n, c.rival.flows)
		}
	}
}
