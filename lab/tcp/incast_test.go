package tcp

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// incast lets n hosts send `size` bytes each to one host at the same time. The port has 10 Gbit/s
// and a queue of `queue` bytes. It returns the longest completion time, and the sum of all
// counters.
func incast(t *testing.T, cfg Config, n int, size int64, queue int) (longest time.Duration, sum Stats) {
	t.Helper()
	d := newDumbbell(1, net.Quality{Rate: 10_000 * mbit, Delay: 10 * time.Microsecond, Queue: queue})
	left := n
	for i := range n {
		v := d.connect(known(cfg, 20*time.Microsecond), uint16(i+1))
		v.to.Received = func(total int64) {
			if total == size {
				longest = d.e.Since()
				left--
			}
		}
		defer func() {
			s := v.from.Stats
			sum.Probes += s.Probes
			sum.Duplicates += v.to.Stats.Duplicates
			sum.Timeouts += s.Timeouts
			sum.Retransmitted += s.Retransmitted
		}()
		v.from.Write(size)
	}
	if !d.e.Run(time.Minute, func() bool { return left == 0 }) {
		t.Fatalf("%d of %d flows did not end", left, n)
	}
	return longest, sum
}

// With a small buffer, 48 concurrent flows lose whole windows and wait for timeouts, unless tail
// loss probes prevent the timeouts. With a large buffer, the flows lose nothing.
func TestIncast(t *testing.T) {
	for _, least := range []time.Duration{50 * ms, 200 * ms} {
		cfg := classic(Cubic)
		cfg.MinRTO = least
		longest, sum := incast(t, cfg, 48, 64<<10, 100_000)
		if sum.Timeouts == 0 || longest < least || longest > 10*least {
			t.Errorf("least timeout %v: %v, %+v", least, longest, sum)
		}
	}
	longest, sum := incast(t, Linux(), 48, 64<<10, 100_000)
	if sum.Probes == 0 || sum.Retransmitted == 0 || longest > 100*ms {
		t.Errorf("with probes: %v, %+v", longest, sum)
	}
	const ideal = time.Duration(48 * (64 << 10) / 1448 * wire * 8 / 10)
	longest, sum = incast(t, Linux(), 48, 64<<10, 8<<20)
	if sum.Retransmitted != 0 || longest > ideal*11/10 {
		t.Errorf("large buffer: %v, ideal is %v, %+v", longest, ideal, sum)
	}
}

// Four hosts send to one host over links of the same rate. With jitter and pauses, all flows get a
// share. Without them, packets always collide in the same order, and a few flows get the whole
// rate.
func TestNoPhaseEffects(t *testing.T) {
	d := newDumbbell(1, net.Quality{Rate: 100_000 * mbit, Delay: 3 * time.Microsecond, Queue: 1_000_000})
	cfg := Linux()
	cfg.MTU, cfg.MinRTO, cfg.RTT = 9000, 50*ms, 8*time.Microsecond
	var flows []pair
	for i := range 48 {
		if i%12 == 0 {
			cfg.NIC = NewNIC(d.e, 100_000*mbit)
			d.filter = &filter{to: d.e.NewLink("host", net.Quality{Rate: 100_000 * mbit, Delay: time.Microsecond, Queue: 1 << 30}, d.there)}
		}
		flows = append(flows, d.connect(cfg, uint16(i+1)))
	}
	for _, v := range flows {
		v.from.Write(1 << 40)
	}
	d.e.Run(time.Second, nil)
	var sum, squares float64
	for _, v := range flows {
		x := float64(v.to.in.next)
		sum, squares = sum+x, squares+x*x
	}
	within(t, "Jain's index", sum*sum/squares/48, 0.8, 1)
	within(t, "use", sum/(100_000*mbit*8948/(9000+framing)), 0.95, 1.0001)
}

// Connections that share an interface take turns, so the interface's queue stays empty, and no
// window grows beyond the need of the network.
func TestTurnsAtTheInterface(t *testing.T) {
	d := newDumbbell(1, net.Quality{Rate: 1000 * mbit, Delay: ms, Queue: 2000})
	cfg := known(Linux(), 2*ms)
	cfg.NIC = NewNIC(d.e, 1000*mbit)
	v, w := d.connect(cfg, 1), d.connect(cfg, 2)
	v.from.Write(1 << 40)
	d.e.Run(100*ms, nil)
	w.from.Write(1 << 40)
	d.e.Run(100*ms, nil)
	x, y := v.to.in.next, w.to.in.next
	d.e.Run(time.Second, nil)
	x, y = v.to.in.next-x, w.to.in.next-y
	within(t, "share", float64(x)/float64(x+y), 0.49, 0.51)
	within(t, "use", float64(x+y)/(1000*mbit*1448/wire), 0.99, 1.0001)
	if s := v.from.Stats; s.Retransmitted != 0 || d.there.Drops[net.LinkQueue] != 0 {
		t.Errorf("%+v, %v", s, d.there.Drops)
	}
	if cwnd, _ := v.from.Window(); cwnd > 1_000_000 {
		t.Errorf("window %d where 250 kB are needed", cwnd)
	}
}
