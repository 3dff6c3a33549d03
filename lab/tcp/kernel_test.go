package tcp

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/mono"
)

// linux describes a case of testdata/linux.txt, which was recorded by "bench plaintcp".
type linux struct {
	name   string
	buffer int   // bytes
	groups []int // flows
	loss   float64
	lasts  time.Duration
}

var linuxCases = []linux{
	{"alone-20", 256 << 10, []int{1}, 0, 10 * time.Second},
	{"alone-200", 2500 << 10, []int{1}, 0, 20 * time.Second},
	{"two-20", 256 << 10, []int{1, 1}, 0, 16 * time.Second},
	{"two-200", 2500 << 10, []int{1, 1}, 0, 24 * time.Second},
	{"four-20", 256 << 10, []int{4, 4}, 0, 12 * time.Second},
	{"loss-0.5", 256 << 10, []int{1}, 0.005, 10 * time.Second},
	{"loss-2", 256 << 10, []int{1}, 0.02, 10 * time.Second},
}

// The links of the recording are tbf queues of 100 Mbit/s, whose frames are 14 bytes longer than
// their IP packets. Two queues in a row hold the buffer and one burst more. Their delay is very
// small.
const (
	tbfFrame = 1514.
	tbfBurst = 16 << 10
	vethTime = 40 * time.Microsecond
)

// linuxEvery is the time between two values in the recording.
const linuxEvery = 250 * time.Millisecond

// figures are the values of a group for each period of linuxEvery: goodput in Mbit/s, and the first
// flow's window in segments.
type figures struct {
	mbit, cwnd []float64
	resent     float64
}

