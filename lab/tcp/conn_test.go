package tcp

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// classic returns the configuration of Linux, but with loss detection only by three segments above
// a gap and by timeouts.
func classic(a Algorithm) Config {
	c := Linux()
	c.Algorithm, c.RACK, c.TLP = a, false, false
	return c
}

func modern(a Algorithm) Config {
	c := Linux()
	c.Algorithm = a
	return c
}

// A flow keeps a link fully used if the link's queue can hold a bandwidth-delay product.
func TestOneFlowFillsTheLink(t *testing.T) {
	for _, a := range []Algorithm{Cubic, Reno} {
		for _, cfg := range []Config{classic(a), modern(a)} {
			t.Run(fmt.Sprintf("%v/rack=%v", a, cfg.RACK), func(t *testing.T) {
				d := newDumbbell(1, net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 125_000})
				v := d.connect(known(cfg, 10*ms), 1)
				v.from.Write(1 << 40)
				d.e.Run(5*time.Second, nil)
				before := v.to.in.next
				d.e.Run(10*time.Second, nil)
				ideal := 10 * 100 * mbit * 1448 / wire
				within(t, "goodput / ideal", float64(v.to.in.next-before)/ideal, 0.95, 1.0001)
				if v.from.Stats.Timeouts != 0 || v.from.Stats.Recoveries == 0 {
					t.Errorf("%+v", v.from.Stats)
				}
			})
		}
	}
}

// Two flows with the same round trip get equal shares over time, even if the second begins later.
func TestTwoFlowsShare(t *testing.T) {
	for _, a := range []Algorithm{Cubic, Reno} {
		t.Run(a.String(), func(t *testing.T) {
			d := newDumbbell(1, net.Quality{Rate: 50 * mbit, Delay: 5 * ms, Queue: 60_000, Loss: 1e-5})
			v, w := d.connect(known(modern(a), 10*ms), 1), d.connect(known(modern(a), 10*ms), 2)
			v.from.Write(1 << 40)
			d.e.Run(2*time.Second, nil)
			w.from.Write(1 << 40)
			d.e.Run(20*time.Second, nil)
			x, y := v.to.in.next, w.to.in.next
			d.e.Run(60*time.Second, nil)
			x, y = v.to.in.next-x, w.to.in.next-y
			within(t, "share", float64(x)/float64(x+y), 0.4, 0.6)
			within(t, "use", float64(x+y)/(60*50*mbit*1448/wire), 0.95, 1.0001)
		})
	}
}

// If one of many segments is lost, it is retransmitted within about a round trip, without a
// timeout. No other segment is retransmitted.
func TestFastRetransmit(t *testing.T) {
	for _, cfg := range []Config{classic(Cubic), modern(Cubic)} {
		d := newDumbbell(1, net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 1 << 20})
		v := d.connect(known(cfg, 10*ms), 1)
		clean := d.took(v, 100*1448)
		d = newDumbbell(1, net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 1 << 20})
		v = d.connect(known(cfg, 10*ms), 1)
		d.filter.drop = func(seq int64, again bool) bool { return seq == 30*1448 && !again }
		took := d.took(v, 100*1448)
		if s := v.from.Stats; s.Recoveries != 1 || s.Retransmitted != 1 || s.Timeouts != 0 || s.Spurious != 0 {
			t.Errorf("rack=%v: %+v", cfg.RACK, s)
		}
		if took < clean || took > clean+25*ms {
			t.Errorf("rack=%v: %v, without the loss %v", cfg.RACK, took, clean)
		}
	}
}

// Many losses in one window cause one recovery and one reduction.
func TestManyLossesOneRecovery(t *testing.T) {
	for _, cfg := range []Config{classic(Reno), modern(Reno)} {
		d := newDumbbell(1, net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 1 << 20})
		v := d.connect(known(cfg, 10*ms), 1)
		d.filter.drop = func(seq int64, again bool) bool {
			n := seq / 1448
			return n >= 30 && n < 50 && n%2 == 0 && !again
		}
		d.took(v, 200*1448)
		if s := v.from.Stats; s.Recoveries != 1 || s.Retransmitted != 10 || s.Timeouts != 0 {
			t.Errorf("rack=%v: %+v", cfg.RACK, s)
		}
	}
}

