package compare

import (
	"errors"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/steer"
)

// Flowlets are counted. With shorter timeouts there are more of them.
func TestFlowlets(t *testing.T) {
	m := small(t)
	m.Scale.Flows, m.Scale.Most = 60, 2_000_000
	count := func(timeout time.Duration) (n int) {
		m.Scale.Timeout = timeout
		c := m.Cells()[0]
		for _, s := range systems {
			if s.Name == "letflow" {
				c.System = s
			}
		}
		f, err := c.PlayFlowlets(read, nil)
		must(t, err)
		for _, x := range f.Bins() {
			n += x.Ended
		}
		return n
	}
	if few, many := count(100*time.Microsecond), count(time.Microsecond); few >= many || many < 100 {
		t.Errorf("%d flowlets with a timeout of 100 us, %d with 1 us", few, many)
	}
}

// Flowlets are elastic (LetFlow, section 2). On a path with a long queue, they end after far fewer
// bytes than on a path with a short queue.
func TestFlowletsAreElastic(t *testing.T) {
	m := small(t)
	m.Scale = Scale{Flows: 400, MTU: 9000, Ports: 32, Timeout: 100 * time.Microsecond, Granularity: 20 * time.Microsecond}
	m.Loads = []float64{0.3}
	var err [3]error
	m.Fabrics, err[0] = Fabrics([]string{"conga64-leaf"})
	m.Scenarios, err[1] = Scenarios([]string{"quarter"})
	m.Systems, err[2] = Systems([]string{"letflow"})
	m.Seeds = 2
	var sum Flowlets
	for _, c := range m.Cells() {
		f, e := c.PlayFlowlets(read, nil)
		must(t, errors.Join(e, err[0], err[1], err[2]))
		for i, b := range f.bins {
			sum.bins[i].ended += b.ended
			sum.bins[i].bytes += b.bytes
		}
	}
	// The healthy links never have a queue of 160 us for long.
	var short, long flowletBin
	for i, b := range sum.bins {
		x := &short
		if i >= bin(160*time.Microsecond) {
			x = &long
		}
		x.ended, x.bytes = x.ended+b.ended, x.bytes+b.bytes
	}
	if min(short.ended, long.ended) < 30 || short.mean() < 2*long.mean() {
		t.Errorf("%d flowlets of %.0f bytes on short queues, %d of %.0f on long ones", short.ended, short.mean(), long.ended, long.mean())
	}
}

// The bytes of a flow on its last path count, but not as an ended flowlet. Trains of
// acknowledgements do not count at all.
func TestFlowletsByHand(t *testing.T) {
	var a Flowlets
	w := a.watch(steer.NewLetFlow(1, time.Millisecond)).(*flowletWatch)
	for range 100 {
		w.Sample(1, 1, steer.Sample{Queue: 15 * time.Microsecond})
	}
	for _, s := range []struct{ path, flow, bytes int }{
		{0, 7, 1000}, {0, 7, 2000}, {1, 7, 500}, {1, 7, ackTrain - 1}, {0, 8, 9000}, {1, 7, 500}, {2, 7, 600}, {1, 8, 700},
	} {
		w.Sent(1, s.path, uint32(s.flow), s.bytes)
	}
	want := [flowletBins]flowletBin{0: {ended: 2, bytes: 3000 + 9000 + 600}, 1: {ended: 1, bytes: 1000 + 700}}
	if a.bins != want {
		t.Errorf("%+v, want %+v", a.bins, want)
	}
	if v := a.Bins(); len(v) != 2 || v[1] != (FlowletBin{From: 10 * time.Microsecond, Bytes: 1700, Ended: 1, Mean: 1700}) {
		t.Errorf("%+v", v)
	}
}

func TestBin(t *testing.T) {
	for us, want := range map[int]int{0: 0, 9: 0, 10: 1, 19: 1, 20: 2, 39: 2, 639: 6, 640: 7, 1e6: 7} {
		if got := bin(time.Duration(us) * time.Microsecond); got != want {
			t.Errorf("%d us are in bin %d, want %d", us, got, want)
		}
	}
}
