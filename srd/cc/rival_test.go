package cc

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// shared simulates, round by round, a link of 100 Mbit/s that the network's sender shares with
// competing Reno connections.
type shared struct {
	*network
	buffer float64       // bytes
	others float64       // the competitors' bytes in flight
	flows  float64       // number of the competitors' connections
	longer time.Duration // how much longer than base a round trip without a queue is
	used   float64       // part of the window that is in flight
}

const sharedRate = 100 * mbit

func newShared(buffer time.Duration, flows float64) *shared {
	return &shared{network: steady(), buffer: sharedRate * buffer.Seconds(), others: flows * 10 * MSS, flows: flows, used: 1}
}

// turn simulates one round trip. Bytes beyond the buffer are lost, in proportion to each sender's
// bytes in flight.
func (s *shared) turn() {
	under := float64(s.Window()) + s.others
	empty := sharedRate * (base + s.longer).Seconds()
	room := s.buffer + empty
	if over := under - room; over > 0 {
		s.Lost(s.now, int(over*float64(s.Window())/under))
		s.others *= 1 - (1-cubicBeta)/s.flows*min(s.flows, over*s.others/under/MSS)
	}
	queue := time.Duration(min(s.buffer, max(0, under-empty)) / sharedRate * 1e9)
	s.hears(queue + s.longer)
	if s.others > 0 {
		s.others += s.flows * MSS
	}
}

// hears acknowledges one window. The base is known only from these round trips.
func (s *shared) hears(queue time.Duration) {
	flight, trip := int(s.used*float64(s.Window())), base+queue
	packets := max(1, flight/MSS)
	span := max(trip, time.Millisecond)
	for range packets {
		s.now += mono.Time(span) / mono.Time(packets)
		stray := s.path.Residual(s.now, trip)
		if s.Queued() == Nobody {
			s.path.Release(s.now)
		} else {
			s.path.SetContended(s.now, s.Queued() == Others)
		}
		s.path.Add(s.now, trip, 0)
		s.Ack(s.now, Ack{Bytes: MSS, RTT: trip, Base: s.path.Base(), Empty: s.path.Empty(), Residual: stray}, true)
	}
}

// run calls turn the given number of times.
func (s *shared) run(turns int) {
	for range turns {
		s.turn()
	}
}

// While competitors keep a queue, the window first shrinks, and is then restored. It is less than a
// few packets only until the competitors are detected.
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

// share returns the sender's share of the link's rate in the given number of round trips.
func (s *shared) share(turns int) float64 {
	ours, all := 0.0, 0.0
	for range turns {
		s.turn()
		ours += float64(s.Window())
		all += float64(s.Window()) + s.others
	}
	return ours / all
}

// If competitors never let a deep buffer drain, the sender's share does not fall with time, because
// the least round trip of the last minutes does not count as the base.
func TestDeepBufferIsShared(t *testing.T) {
	s := newShared(200*time.Millisecond, 1)
	for minute := range 10 {
		if part := s.share(600); minute > 0 && (part < 0.25) {
			t.Errorf("minute %d: %.2f of the link, beside one other", minute, part)
		}
	}
}

// competing returns a sender in the competitive mode, not during or shortly before a drain, and not
// shortly after a cut.
func competing(t *testing.T) *shared {
	t.Helper()
	s := newShared(200*time.Millisecond, 1)
	s.run(1000)
	if !(s.rival.whose == Others) {
		t.Fatal("it does not compete")
	}
	for s.undo != 0 || s.drain.Sub(s.now) < 2*time.Second || s.now.Sub(s.cut) < time.Second {
		s.turn()
	}
	return s
}

// Packets that were sent before a cut may be lost for another round trip. These losses belong to
// the same overflow.
func TestOverflowIsCutOnce(t *testing.T) {
	s := competing(t)
	before, trip := s.Window(), base+s.queue
	for range 2 {
		s.Lost(s.now, 5*MSS)
		s.hears(trip)
	}
	if left := float64(s.Window()) / float64(before); left < cubicBeta*0.99 || left > cubicBeta*1.2 {
		t.Errorf("%.2f of the window is left after one overflow that took two rounds", left)
	}
	s.hears(trip)
	s.Lost(s.now, 5*MSS)
	again := s.Window()
	s.hears(trip)
	if left := float64(s.Window()) / float64(again); left > cubicBeta*1.1 {
		t.Errorf("%.2f of the window is left after another one", left)
	}
}