// RACK also detects the loss of a retransmission. Without RACK only a timeout repairs it.
func TestLostRetransmission(t *testing.T) {
	for _, cfg := range []Config{classic(Cubic), modern(Cubic)} {
		d := newDumbbell(1, net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 1 << 20})
		v := d.connect(known(cfg, 10*ms), 1)
		left := 2
		d.filter.drop = func(seq int64, _ bool) bool {
			if seq != 30*1448 || left == 0 {
				return false
			}
			left--
			return true
		}
		d.took(v, 1000*1448)
		want := uint64(1)
		if cfg.RACK {
			want = 0
		}
		if s := v.from.Stats; s.Timeouts != want {
			t.Errorf("rack=%v: %+v", cfg.RACK, s)
		}
	}
}

// After the loss of a tail, the sender waits for exactly the minimum timeout, counted from the last
// acknowledgement of new data.
func TestTailLossWaitsForTheTimeout(t *testing.T) {
	for _, least := range []time.Duration{50 * ms, 200 * ms} {
		cfg := known(classic(Cubic), 200*time.Microsecond)
		cfg.MinRTO, cfg.QuickAcks = least, 100
		q := net.Quality{Rate: 10_000 * mbit, Delay: 100 * time.Microsecond, Queue: 1 << 20}
		clean := newDumbbell(1, q)
		v := clean.connect(cfg, 1)
		before := clean.took(v, 19*1448) // time until the last segment before the loss arrives
		d := newDumbbell(1, q)
		v = d.connect(cfg, 1)
		d.filter.drop = func(seq int64, again bool) bool { return seq == 19*1448 && !again }
		took := d.took(v, 20*1448)
		// The total time is that of the segment's way to the receiver, the acknowledgement's way
		// back, the timeout, and the way of the last segment.
		const segment = time.Duration(wire * 8 / 10) // nanoseconds at 10 Gbit/s
		if want := before + 100*time.Microsecond + least + segment + 100*time.Microsecond; took-want < -time.Microsecond || took-want > time.Microsecond {
			t.Errorf("%v instead of %v", took, want)
		}
		if s := v.from.Stats; s.Timeouts != 1 || s.Retransmitted != 1 {
			t.Errorf("%+v", s)
		}
	}
}

// A tail loss probe repairs the loss long before the timeout. When later data is acknowledged, the
// loss counts as a congestion signal. An unnecessary probe does not.
func TestTailLossProbe(t *testing.T) {
	cfg := known(modern(Cubic), 10*ms)
	d := newDumbbell(1, net.Quality{Rate: 1000 * mbit, Delay: 5 * ms, Queue: 1 << 20})
	v := d.connect(cfg, 1)
	d.filter.drop = func(seq int64, again bool) bool { return seq == 19*1448 && !again }
	took := d.took(v, 20*1448)
	d.e.Run(time.Second, nil)
	if s := v.from.Stats; s.Timeouts != 0 || s.Probes != 1 || s.Retransmitted != 1 {
		t.Errorf("%+v", s)
	}
	if took > 60*ms {
		t.Errorf("took %v", took)
	}
	d.took(v, 1448)
	d.e.Run(time.Second, nil)
	cwnd, ssthresh := v.from.Window()
	if cwnd < ssthresh || cwnd > ssthresh+1448 || cwnd > 25*1448 {
		t.Errorf("window %d, threshold %d", cwnd, ssthresh)
	}
	d = newDumbbell(1, net.Quality{Rate: 1000 * mbit, Delay: 50 * ms, Queue: 1 << 20})
	v = d.connect(cfg, 1) // the real round trip is ten times the configured one
	d.took(v, 10*1448)
	d.e.Run(time.Second, nil)
	d.took(v, 1448)
	d.e.Run(time.Second, nil)
	if s := v.from.Stats; s.Probes != 1 || v.to.Stats.Duplicates != 1 || s.Retransmitted != 1 {
		t.Errorf("%+v", s)
	}
	if _, ssthresh := v.from.Window(); ssthresh != cfg.Window {
		t.Errorf("threshold %d after a probe that was not needed", ssthresh)
	}
}