// recorded reads the recording, and returns the figures of each case's groups.
func recorded(t *testing.T) map[string][]figures {
	text, err := os.ReadFile("testdata/linux.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]figures{}
	for line := range strings.Lines(string(text)) {
		word := strings.Fields(line)
		if word[0] == "#" {
			continue
		}
		group, err := strconv.Atoi(word[2])
		if err != nil {
			t.Fatal(err)
		}
		for group >= len(all[word[0]]) {
			all[word[0]] = append(all[word[0]], figures{})
		}
		var v []float64
		for _, w := range word[4:] {
			x, err := strconv.ParseFloat(w, 64)
			if err != nil {
				t.Fatal(err)
			}
			v = append(v, x)
		}
		switch f := &all[word[0]][group]; word[3] {
		case "mbit":
			f.mbit = v
		case "cwnd":
			f.cwnd = v
		case "resent":
			f.resent = v[0]
		}
	}
	return all
}

// play simulates the case.
func (l *linux) play(seed uint64) []figures {
	const scale = wire / tbfFrame
	d := newDumbbell(seed, net.Quality{
		Rate: 100 * mbit * scale, Delay: vethTime, Loss: l.loss,
		Queue: int(float64(l.buffer+tbfBurst) * scale),
	})
	d.back.Quality.Loss = l.loss
	cfg := Linux()
	cfg.AsKernel()
	cfg.RTT = 2 * vethTime
	groups, all := make([][]pair, len(l.groups)), make([]figures, len(l.groups))
	port := uint16(0)
	for i, n := range l.groups {
		for range n {
			port++
			v := d.connect(cfg, port)
			groups[i] = append(groups[i], v)
			// iperf3 starts the flows one after another.
			d.e.After(time.Duration(port)*time.Millisecond, func() { v.from.Write(1 << 40) })
		}
	}
	before := make([]int64, len(groups))
	for range int(l.lasts / linuxEvery) {
		d.e.Run(linuxEvery, nil)
		for i, g := range groups {
			f, sum := &all[i], int64(0)
			f.resent = 0
			for _, v := range g {
				sum += v.to.in.next
				f.resent += float64(v.from.Stats.Retransmitted)
			}
			f.mbit = append(f.mbit, float64(sum-before[i])*8/1e6/linuxEvery.Seconds())
			f.cwnd = append(f.cwnd, math.Floor(g[0].from.win.cwnd/g[0].from.win.mss))
			before[i] = sum
		}
	}
	return all
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

// The goodput and windows of the model must match those of the real kernel within a fifth, for all
// groups together and in the mean of several seeds.
func TestLikeTheKernel(t *testing.T) {
	const seeds = 4
	kernel := recorded(t)
	for i := range linuxCases {
		l := &linuxCases[i]
		real := kernel[l.name]
		if len(real) != len(l.groups) {
			t.Fatalf("%s: %d groups in the record", l.name, len(real))
		}
		var mbit, cwnd, resent [2]float64 // of the kernel, of the model
		add := func(k int, all []figures, times float64) {
			for _, f := range all {
				mbit[k] += mean(f.mbit) / times
				cwnd[k] += mean(f.cwnd) / times
				resent[k] += f.resent / times
			}
		}
		add(0, real, 1)
		for seed := range uint64(seeds) {
			add(1, l.play(seed+1), seeds)
		}
		t.Logf("%s: kernel and model: %.1f and %.1f Mbit/s, windows %.0f and %.0f, %.0f and %.0f sent again",
			l.name, mbit[0], mbit[1], cwnd[0], cwnd[1], resent[0], resent[1])
		within(t, l.name+": goodput of the model / kernel", mbit[1]/mbit[0], 0.8, 1.25)
		within(t, l.name+": window of the model / kernel", cwnd[1]/cwnd[0], 0.8, 1.25)
		within(t, l.name+": sent again by the model / kernel", resent[1]/resent[0], 0.5, 2)
	}
}

// At the start, each value of a single flow's window must match that of the kernel. HyStart ends
// slow start early, and the search for a maximum then grows by a twentieth per round trip.
func TestStartLikeTheKernel(t *testing.T) {
	kernel := recorded(t)
	for i, n := range []int{8, 40} { // values before a reduction that may happen a moment later
		l := &linuxCases[i]
		real, model := kernel[l.name][0].cwnd, l.play(1)[0].cwnd
		for k := range n {
			within(t, l.name+": window of the model / kernel", model[k]/real[k], 0.9, 1.1)
		}
	}
}

// A window of 1000 segments is reduced to 700, and must then follow W_cubic as in TestCubicCurve,
// but in whole segments.
func TestKernelCubicCurve(t *testing.T) {
	const rtt = 100 * ms
	w := &window{cwnd: 1000 * 1448, ssthresh: 1 << 40, mss: 1448}
	c := &kernelCubic{tick: kernelTick}
	w.cwnd = c.lost(w)
	within(t, "window after the loss", w.cwnd/w.mss, 700, 700)
	begun := mono.Time(1e9)
	c.sample(rtt, begun)
	k := math.Cbrt(300 / 0.4)
	for now := begun; now < begun.Add(15*time.Second); now = now.Add(rtt) {
		for left := w.cwnd; left > 0; left -= w.mss {
			c.avoid(w, 1448, now, rtt)
		}
		s := now.Sub(begun).Seconds()
		curve := func(s float64) float64 { return 0.4*math.Pow(s-k, 3) + 1000 }
		// The target is the curve's value one round trip later, rounded up. One additional segment
		// may remain from the previous round trip.
		within(t, "window", w.cwnd/w.mss, curve(s)-1, curve(s+0.1)+2)
	}
}

// If round trips are short compared with the curve, the window follows Reno's window a round trip
// later. The window gains kernelAlpha segments per round trip, even above the former window.
func TestKernelCubicFollowsReno(t *testing.T) {
	const rtt = 40 * ms
	w := &window{cwnd: 100 * 1448, ssthresh: 1 << 40, mss: 1448}
	c := &kernelCubic{tick: kernelTick}
	w.cwnd = c.lost(w)
	now := mono.Time(1e9)
	until := func(segs float64) (rounds float64) {
		for ; w.cwnd < segs*w.mss; rounds++ {
			for left := w.cwnd; left > 0; left -= w.mss {
				c.avoid(w, 1448, now, rtt)
			}
			now = now.Add(rtt)
		}
		return rounds
	}
	within(t, "round trips back to the former window", until(100), 30/kernelAlpha*0.97, (30/kernelAlpha+1)*1.03)
	within(t, "round trips for 50 segments more", until(150), 50/kernelAlpha*0.97, 50/kernelAlpha*1.03)
}

// Slow start must not end after a short train of acknowledgements, or if the RTT has hardly grown.
// It must end after a long train, and if the RTT has grown by 4 ms.
func TestTrainsEndSlowStart(t *testing.T) {
	play := func(gap, first, growth time.Duration) int {
		s := trains{least: first}
		now := mono.Time(1e9)
		for i := range 64 {
			now = now.Add(gap)
			if s.sample(first+time.Duration(i)*growth, now, int64(i+1), 1000, true, 0) {
				return i
			}
		}
		return -1
	}
	if got := play(10*time.Microsecond, 10*ms, 0); got != -1 {
		t.Errorf("a train of 0.6 ms ended it at %d", got)
	}
	if got := play(100*time.Microsecond, 10*ms, 0); got != 51 {
		t.Errorf("a train longer than half a round trip ended it at %d", got)
	}
	if got := play(3*ms, 10*ms, 5*ms); got != -1 {
		t.Errorf("samples of one round ended it at %d, though the first was short", got)
	}
	s := trains{least: 10 * ms}
	for i := range 9 {
		if got := s.sample(15*ms, mono.Time(1e9), 1, 1000, true, 0); got != (i == 8) {
			t.Errorf("sample %d: %v", i, got)
		}
	}
}

// Super-segments contain a millisecond of data, or more if the RTT is short. A small super-segment
// waits for the next acknowledgement, unless nothing was sent recently, a third of the window is
// free, or the acknowledgement is not due soon.
func TestSuperSegments(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		least time.Duration
		segs  int
	}{{12.5e6, 100 * ms, 8}, {12.5e6, 100 * time.Microsecond, 45}, {12.5e6, 2 * ms, 14}, {1e5, 100 * ms, 2}, {1e9, 100 * ms, 45}} {
		if got := superSize(c.rate, c.least, 1448); got != c.segs {
			t.Errorf("%.0f bytes a second, round trip %v: %d segments, want %d", c.rate, c.least, got, c.segs)
		}
	}
	now := mono.Time(1e9)
	ago := func(d time.Duration) mono.Time { return now.Add(-d) }
	for i, c := range []struct {
		sent, oldest time.Duration
		room         float64
		held         bool
	}{{ms / 2, 20 * ms, 5, true}, {2 * ms, 20 * ms, 5, false}, {ms / 2, 20 * ms, 10, false}, {ms / 2, 20 * ms, 40, false}, {ms / 2, ms, 5, false}} {
		if got := held(now, ago(c.sent), ago(c.oldest), 20*ms, c.room, 10, 100); got != c.held {
			t.Errorf("case %d: %v", i, got)
		}
	}
}
