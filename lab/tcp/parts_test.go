package tcp

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/mono"
)

// An alarm that is moved repeatedly must fire on time. The queue has one event for each move to an
// earlier time.
func TestAlarm(t *testing.T) {
	e := net.NewEngine(1, nil)
	begun := e.Now()
	at := func(n int) mono.Time { return begun.Add(time.Duration(n)) }
	var rings []time.Duration
	var a *alarm
	a = newAlarm(e, func() {
		rings = append(rings, e.Since())
		if len(rings) == 1 {
			a.set(at(150))
		}
	})
	a.set(at(100))
	a.set(at(200))
	a.set(at(50))
	e.Run(1000, nil)
	if !slices.Equal(rings, []time.Duration{50, 150}) || e.Done() != 3 {
		t.Errorf("rang at %v, %d events", rings, e.Done())
	}
	a.set(at(2000))
	a.set(0)
	e.Run(10_000, nil)
	if len(rings) != 2 {
		t.Errorf("rang at %v", rings)
	}
}

// The echoed timestamp is that of the first unacknowledged segment, so an RTT includes the
// receiver's delay (RFC 7323, section 4.3).
func TestEcho(t *testing.T) {
	var r receiver
	for i := range int64(3) {
		r.take(&header{seq: 10 * i, size: 10, stamp: mono.Time(i + 1)}, false)
	}
	var h header
	if r.report(&h, mostBlocks); h.echo != 1 || h.ack != 30 {
		t.Errorf("%+v", h)
	}
	r.take(&header{seq: 50, size: 10, stamp: 7}, false) // the segment is above a gap
	h = header{}
	if r.report(&h, mostBlocks); h.echo != 1 {
		t.Errorf("%+v", h)
	}
	r.take(&header{seq: 30, size: 20, stamp: 9}, false) // the segment fills the gap
	h = header{}
	if r.report(&h, mostBlocks); h.echo != 9 || h.ack != 60 || h.blocks != 0 {
		t.Errorf("%+v", h)
	}
}

// The newest SACK block must come first, and then the others, ordered by their last change (RFC
// 2018, section 4).
func TestBlocks(t *testing.T) {
	var r receiver
	for _, seq := range []int64{10, 30, 50, 70, 31, 20} {
		r.take(&header{seq: seq, size: 1}, false)
	}
	var h header
	r.report(&h, mostBlocks)
	if want := [mostBlocks]span{{20, 21}, {30, 32}, {70, 71}}; h.sack != want || h.blocks != 3 {
		t.Errorf("%v", h.sack)
	}
	h = header{}
	if r.report(&h, 2); h.blocks != 2 {
		t.Errorf("%d blocks", h.blocks)
	}
}

// According to RACK, a segment is lost if a later segment has arrived, and the newest RTT and the
// reordering window have passed since its transmission.
func TestRack(t *testing.T) {
	var b scoreboard
	var r rack
	for i := range 3 {
		now := mono.Time(100 + 10*i)
		r.transmitted(b.push(100, 0, now), now)
	}
	if news, again := r.detect(&b, 1000, 0); news || again != 0 {
		t.Error("lost, though nothing has arrived")
	}
	r.arrived(b.at(1), 160, 0) // the segment was sent at 110, so the RTT is 50
	b.sack(b.at(1))
	if news, again := r.detect(&b, 160, 12); news || again != 162 {
		t.Errorf("lost too soon, or looked at again at %d", again)
	}
	if news, again := r.detect(&b, 162, 12); !news || again != 0 || !b.at(0).lost || b.at(2).lost {
		t.Error("not lost")
	}
}

// RACK must ignore a retransmission if the first transmission has arrived.
func TestRackTakesNoEarlyAnswer(t *testing.T) {
	var r rack
	r.arrived(&record{at: 100, size: 1, ever: true}, 105, 50)
	if r.at != 0 {
		t.Errorf("%+v", r)
	}
	r.arrived(&record{at: 100, size: 1, ever: true}, 160, 50)
	if r.at != 100 || r.rtt != 60 {
		t.Errorf("%+v", r)
	}
}

// The reordering window is a quarter of the minimum RTT. After enough segments above a gap, the
// window is zero, unless reordering has been observed.
func TestReorderWindow(t *testing.T) {
	var r rack
	e := &rtt{smoothed: 100, least: 40}
	if r.reorderWindow(e, false) != 10 || r.reorderWindow(e, true) != 0 {
		t.Errorf("%v, %v", r.reorderWindow(e, false), r.reorderWindow(e, true))
	}
	r.arrived(&record{seq: 5, size: 1}, 1, 0)
	r.arrived(&record{seq: 3, size: 1}, 1, 0)
	if r.reorderWindow(e, true) != 10 {
		t.Errorf("%v once reordering was seen", r.reorderWindow(e, true))
	}
}

// After wrong declarations of loss, RACK must examine all segments again, in the order of their
// last transmission.
func TestRackJudgesAgain(t *testing.T) {
	var b scoreboard
	var r rack
	for i := range 4 {
		now := mono.Time(100 + 10*i)
		r.transmitted(b.push(100, 0, now), now)
	}
	r.arrived(b.at(3), 200, 0)
	b.sack(b.at(3))
	r.detect(&b, 1000, 0)
	b.resend(0, 1000)
	r.transmitted(0, 1000)
	b.unmark()
	r.again(&b)
	if want := []sending{{1, 110}, {2, 120}, {0, 1000}}; !slices.Equal(r.sent, want) {
		t.Errorf("%v", r.sent)
	}
	if news, _ := r.detect(&b, 1000, 0); !news || b.at(0).lost || !b.at(1).lost || !b.at(2).lost {
		t.Error("not lost again")
	}
}