// Losses before the competitive mode do not cause a cut at its beginning.
func TestLossesBeforeDoNotCutItsStart(t *testing.T) {
	begun := func(lossy bool) (most int) {
		s := newShared(200*time.Millisecond, 1)
		for n := 0; !(s.rival.whose == Others); n++ {
			if lossy && n%2 == 0 {
				s.Lost(s.now, MSS)
			}
			if s.turn(); n > 2000 {
				t.Fatal("it does not compete")
			}
		}
		for range 60 {
			s.turn()
			most = max(most, s.Window())
		}
		return most
	}
	if with, without := begun(true), begun(false); with < without/2 {
		t.Errorf("a window of %d bytes at the start, and of %d where nothing was lost before", with, without)
	}
}

// After a drain few bytes are in flight. A loss shortly after the drain cuts the window from before
// the drain, and only once.
func TestLossAfterAQuestionIsCutOnce(t *testing.T) {
	s := newShared(200*time.Millisecond, 1)
	s.run(1000)
	for s.undo == 0 {
		s.turn()
	}
	for s.undo != 0 {
		s.hears(150 * time.Millisecond)
	}
	before := s.Window()
	s.used = 0.4 // the window fills again
	s.Lost(s.now, MSS)
	s.hears(150 * time.Millisecond)
	if left := float64(s.Window()) / float64(before); left < cubicBeta*0.9 {
		t.Errorf("%.2f of the window is left", left)
	}
}

// During a pause CUBIC's curve would rise with the time, although nothing is learned about the
// link. After a pause beside competitors, the sender must not send such a large window at once.
func TestPauseBesideOthersIsNoBurst(t *testing.T) {
	s := newShared(200*time.Millisecond, 1)
	s.run(1000)
	if !(s.rival.whose == Others) {
		t.Fatal("it does not compete")
	}
	queue := s.queue
	s.now += mono.Time(20 * time.Second)
	for range 50 {
		last, asks := s.Window(), s.undo != 0
		s.hears(queue)
		if now := s.Window(); !asks && s.undo == 0 && float64(now) > 1.6*float64(last) {
			t.Fatalf("a window of %d bytes, and of %d in the round before", now, last)
		}
	}
}

// If the path of a single sender becomes longer, it first assumes competitors, and then detects
// that there are none. Except for some seconds it uses the whole link, and the queue is short
// again.
func TestLongerWayIsNoQueue(t *testing.T) {
	for _, longer := range []time.Duration{3, 6, 10, 30, 100} {
		s := newShared(200*time.Millisecond, 1)
		s.others = 0
		s.run(2000)
		s.longer = longer * time.Millisecond
		begin, mean, turns := s.now, 0.0, 0.0
		for ; s.now.Sub(begin) < time.Minute; turns++ {
			s.turn()
			mean += float64(s.Window())
		}
		if s.rival.whose == Others {
			t.Errorf("%v more: it competes after a minute", s.longer)
		}
		if full := sharedRate * (base + s.longer).Seconds(); mean/turns < full/2 {
			t.Errorf("%v more: the window was %.0f of %.0f bytes in the mean", s.longer, mean/turns, full)
		}
		if q := time.Duration(float64(s.Window())/sharedRate*1e9) - base - s.longer; q > 2*s.Target() {
			t.Errorf("%v more: the queue is %v after a minute, aimed for are %v", s.longer, q, s.Target())
		}
	}
}

// When the competitors have stopped, the queue is soon short again.
func TestStopsCompetingWhenAlone(t *testing.T) {
	s := newShared(20*time.Millisecond, 1)
	s.run(1000)
	if !(s.rival.whose == Others) {
		t.Fatal("it does not compete")
	}
	s.others = 0
	for gone := s.now; s.now.Sub(gone) < drainEvery+2*time.Second; {
		s.turn()
	}
	if q := time.Duration(float64(s.Window()) / sharedRate * 1e9); (s.rival.whose == Others) || q > 2*s.Target() {
		t.Errorf("competes %v, queue %v", (s.rival.whose == Others), q)
	}
}