// If the probe is lost too, the timeout is counted from the probe. For a single segment, there is
// no probe as long as the receiver may delay the acknowledgement.
func TestTimeoutAfterProbe(t *testing.T) {
	cfg := known(modern(Cubic), 10*ms)
	cfg.QuickAcks = 0
	d := newDumbbell(1, net.Quality{Delay: 5 * ms})
	v := d.connect(cfg, 1)
	var at []time.Duration
	d.filter.drop = func(int64, bool) bool {
		at = append(at, d.e.Since())
		return len(at) < 3
	}
	d.took(v, 1000)
	d.e.Run(time.Second, nil)
	probe := 2*10*ms + 2*cfg.Granularity + cfg.AckDelay
	if len(at) != 3 || at[1] != probe || at[2] != probe+cfg.MinRTO {
		t.Errorf("sent at %v", at)
	}
	d.took(v, 1000)
	d.e.Run(time.Second, nil)
	if s := v.from.Stats; s.Probes != 1 || v.to.Stats.Duplicates != 0 {
		t.Errorf("%+v", s)
	}
}

// Some packets overtake others by less than a quarter of the round trip. With RACK they cause a few
// retransmissions, until RACK has detected reordering. A sender that counts segments reduces its
// window for each of them. A real loss among them is still detected.
func TestReordering(t *testing.T) {
	var again [2]uint64
	for i, cfg := range []Config{classic(Cubic), modern(Cubic)} {
		d := newDumbbell(1, net.Quality{Rate: 100 * mbit, Delay: 20 * ms, Queue: 1 << 20, Reorder: 0.01, HoldMost: 8 * ms})
		v := d.connect(known(cfg, 40*ms), 1)
		d.filter.drop = func(seq int64, again bool) bool { return cfg.RACK && seq%(500*1448) == 499*1448 && !again }
		d.took(v, 2000*1448)
		again[i] = v.from.Stats.Retransmitted
		if s := v.from.Stats; s.Spurious == 0 || s.Timeouts != 0 {
			t.Errorf("rack=%v: %+v", cfg.RACK, s)
		}
	}
	if again[0] < 10 || again[1] < 4 || again[1] > 7 {
		t.Errorf("sent again: %d, with RACK %d", again[0], again[1])
	}
}

// If the network drops everything, the first retransmission is sent after the minimum timeout, the
// second after twice that time, and so on.
func TestBackoff(t *testing.T) {
	cfg := known(classic(Cubic), ms)
	cfg.MinRTO, cfg.MaxRTO = 50*ms, 2*time.Second
	d := newDumbbell(1, net.Quality{Delay: ms})
	v := d.connect(cfg, 1)
	var at []time.Duration
	d.filter.drop = func(int64, bool) bool {
		at = append(at, d.e.Since())
		return true
	}
	v.from.Write(1000)
	d.e.Run(10*time.Second, nil)
	wait := cfg.MinRTO
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] != wait {
			t.Errorf("repetition %d after %v, want %v", i, at[i]-at[i-1], wait)
		}
		wait = min(2*wait, cfg.MaxRTO)
	}
	if len(at) < 8 {
		t.Errorf("%d transmissions", len(at))
	}
}

// If a path pauses for longer than the timeout, the reduction is soon undone, because the
// timestamps show that nothing was lost.
func TestSpuriousTimeoutIsTakenBack(t *testing.T) {
	cfg := known(classic(Reno), 10*ms)
	cfg.MinRTO = 50 * ms
	d := newDumbbell(1, net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 1 << 20})
	v := d.connect(cfg, 1)
	d.e.After(100*ms, func() { d.there.Delay += 150 * ms })
	v.from.Write(1 << 30)
	d.e.Run(99*ms, nil)
	before, _ := v.from.Window()
	d.e.Run(300*ms, nil)
	after, _ := v.from.Window()
	if s := v.from.Stats; s.Timeouts == 0 || s.Spurious == 0 || after < before {
		t.Errorf("window %d, then %d; %+v", before, after, s)
	}
}

// The receiver acknowledges every second segment, or a single one after the delay. At the beginning
// it acknowledges every segment.
func TestDelayedAcknowledgements(t *testing.T) {
	cfg := known(Linux(), 10*ms)
	cfg.TLP = false
	d := newDumbbell(1, net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 1 << 20})
	v := d.connect(cfg, 1)
	d.took(v, 16*1448)
	if got := v.to.Stats.Acks; got != 16 {
		t.Errorf("%d of 16 acknowledged at once", got)
	}
	d.took(v, 20*1448)
	if got := v.to.Stats.Acks; got != 26 {
		t.Errorf("%d acknowledgements after 20 segments more", got)
	}
	d.took(v, 1)
	arrived := d.e.Now()
	d.e.Run(time.Second, func() bool { return v.to.Stats.Acks == 27 })
	if got := d.e.Now().Sub(arrived); got != cfg.AckDelay {
		t.Errorf("the last segment was acknowledged after %v", got)
	}
}

