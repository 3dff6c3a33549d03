package tcp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// lanes are parallel cables between two hosts. A subflow's port selects its lane, as with ECMP.
type lanes struct {
	*dumbbell
	links []*net.Link
	fork  func(port uint16) *net.Link
}

func newLanes(seed uint64, q ...net.Quality) *lanes {
	l := &lanes{dumbbell: newDumbbell(seed, net.Quality{Delay: q[0].Delay})}
	for _, q := range q {
		l.links = append(l.links, l.e.NewLink("lane", q, &l.rights))
	}
	l.fork = func(port uint16) *net.Link { return l.links[int(port)%len(l.links)] }
	l.filter.to = l
	return l
}

// Receive implements net.Node, and passes a packet to its lane.
func (l *lanes) Receive(p *net.Packet) { l.fork(p.Src.Port()).Receive(p) }

// multi creates a connection with k subflows. Subflow i has the port first+i.
func (l *lanes) multi(cfg Config, first, k int) (from, to *Multi) {
	var a, b []netip.AddrPort
	for i := range k {
		a = append(a, netip.AddrPortFrom(left, uint16(first+i)))
		b = append(b, netip.AddrPortFrom(right, uint16(first+i)))
	}
	from = NewMulti(l.e, cfg, l.filter, a, b)
	to = NewMulti(l.e, cfg, l.back, b, a)
	for i := range k {
		l.lefts[first+i], l.rights[first+i] = from, to
	}
	return from, to
}

// Four subflows on one bottleneck must get no more than a single TCP connection (RFC 6356, section
// 2, goal 2). The link must be full.
func TestSubflowsTakeNoMoreThanOne(t *testing.T) {
	l := newLanes(3, net.Quality{Rate: 50 * mbit, Delay: 10 * ms, Queue: 125_000, Loss: 1e-5})
	from, to := l.multi(known(Linux(), 20*ms), 1, 4)
	v := l.connect(known(modern(Reno), 20*ms), 100)
	from.Write(1 << 40)
	v.from.Write(1 << 40)
	l.e.Run(20*time.Second, nil)
	x, y := to.in.next, v.to.in.next
	l.e.Run(100*time.Second, nil)
	x, y = to.in.next-x, v.to.in.next-y
	within(t, "MPTCP / TCP", float64(x)/float64(y), 0.8, 1.2)
	within(t, "use", float64(x+y)/(100*50*mbit*1448/wire), 0.93, 1.0001)
}

// On otherwise unused lanes, a connection must use their whole capacity, even if the lanes are
// unequal.
func TestSubflowsUseAllLanes(t *testing.T) {
	q := net.Quality{Rate: 20 * mbit, Delay: 5 * ms, Queue: 50_000}
	slow := q
	slow.Rate /= 2
	l := newLanes(1, q, q, slow, q)
	from, to := l.multi(known(Linux(), 10*ms), 1, 8)
	from.Write(1 << 40)
	l.e.Run(5*time.Second, nil)
	before := to.in.next
	l.e.Run(20*time.Second, nil)
	within(t, "use", float64(to.in.next-before)/(20*70*mbit*1428/wire), 0.85, 1.002)
}

// If a lane fails, the other lanes must deliver its data in flight. The stream must continue long
// before the lane recovers.
func TestReinjection(t *testing.T) {
	q := net.Quality{Rate: 20 * mbit, Delay: 5 * ms, Queue: 50_000}
	l := newLanes(1, q, q)
	from, to := l.multi(known(Linux(), 10*ms), 1, 2)
	var received, acked int64
	to.Received = func(n int64) { received = n }
	from.Acked = func(n int64) { acked = n }
	const size = 5_000_000
	l.e.After(300*ms, l.links[1].Fail)
	from.Write(size)
	if !l.e.Run(10*time.Second, func() bool { return acked == size }) {
		t.Fatalf("%d acknowledged, %d received", acked, received)
	}
	if received != size || from.Reinjected == 0 || from.subflows[0].Stats.Timeouts+from.subflows[1].Stats.Timeouts == 0 {
		t.Errorf("received %d, reinjected %d", received, from.Reinjected)
	}
	if took := l.e.Since(); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

// A short message must use only one subflow, even if subflows take turns at an interface.
func TestTurnsKeepToTheFirstSubflow(t *testing.T) {
	l := newLanes(1, net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 1 << 20})
	cfg := known(Linux(), 10*ms)
	cfg.NIC = NewNIC(l.e, 100*mbit)
	from, to := l.multi(cfg, 1, 4)
	from.Write(25 * 1428)
	l.e.Run(4*ms, nil)
	for i, want := range []uint64{10, 10, 5, 0} {
		if got := from.subflows[i].Stats.Segments; got != want {
			t.Errorf("subflow %d carries %d segments, not %d", i, got, want)
		}
	}
	l.e.Run(time.Second, nil)
	if to.in.next != 25*1428 {
		t.Errorf("%d bytes", to.in.next)
	}
}

// Data that have meanwhile arrived must not be sent on another subflow.
func TestReinjectsOnlyWhatIsMissing(t *testing.T) {
	l := newLanes(1, net.Quality{Delay: 5 * ms})
	m, _ := l.multi(known(Linux(), 10*ms), 1, 2)
	m.written, m.taken = 1000, 1000
	m.again.add(0, 1000)
	m.acked(600)
	c := m.subflows[0]
	if n := m.available(c); n != 400 || m.take(c, n) != 600 || m.available(c) != 0 {
		t.Errorf("%d bytes to be reinjected, and %v after that", n, m.again)
	}
}

// Data must be sent on the subflow with the shorter RTT as long as its window has space.
func TestShortestRoundTripFirst(t *testing.T) {
	near, far := net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 1 << 20}, net.Quality{Rate: 100 * mbit, Delay: 50 * ms, Queue: 1 << 20}
	l := newLanes(1, near, far)
	from, to := l.multi(known(Linux(), 0), 1, 2)
	done := func(n int64) { l.e.Run(time.Minute, func() bool { return to.in.next == n }) }
	from.Write(20 * 1428) // both subflows have a window of ten segments
	done(20 * 1428)
	l.e.Run(time.Second, nil)
	// The subflow with port 2 uses the lane with the shorter delay.
	before := from.subflows[0].Stats.Segments
	from.Write(8 * 1428)
	done(28 * 1428)
	if from.subflows[0].Stats.Segments != before || before == 0 {
		t.Errorf("the far lane carried %d segments, then %d", before, from.subflows[0].Stats.Segments)
	}
}

// The handshake must open one subflow first, and then the other subflows.
func TestJoin(t *testing.T) {
	cfg := Linux()
	cfg.Handshake = true
	l := newLanes(1, net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 1 << 20})
	from, to := l.multi(cfg, 1, 4)
	from.Write(100 * 1428)
	l.e.Run(19*ms, nil)
	if got := to.in.next; got == 0 || got > 10*1428 {
		t.Errorf("%d bytes before the others can have joined", got)
	}
	l.e.Run(time.Second, nil)
	for i, c := range from.subflows {
		if c.Stats.Segments == 0 {
			t.Errorf("subflow %d carried nothing", i)
		}
	}
	if to.in.next != 100*1428 {
		t.Errorf("%d bytes", to.in.next)
	}
}
