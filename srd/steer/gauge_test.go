package steer

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// A path with a queue of twice the target has the highest metric, whatever the difference
// of the two clocks is. The sender's clock may wrap at 2^32 microseconds.
func TestGaugeMeasuresQueues(t *testing.T) {
	for _, offset := range []uint32{0, 1 << 31, ^uint32(0) - 500, 123456} {
		for _, c := range []struct {
			queue time.Duration
			want  uint8
		}{{0, 0}, {900 * time.Microsecond, 0}, {1100 * time.Microsecond, 1}, {4100 * time.Microsecond, 4}, {7900 * time.Microsecond, 7}, {time.Second, 7}} {
			var g Gauge
			now := mono.Time(1e9)
			sent := now.Stamp() + offset
			g.Arrived(now.Add(time.Millisecond), 3, Arrival{Stamped: true, Sent: sent}, target)
			for range 50 {
				now, sent = now.Add(100*time.Microsecond), sent+100
				g.Arrived(now.Add(time.Millisecond+c.queue), 3, Arrival{Stamped: true, Sent: sent}, target)
			}
			at := now.Add(time.Millisecond + c.queue)
			if p, m, ok := g.Feedback(at); p != 3 || m != c.want || !ok {
				t.Errorf("queue of %v: path %d, metric %d, %v; want %d", c.queue, p, m, ok, c.want)
			}
		}
	}
}

// An old minimum of the delay does not count: the path may have become longer.
func TestGaugeForgetsTheLeastDelay(t *testing.T) {
	var g Gauge
	arrive := func(now mono.Time, delay time.Duration) {
		g.Arrived(now.Add(delay), 0, Arrival{Stamped: true, Sent: now.Stamp()}, target)
	}
	now := mono.Time(1e9)
	arrive(now, time.Millisecond)
	for range 300 {
		now = now.Add(100 * time.Millisecond)
		arrive(now, 20*time.Millisecond)
	}
	if _, m, _ := g.Feedback(now); m != 0 {
		t.Errorf("metric %d of a way that has been long for 30 s", m)
	}
}

func TestGaugeCountsMarks(t *testing.T) {
	var g Gauge
	now := mono.Time(1e9)
	for i := range 400 {
		now = now.Add(10 * time.Microsecond)
		g.Arrived(now, 0, Arrival{Stamped: true, Sent: now.Stamp(), CE: i%2 == 0}, target)
		g.Arrived(now, 1, Arrival{CE: true}, target)
	}
	got := map[int]uint8{}
	for range 8 {
		p, m, _ := g.Feedback(now)
		got[p] = m
	}
	if got[1] != 7 || got[0] < 3 || got[0] > 4 {
		t.Errorf("metrics %v of a path with half and one with all of its packets marked", got)
	}
}

// Section 3.3: each packet carries the metric of one path. The paths take turns, and those
// with a changed metric come first.
func TestGaugeTellsChangesFirst(t *testing.T) {
	var g Gauge
	now := mono.Time(1e9)
	for p := range 6 {
		g.Arrived(now, p, Arrival{Stamped: true, Sent: now.Stamp()}, target)
	}
	turn := func() int {
		p, m, ok := g.Feedback(now)
		if !ok || m != g.paths[p].metric {
			t.Fatalf("path %d: metric %d, %v", p, m, ok)
		}
		return p
	}
	for i := range 12 {
		if p := turn(); p != i%6 {
			t.Fatalf("path %d at turn %d", p, i)
		}
	}
	g.Write(now, 4, 5)
	g.Write(now, 2, 9) // 9 counts as 7
	if a, b := turn(), turn(); a != 2 || b != 4 {
		t.Fatalf("%d, %d: want those that changed, 2 and 4", a, b)
	}
	if g.paths[2].metric != MetricMost {
		t.Errorf("metric %d", g.paths[2].metric)
	}
	// While the metrics of two paths change all the time, the others are still reported.
	seen := map[int]bool{}
	for i := range 24 {
		g.Write(now, 1, uint8(i%7))
		g.Write(now, 3, uint8(i%5))
		seen[turn()] = true
	}
	if len(seen) != 6 {
		t.Errorf("only %v have turns", seen)
	}
}

// The reported congestion of a path without packets falls by one step at a time.
func TestGaugeGrowsOld(t *testing.T) {
	var g Gauge
	now := mono.Time(1e9)
	g.Arrived(now, 0, Arrival{Stamped: true, Sent: now.Stamp()}, target)
	g.Write(now, 0, 3)
	for _, want := range []uint8{3, 2, 1, 0, 0} {
		if _, m, ok := g.Feedback(now); m != want || !ok {
			t.Errorf("metric %d, %v; want %d", m, ok, want)
		}
		now = now.Add(MetricAge)
	}
}

// A sender without time stamps gets no reports, and its packets are not measured.
func TestGaugeIsSilentUnasked(t *testing.T) {
	var g Gauge
	now := mono.Time(1e9)
	g.Arrived(now, 5, Arrival{CE: true}, target)
	g.Arrived(now, -1, Arrival{Stamped: true}, target)
	g.Arrived(now, MaxPaths, Arrival{Stamped: true}, target)
	g.Write(now, 5, 3)
	if _, _, ok := g.Feedback(now); ok || g.paths != nil {
		t.Error("measures without being asked")
	}
	g.Arrived(now, 5, Arrival{Stamped: true}, target)
	if _, _, ok := g.Feedback(now.Add(wantedFor)); !ok {
		t.Error("silent although asked")
	}
	if _, _, ok := g.Feedback(now.Add(wantedFor + 1)); ok {
		t.Error("goes on for ever")
	}
	g.Reset()
	if _, _, ok := g.Feedback(now); ok {
		t.Error("remembers another process")
	}
}

func TestGaugeDoesNotAllocate(t *testing.T) {
	var g Gauge
	now := mono.Time(1e9)
	for p := range MaxPaths {
		g.Arrived(now, p, Arrival{Stamped: true, Sent: now.Stamp()}, target)
	}
	if a := testing.AllocsPerRun(1000, func() {
		now += 1e5
		g.Arrived(now, int(now/1e5)%MaxPaths, Arrival{Stamped: true, CE: now%3 == 0, Sent: now.Stamp()}, target)
		g.Feedback(now)
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