// The handshake takes a round trip, and a second more if the SYN is lost.
func TestHandshake(t *testing.T) {
	cfg := Linux()
	cfg.Handshake, cfg.Jitter = true, 0
	q := net.Quality{Delay: 5 * ms}
	d := newDumbbell(1, q)
	v := d.connect(cfg, 1)
	if got := d.took(v, 1000); got != 15*ms {
		t.Errorf("%v", got)
	}
	if v.from.SmoothedRTT() != int64(10*ms) || v.to.SmoothedRTT() != int64(10*ms) {
		t.Errorf("round trips %d and %d", v.from.SmoothedRTT(), v.to.SmoothedRTT())
	}
	for _, cable := range []func(*dumbbell) *net.Link{
		func(d *dumbbell) *net.Link { return d.there },
		func(d *dumbbell) *net.Link { return d.back },
	} {
		d = newDumbbell(1, q)
		v = d.connect(cfg, 1)
		cable(d).Fail()
		d.e.After(100*ms, cable(d).Restore)
		if got := d.took(v, 1000); got != time.Second+15*ms {
			t.Errorf("with a lost SYN or answer: %v", got)
		}
	}
}

// After an idle time, the window is the initial window again. CUBIC's curve continues from its
// previous position.
func TestIdleRestart(t *testing.T) {
	for _, keep := range []bool{false, true} {
		cfg := known(Linux(), 10*ms)
		cfg.KeepWindow = keep
		d := newDumbbell(1, net.Quality{Rate: 1000 * mbit, Delay: 5 * ms, Queue: 1 << 22})
		v := d.connect(cfg, 1)
		d.took(v, 300*1448)
		curve := v.from.ctl.(*cubic)
		curve.epoch = d.e.Now()
		sent, epoch := v.from.sentAt, curve.epoch
		d.e.Run(5*time.Second, nil)
		before, _ := v.from.Window()
		v.from.Write(1448)
		if got, want := curve.epoch.Sub(epoch), d.e.Now().Sub(sent); got != want {
			t.Errorf("the curve went on %v later, not %v", got, want)
		}
		after, _ := v.from.Window()
		if before < 100*1448 || keep != (after == before) || !keep && after != 10*1448 {
			t.Errorf("keep=%v: window %d, then %d", keep, before, after)
		}
	}
}

// Both ends may write, and the callbacks report each end's progress.
func TestBothDirections(t *testing.T) {
	d := newDumbbell(1, net.Quality{Rate: 100 * mbit, Delay: 5 * ms, Queue: 1 << 20, Loss: 0.01})
	v := d.connect(known(Linux(), 10*ms), 1)
	var acked, received [2]int64
	for i, c := range []*Conn{v.from, v.to} {
		c.Acked = func(n int64) { acked[i] = n }
		c.Received = func(n int64) { received[i] = n }
		c.Write(1_000_000)
	}
	d.e.Run(time.Minute, nil)
	if want := [2]int64{1_000_000, 1_000_000}; acked != want || received != want {
		t.Errorf("acknowledged %v, received %v", acked, received)
	}
}

// A connection over IPv6 has longer headers and shorter segments.
func TestSizes(t *testing.T) {
	cfg := Linux()
	cfg.complete(netip.MustParseAddrPort("[2001:db8::1]:1"), 0)
	if cfg.MSS != 1428 {
		t.Errorf("MSS %d", cfg.MSS)
	}
	cfg = Linux()
	cfg.complete(netip.MustParseAddrPort("10.0.0.1:1"), 0)
	if cfg.MSS != 1448 {
		t.Errorf("MSS %d", cfg.MSS)
	}
	c := &Conn{remote: netip.MustParseAddrPort("10.0.0.1:1")}
	if n := c.length(&header{size: 1448}); n != 1500 {
		t.Errorf("full segment: %d bytes", n)
	}
	if n := c.length(&header{blocks: 3}); n != 20+20+12+28 {
		t.Errorf("acknowledgement with three blocks: %d bytes", n)
	}
}
