package steer

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// lab returns CONGA with paths of 8 Gbit/s. At this rate a register is 160,000 bytes, so
// one level of the metric is 20,000 bytes.
func lab() *Conga {
	return NewConga(1, CongaConfig{Timeout: DefaultFlowletTimeout, Alpha: DefaultDREAlpha, Period: DefaultDREPeriod, Rate: 1e9})
}

// load makes the local metric of path p equal to m at the time `now`.
func (c *Conga) load(now mono.Time, p int, m uint8) { c.Sent(now, p, 0, int(m)*20_000+10_000) }

// Section 3.5: the chosen path has the least maximum of local and remote metric.
func TestCongaDecidesByTheWorseMetric(t *testing.T) {
	for _, c := range []struct {
		name          string
		local, remote [4]uint8
		want          int
	}{
		{"local only", [4]uint8{3, 1, 2, 4}, [4]uint8{}, 1},
		{"remote only", [4]uint8{}, [4]uint8{3, 2, 0, 4}, 2},
		{"maximum, not sum", [4]uint8{3, 0, 4, 7}, [4]uint8{3, 4, 0, 0}, 0},
		{"good here and bad there", [4]uint8{0, 0, 0, 2}, [4]uint8{7, 6, 5, 2}, 3},
		{"beyond the scale", [4]uint8{9, 12, 7, 6}, [4]uint8{0, 0, 255, 6}, 3},
	} {
		a, now := lab(), mono.Time(1e6)
		for p := range 4 {
			a.load(now, p, c.local[p])
			a.Reported(now, p, c.remote[p])
		}
		for p := range 4 {
			if m, want := a.metric(now, p), min(MetricMost, max(c.local[p], c.remote[p])); m != want {
				t.Errorf("%s: path %d has metric %d, want %d", c.name, p, m, want)
			}
		}
		if p := a.Pick(now, setOf(4), Context{Flow: 1}); p != c.want {
			t.Errorf("%s: path %d, want %d", c.name, p, c.want)
		}
	}
}

// A flow moves only to a path that is better than its last one. New flows are spread evenly
// over all best paths.
func TestCongaStaysOnTies(t *testing.T) {
	a, usable, now := lab(), setOf(4), mono.Time(1e6)
	home := a.Pick(now, usable, Context{Flow: 1})
	var others [4]int
	for i := range uint32(400) {
		now = now.Add(5 * time.Millisecond)
		if p := a.Pick(now, usable, Context{Flow: 1}); p != home {
			t.Fatalf("moves from %d to %d, which is no better", home, p)
		}
		others[a.Pick(now, usable, Context{Flow: 2 + i})]++
	}
	if x := chiSquare(others[:]); x > 21.1 { // 99.99 %, 3 degrees of freedom
		t.Errorf("new flows on %v", others)
	}
	a.Reported(now, home, 1)
	now = now.Add(5 * time.Millisecond)
	if p := a.Pick(now, usable, Context{Flow: 1}); p == home {
		t.Error("stays although three others are better")
	}
}

// Section 3.4: a flowlet follows its first packet and ignores later metrics.
func TestCongaKeepsFlowletsTogether(t *testing.T) {
	a, usable, now := lab(), setOf(4), mono.Time(1e6)
	home := a.Pick(now, usable, Context{Flow: 1})
	for range 100 {
		now = now.Add(DefaultFlowletTimeout - 1)
		a.Reported(now, home, MetricMost)
		if p := a.Pick(now, usable, Context{Flow: 1}); p != home {
			t.Fatalf("torn from %d to %d", home, p)
		}
	}
	left := *usable
	left.Remove(home)
	if p := a.Pick(now, &left, Context{Flow: 1}); p == home {
		t.Error("stays on a path that is gone")
	}
}

// Section 3.3: a metric without a confirmation ages after 10 ms, so a congested path is
// tried again.
func TestCongaMetricsAge(t *testing.T) {
	a, now := lab(), mono.Time(1e6)
	a.Reported(now, 0, 3)
	for _, c := range []struct {
		after time.Duration
		want  uint8
	}{{0, 3}, {9 * time.Millisecond, 3}, {10 * time.Millisecond, 2}, {25 * time.Millisecond, 1}, {30 * time.Millisecond, 0}, {time.Hour, 0}} {
		if m := a.metric(now.Add(c.after), 0); m != c.want {
			t.Errorf("metric %d after %v, want %d", m, c.after, c.want)
		}
	}
	a.Reported(now, 0, 3)
	a.Reset(0)
	if m := a.metric(now, 0); m != 0 {
		t.Errorf("metric %d after Reset", m)
	}
}

// Without a configured rate, a path counts as fully used at the highest rate of any path.
func TestCongaLearnsWhatFullIs(t *testing.T) {
	a := NewConga(1, CongaConfig{Timeout: DefaultFlowletTimeout, Alpha: DefaultDREAlpha, Period: DefaultDREPeriod})
	now := mono.Time(1e6)
	a.Sent(now, 0, 0, 80_000)
	a.Sent(now, 1, 0, 40_000)
	a.Sent(now, 2, 0, 10_000)
	for p, want := range []uint8{7, 4, 1, 0} {
		if m := a.metric(now, p); m != want {
			t.Errorf("path %d: metric %d, want %d", p, m, want)
		}
	}
	now = now.Add(fullLife)
	a.Sent(now, 2, 0, 10_000)
	if m := a.metric(now, 2); m != 7 {
		t.Errorf("metric %d: the former rate is long past", m)
	}
	if w := a.Weight(3); w != 1 {
		t.Errorf("idle path has weight %v", w)
	}
}

// The paper's example (figure 2): one of two paths has half the rate of the other. The far
// end measures the queue, and CONGA settles at a split of two to one.
func TestCongaSplitsByWhatTheFarEndSees(t *testing.T) {
	a, usable, now := lab(), setOf(2), mono.Time(1e6)
	var g Gauge
	rate := []float64{1e9, 0.5e9} // bytes per second of the narrowest link
	var free [2]mono.Time
	var sent [2]int
	type packet struct {
		at, sent mono.Time
		path     int
	}
	var flying []packet
	for i := range 400_000 {
		now += 1000 // 1,350 bytes each microsecond: nine tenths of the paths' capacity
		p := a.Pick(now, usable, Context{Flow: uint32(i % 50)})
		if i%7 == 0 { // flows pause, so that their flowlets end sometimes
			a.table.entries[i/7%50].tick -= 2
		}
		a.Sent(now, p, uint32(i%50), 1350)
		free[p] = max(now, free[p]).Add(time.Duration(1350e9 / rate[p]))
		sent[p]++
		flying = append(flying, packet{free[p], now, p})
		for len(flying) > 0 && flying[0].at <= now {
			f := flying[0]
			flying = flying[1:]
			g.Arrived(f.at, f.path, Arrival{Stamped: true, Sent: f.sent.Stamp()}, 50*time.Microsecond)
			if q, m, ok := g.Feedback(f.at); ok {
				a.Reported(f.at, q, m)
			}
		}
	}
	if r := float64(sent[0]) / float64(sent[1]); r < 1.7 || r > 2.4 {
		t.Errorf("%v packets: %.2f to one", sent, r)
	}
}
