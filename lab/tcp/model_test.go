package tcp

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/mono"
)

// bytewise is a simple and slow reference implementation of spans.
type bytewise map[int64]bool

func TestSpansAgainstBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s spans
		twin := bytewise{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			from := rapid.Int64Range(0, 99).Draw(t, "from")
			to := min(100, from+rapid.Int64Range(0, 9).Draw(t, "bytes"))
			if rapid.IntRange(0, 4).Draw(t, "drop") == 0 {
				from /= 3
				s.drop(from)
				for x := range from {
					delete(twin, x)
				}
				continue
			}
			s.add(from, to)
			for x := from; x < to; x++ {
				twin[x] = true
			}
		}
		for x := range int64(101) {
			if _, ok := s.at(x); ok != twin[x] {
				t.Fatalf("byte %d: %v in %v", x, ok, s.v)
			}
		}
		for i, v := range s.v {
			if v.from >= v.to || i > 0 && s.v[i-1].to >= v.from {
				t.Fatalf("not in order, or touching: %v", s.v)
			}
		}
	})
}

// The scoreboard's running counts must equal a count over all records.
func TestScoreboardCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b scoreboard
		for step := range rapid.IntRange(1, 300).Draw(t, "steps") {
			now := mono.Time(step + 1)
			some := func() uint64 { return b.base + uint64(rapid.IntRange(0, int(b.next-b.base-1)).Draw(t, "i")) }
			switch op := rapid.IntRange(0, 9).Draw(t, "op"); {
			case b.base == b.next || op < 3:
				b.push(rapid.IntRange(1, 9).Draw(t, "size"), 0, now)
			case op == 3:
				b.pop()
				b.sacked.drop(b.una)
			case op < 6:
				if r := b.at(some()); !r.sacked {
					b.sack(r)
				}
			case op == 6:
				b.markLost(some())
			case op == 7:
				b.markBelow()
			case op == 8:
				if i, ok := b.nextLost(); ok {
					b.resend(i, now)
				}
			case rapid.IntRange(0, 3).Draw(t, "all") == 0:
				b.markAll()
			case rapid.Bool().Draw(t, "unmark"):
				b.unmark()
			}
			checkScoreboard(t, &b)
		}
	})
}

func checkScoreboard(t *rapid.T, b *scoreboard) {
	var sacked, lost, resent, out int64
	var segs, waiting int
	first := uint64(math.MaxUint64)
	for i := b.base; i < b.next; i++ {
		r := b.at(i)
		out += int64(r.size)
		if r.sacked {
			sacked += int64(r.size)
			segs++
		}
		if r.lost {
			lost += int64(r.size)
		}
		if r.resent {
			resent += int64(r.size)
		}
		if r.lost && !r.resent {
			waiting++
			first = min(first, i)
		}
		if _, in := b.sacked.at(r.seq); in != r.sacked {
			t.Fatalf("record %d: sacked %v, in the set %v", i, r.sacked, in)
		}
	}
	if sacked != b.sackedBytes || lost != b.lostBytes || resent != b.resentBytes || segs != b.sackedSegs ||
		waiting != b.waiting || out != b.outstanding() || b.pipe() != out-sacked-lost+resent {
		t.Fatalf("%+v: counted %d %d %d %d %d %d", b, out, sacked, lost, resent, segs, waiting)
	}
	if i, ok := b.nextLost(); ok != (waiting > 0) || ok && i != first {
		t.Fatalf("next to be repeated: %d %v, not %d", i, ok, first)
	}
}

// According to IsLost in RFC 6675, a segment is lost if at least three segments above the gap have
// arrived.
func TestLostBelowThreeSegments(t *testing.T) {
	var b scoreboard
	for range 10 {
		b.push(100, 0, 1)
	}
	for n, i := range []uint64{2, 5, 9} {
		b.sack(b.at(i))
		if got := b.markBelow(); got != (n == 2) {
			t.Errorf("after %d segments: %v", n+1, got)
		}
	}
	for i := range uint64(10) {
		if got := b.at(i).lost; got != (i < 2) {
			t.Errorf("segment %d: lost %v", i, got)
		}
	}
}

// The test compares the estimator of RFC 6298 with values calculated by hand.
func TestTimeoutEstimate(t *testing.T) {
	cfg := Linux()
	cfg.MinRTO, cfg.Granularity = ms, ms
	var r rtt
	if got := r.timeout(&cfg); got != time.Second {
		t.Errorf("before the first sample: %v", got)
	}
	for _, s := range []struct{ sample, smoothed, variance, timeout time.Duration }{
		{100 * ms, 100 * ms, 50 * ms, 300 * ms},
		{180 * ms, 110 * ms, 57500 * time.Microsecond, 340 * ms},
		{110 * ms, 110 * ms, 43125 * time.Microsecond, 282500 * time.Microsecond},
	} {
		r.sample(s.sample)
		if r.smoothed != s.smoothed || r.variance != s.variance || r.timeout(&cfg) != s.timeout {
			t.Errorf("after %v: %v, %v, %v", s.sample, r.smoothed, r.variance, r.timeout(&cfg))
		}
	}
}

