package cc

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// shared is a link of 100 Mbit/s, round by round, that the network's sender shares with one
// that holds so many bytes under way, as Reno does.
type shared struct {
	*network
	buffer float64       // bytes
	others float64       // bytes under way
	flows  float64       // of theirs
	longer time.Duration // than base is an empty round trip
	used   float64       // part of the window that is in flight
}

const sharedRate = 100 * mbit

func newShared(buffer time.Duration, flows float64) *shared {
	return &shared{network: steady(), buffer: sharedRate * buffer.Seconds(), others: flows * 10 * MSS, flows: flows, used: 1}
}

// turn is one round trip. What does not fit is lost, of both in proportion.
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

// hears lets one window be acknowledged. Nobody but the packets tells of the base.
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

// share is the part of the link that it has in so many turns.
func (s *shared) share(turns int) float64 {
	ours, all := 0.0, 0.0
	for range turns {
		s.turn()
		ours += float64(s.Window())
		all += float64(s.Window()) + s.others
	}
	return ours / all
}

// A buffer so deep that others never let it run empty takes no share away with time: what is
// least for a minute is not taken for the round trip without a queue.
func TestDeepBufferIsShared(t *testing.T) {
	s := newShared(200*time.Millisecond, 1)
	for minute := range 10 {
		if part := s.share(600); minute > 0 && (part < 0.25) {
			t.Errorf("minute %d: %.2f of the link, beside one other", minute, part)
		}
	}
}

// competing returns one that competes: no question is asked, or soon will be, and no cut was made
// just now.
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

// What was sent before a cut may be lost for another round trip. That is the same overflow.
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

// What was lost before it competes is no reason to cut when that begins.
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

// To ask whether others are there leaves little in flight. A loss just after it cuts what was before.
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
	s.used = 0.4 // it fills again
	s.Lost(s.now, MSS)
	s.hears(150 * time.Millisecond)
	if left := float64(s.Window()) / float64(before); left < cubicBeta*0.9 {
		t.Errorf("%.2f of the window is left", left)
	}
}

// Time in which nothing is sent tells nothing of what the link carries: CUBIC's curve goes on with
// the clock, and what comes after a pause beside others is no burst of all that it has reached.
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

// A lone sender whose way becomes longer takes that for others, and finds out that there are
// none: it has the link all the time but for seconds, and the queue is short again.
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

// When the others are gone the queue is short again soon.
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

// A lone sender's queue falls with its window: it never competes, whatever the rate of the
// link becomes.
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

// Two tunnels on one link, of which the second takes the queue of the first for a part of the
// way, do not take each other for others and fill the buffer.
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

// What waits in the peer's host is a queue, and the window shrinks for it; but no rival holds it up,
// however many others wait there too.
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

// Answers that rise a little each time are not alike: that is a sender which fills the buffer slowly.
func TestSlowlyRisingAnswersAreOthers(t *testing.T) {
	s := competing(t)
	for queue := s.Target() * 3 / 5; queue < 2*s.Target(); queue += queue / (samePart + 4) {
		s.rival.least = queue
		if s.rival.answered(s.granule, s.Target()); s.Queued() != Others {
			t.Fatalf("with %v left the queue is taken to be %d", queue, s.Queued())
		}
	}
}
