package tcp

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// busy returns a flow that fills a link of 10 Gbit/s and loses a segment from time to time. The
// flow has already run for a while.
func busy() (*dumbbell, pair) {
	d := newDumbbell(1, net.Quality{Rate: 10_000 * mbit, Delay: 100 * time.Microsecond, Queue: 250_000})
	d.filter.to, d.filter.drop = d.there, nil
	v := d.connect(known(Linux(), 200*time.Microsecond), 1)
	v.from.Write(1 << 50)
	d.e.Run(time.Second, nil)
	return d, v
}

// Segments, acknowledgements and timers reuse memory. Only a segment that a link has dropped cannot
// be reused, so a new one may be allocated.
func TestSegmentsAllocateNothing(t *testing.T) {
	d, v := busy()
	segments, dropped := v.from.Stats.Segments, d.there.Drops[net.LinkQueue]
	const runs = 50
	per := testing.AllocsPerRun(runs, func() { d.e.Run(10*ms, nil) })
	segments, dropped = v.from.Stats.Segments-segments, d.there.Drops[net.LinkQueue]-dropped
	if per*runs > float64(dropped)+1 || segments < 400_000 {
		t.Errorf("%.1f allocations in 10 ms; %d segments in all, %d dropped", per, segments, dropped)
	}
}

// BenchmarkSegment measures a segment, with its share of the acknowledgements, over two links.
func BenchmarkSegment(b *testing.B) {
	d, v := busy()
	send(b, d, v)
}

// BenchmarkSegmentWithLoss measures the same for a flow that loses one segment in a hundred, so
// that the scoreboard is used.
func BenchmarkSegmentWithLoss(b *testing.B) {
	d := newDumbbell(1, net.Quality{Rate: 10_000 * mbit, Delay: 5 * ms, Queue: 1 << 30, Loss: 0.01})
	v := d.connect(known(Linux(), 10*ms), 1)
	v.from.Write(1 << 50)
	send(b, d, v)
}

// send advances virtual time until b.N segments were sent.
func send(b *testing.B, d *dumbbell, v pair) {
	b.ReportAllocs()
	b.ResetTimer()
	until, events := v.from.Stats.Segments+uint64(b.N), d.e.Done()
	d.e.Run(365*24*time.Hour, func() bool { return v.from.Stats.Segments >= until })
	b.ReportMetric(float64(d.e.Done()-events)/float64(b.N), "events/op")
}