// A window of 1000 segments is reduced to 700, and must then follow W_cubic of RFC 9438. The window
// reaches 1000 after K = cbrt(300 / 0.4) = 9.086 s, and continues to grow.
func TestCubicCurve(t *testing.T) {
	const rtt = 100 * ms
	w := &window{cwnd: 1000 * 1448, ssthresh: 1 << 40, mss: 1448}
	c := &cubic{}
	w.cwnd = c.lost(w)
	within(t, "window after the loss", w.cwnd/w.mss, 699.99, 700.01)
	begun := mono.Time(1e9)
	k := math.Cbrt(300 / 0.4)
	for now := begun; now < begun.Add(15*time.Second); now = now.Add(rtt) {
		for left := w.cwnd; left > 0; left -= w.mss {
			c.avoid(w, 1448, now, rtt)
		}
		s := now.Sub(begun).Seconds()
		curve := func(s float64) float64 { return 0.4*math.Pow(s-k, 3) + 1000 }
		// The target is the curve's value one round trip later, and the window covers two thirds of
		// the distance.
		within(t, "window", w.cwnd/w.mss, curve(s)-0.5, curve(s+0.1)+0.5)
	}
}

// With short round trips, the window must grow as Reno's window on average (RFC 9438, section 4.3).
// It gains cubicAlpha segments per round trip up to the former window, and then one segment.
func TestCubicIsNoSlowerThanReno(t *testing.T) {
	const rtt = ms
	w := &window{cwnd: 100 * 1448, ssthresh: 1 << 40, mss: 1448}
	c := &cubic{}
	w.cwnd = c.lost(w)
	now := mono.Time(1e9)
	rounds := 0
	for ; w.cwnd < 100*w.mss; rounds++ {
		for left := w.cwnd; left > 0; left -= w.mss {
			c.avoid(w, 1448, now, rtt)
		}
		now = now.Add(rtt)
	}
	within(t, "round trips back to the former window", float64(rounds), 30/cubicAlpha*0.97, 30/cubicAlpha*1.03)
	for rounds = 0; w.cwnd < 150*w.mss; rounds++ {
		for left := w.cwnd; left > 0; left -= w.mss {
			c.avoid(w, 1448, now, rtt)
		}
		now = now.Add(rtt)
	}
	within(t, "round trips for 50 segments more", float64(rounds), 48, 51)
}

// After a loss, Reno halves the window, but keeps at least two segments. In congestion avoidance,
// the window gains one segment per round trip.
func TestReno(t *testing.T) {
	w := &window{cwnd: 100 * 1448, mss: 1448}
	r := &reno{}
	within(t, "window after a loss", r.lost(w)/w.mss, 50, 50)
	for range 100 {
		r.avoid(w, 1448, 1, ms)
	}
	within(t, "window after a round trip", w.cwnd/w.mss, 100.99, 101.001)
	w.cwnd = 3 * w.mss
	within(t, "least window", r.lost(w)/w.mss, 2, 2)
}

// A second loss below the last maximum must reduce wMax further (RFC 9438, section 4.7). A spurious
// loss must change nothing.
func TestCubicFastConvergenceAndUndo(t *testing.T) {
	w := &window{cwnd: 1000 * 1448, mss: 1448}
	c := &cubic{}
	w.cwnd = c.lost(w)
	c.save()
	c.lost(w)
	within(t, "maximum after the second loss", c.wMax, 700*0.85-0.01, 700*0.85+0.01)
	c.undo()
	within(t, "maximum after taking it back", c.wMax, 1000, 1000)
}

// According to RFC 8257, DCTCP estimates the fraction of marked bytes with a gain of 1/16, and
// reduces the window by half of this fraction.
func TestDctcpAlpha(t *testing.T) {
	d := &dctcp{alpha: 1}
	for range 200 {
		d.round(1000, 250)
	}
	within(t, "alpha", d.alpha, 0.2499, 0.2501)
	w := &window{cwnd: 100 * 1448, mss: 1448}
	within(t, "window", d.marked(w)/w.mss, 87.49, 87.51)
}

// DCTCP must keep the queue near the marking threshold, lose nothing, and keep the link busy.
func TestDctcpQueue(t *testing.T) {
	cfg := known(modern(DCTCP), 200*time.Microsecond)
	cfg.ECN = true
	d := newDumbbell(1, net.Quality{Rate: 10_000 * mbit, Delay: 100 * time.Microsecond, Queue: 1_000_000, Mark: 100_000})
	v := d.connect(cfg, 1)
	v.from.Write(1 << 40)
	d.e.Run(100*ms, nil)
	before, most := v.to.in.next, int64(0)
	d.e.Run(200*ms, func() bool {
		most = max(most, v.from.rtt.smoothed.Nanoseconds())
		return false
	})
	within(t, "use", float64(v.to.in.next-before)/(0.2*10_000*mbit*1448/wire), 0.95, 1.001)
	within(t, "smoothed round trip in ns", float64(most), 200_000, 200_000+1.6*80_000)
	if s := v.from.Stats; s.Retransmitted != 0 || s.MarkReductions == 0 {
		t.Errorf("%+v", s)
	}
}

// If slow start ends when the RTT grows, the losses at the end of slow start are avoided.
func TestHyStartLosesLess(t *testing.T) {
	var lost [2]uint64
	for i, on := range []bool{false, true} {
		cfg := known(Linux(), 100*ms)
		cfg.HyStart = on
		d := newDumbbell(1, net.Quality{Rate: 100 * mbit, Delay: 50 * ms, Queue: 1_250_000})
		v := d.connect(cfg, 1)
		v.from.Write(1 << 40)
		d.e.Run(2*time.Second, nil)
		lost[i] = v.from.Stats.Retransmitted
	}
	if lost[0] < 100 || lost[1] > lost[0]/3 {
		t.Errorf("sent again: %d without, %d with", lost[0], lost[1])
	}
}