// A single sender never enters the competitive mode, however the rate of the link changes, because
// its queue falls with its window.
func TestLoneSenderDoesNotCompete(t *testing.T) {
	n := steady()
	for _, rate := range []float64{100 * mbit, 25 * mbit, 400 * mbit, 50 * mbit} {
		for range 500 {
			n.rounds(1, true, max(0, time.Duration(float64(n.Window())/rate*1e9)-base))
			if n.rival.whose == Others {
				t.Fatalf("competes at %.0f Mbit/s with a window of %d", rate/mbit, n.Window())
			}
		}
	}
}

// The number of flows is bounded, and zero flows count as one.
func TestFlowsAreBounded(t *testing.T) {
	c := New(0)
	for _, n := range []int{-1, 0, 1, 7, 1 << 30} {
		c.Flows(n)
		if c.rival.flows < 1 || c.rival.flows > flowsMost {
			t.Errorf("%d flows count as %.0f", n, c.rival.flows)
		}
	}
}

// Two tunnels share one link. The base of the second includes the queue of the first. They do not
// treat each other as competitors, and do not fill the buffer.
func TestTunnelsAreNoRivals(t *testing.T) {
	for _, way := range []time.Duration{200 * time.Microsecond, 5 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond} {
		a, b := newShared(200*time.Millisecond, 1), newShared(200*time.Millisecond, 1)
		a.others, b.others = 0, 0
		a.longer, b.longer = way-base, way-base
		under := func(v ...*shared) (queue time.Duration) {
			all := 0.0
			for _, s := range v {
				all += float64(s.Window())
			}
			empty := sharedRate * way.Seconds()
			queue = time.Duration(min(a.buffer, max(0, all-empty)) / sharedRate * 1e9)
			for _, s := range v {
				if over := all - empty - a.buffer; over > 0 {
					s.Lost(s.now, int(over*float64(s.Window())/all))
				}
				s.hears(queue + s.longer)
			}
			return queue
		}
		for a.now < 20e9 {
			under(a)
		}
		b.now = a.now
		sum, n, competes := time.Duration(0), 0, 0
		for begin := a.now; a.now.Sub(begin) < 130*time.Second; {
			q := under(a, b)
			if b.now = a.now; a.now.Sub(begin) > 30*time.Second {
				sum += q
				n++
				if (a.rival.whose == Others) || (b.rival.whose == Others) {
					competes++
				}
			}
		}
		t.Logf("%v: queue %v, competing %.2f of the time", way, sum/time.Duration(n), float64(competes)/float64(n))
		if mean := sum / time.Duration(n); mean > a.Target()+b.Target()+25*time.Millisecond {
			t.Errorf("%v: a queue of %v in the mean, where %v and %v are aimed for", way, mean, a.Target(), b.Target())
		}
	}
}

// Delay in the peer's host counts as a queue, and the window shrinks for it. It does not count as a
// competitor's queue, however long it is.
func TestHostsQueueIsNoRivals(t *testing.T) {
	n := steady()
	for range 200 {
		flight := n.Window()
		for range max(1, flight/MSS) {
			n.now += mono.Time(30*time.Millisecond) / mono.Time(max(1, flight/MSS))
			n.Ack(n.now, Ack{Bytes: MSS, RTT: base, Base: base, Empty: base, PeerDelay: 30 * time.Millisecond}, true)
		}
		if n.Queued() == Others {
			t.Fatal("it competes")
		}
	}
	if n.Window() > 2*MinWindow {
		t.Errorf("a window of %d bytes", n.Window())
	}
}

// If the queue left by successive drains rises a little each time, the drains do not count as
// equal: a competitor fills the buffer slowly.
func TestSlowlyRisingAnswersAreOthers(t *testing.T) {
	s := competing(t)
	for queue := s.Target() * 3 / 5; queue < 2*s.Target(); queue += queue / (samePart + 4) {
		s.rival.least = queue
		if s.rival.answered(s.granule, s.Target()); s.Queued() != Others {
			t.Fatalf("with %v left the queue is taken to be %d", queue, s.Queued())
		}
	}
}
