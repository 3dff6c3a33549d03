package drill

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// replay records all packets of a session, including handshakes. Afterwards, the drill sends the
// recorded packets again and again while the session continues.
func replay(r *run) error {
	d, err := r.direct()
	if err != nil {
		return err
	}
	tape, err := record(d)
	if err != nil {
		return err
	}
	r.later(tape.close)
	if _, err := r.pair(d.A, d.B, tunnel.Config{}); err != nil {
		return err
	}
	s, err := r.stream(d.A, d.B)
	if err != nil {
		return err
	}
	// A minute of replay sends sixty times the number of packets that were recorded.
	time.Sleep(r.pick(5*time.Second, time.Minute))
	tape.stop()
	from, packets := time.Now(), 0
	times := int(r.pick(20, 60))
	for range times {
		n, err := tape.play()
		packets += n
		if err != nil {
			return err
		}
	}
	took := time.Since(from)
	fmt.Fprintf(r.Log, "replay: %d packets in %.1f s\n", packets, took.Seconds())
	r.least("packets replayed", float64(packets), float64(times)*100, "")
	r.within("longest pause of the traffic", s.LongestGap(from, time.Now()), maxMove)
	time.Sleep(time.Second)
	r.whole(s)
	return nil
}

const (
	// garbageRate is the rate of random packets in packets per second. A link of 100 Mbit/s can
	// carry 100,000 small packets per second.
	garbageRate = 100_000
	// garbageShare is the share of its goodput that a flow must keep beside random packets.
	garbageShare = 0.9
)

// garbage sends random packets from a host next to the receiver, over links that the flow does
// not use.
func garbage(r *run) error {
	f, err := r.fabric(fabric.Spec{HostsB: 2})
	if err != nil {
		return err
	}
	if _, err := r.pair(f.A(1), f.B(1), tunnel.Config{}); err != nil {
		return err
	}
	each := r.pick(5*time.Second, 10*time.Second)
	sent := 0
	shares, err := r.beside(f, each, func() error {
		n, err := flood(f.B(2), f.B(1).Addr4(), each)
		sent = n
		return err
	})
	if err != nil {
		return err
	}
	r.least("packets of nonsense a second", float64(sent)/each.Seconds(), garbageRate*0.8, "")
	r.least("goodput beside it, share of before and after", shares[0], garbageShare, "")
	return nil
}

// beside runs a TCP flow from A to B, and meanwhile calls functions one after another. Each share
// in the result is the goodput during a function, divided by the mean before and after it. The
// speed of a machine varies, so beside compares only neighbouring periods.
func (r *run) beside(f *fabric.Fabric, each time.Duration, things ...func() error) (shares []float64, err error) {
	const begin = 2 * time.Second // slow start
	lasts := begin + time.Duration(2*len(things)+2)*each
	flow, err := meter.Start(meter.Flow{Client: f.A(1), Server: f.B(1), To: tunnel.Inner4(2), For: lasts})
	if err != nil {
		return nil, err
	}
	r.later(func() error { flow.Stop(); return nil })
	for flow.Elapsed() < begin {
		time.Sleep(10 * time.Millisecond)
	}
	times := []time.Duration{flow.Elapsed()}
	for _, do := range append(things, nil) {
		time.Sleep(each)
		times = append(times, flow.Elapsed())
		if do == nil {
			break
		}
		if err := do(); err != nil {
			return nil, err
		}
		times = append(times, flow.Elapsed())
	}
	if err := flow.Wait(); err != nil {
		return nil, err
	}
	mean := func(i int) float64 { return flow.Sum().Mean(times[i], times[i+1]) }
	for i := 1; i+2 < len(times); i += 2 {
		shares = append(shares, 2*mean(i)/(mean(i-1)+mean(i+1)))
		fmt.Fprintf(r.Log, "%s: %.0f Mbit/s, %.0f, %.0f\n", r.drill, mean(i-1)/1e6, mean(i)/1e6, mean(i+1)/1e6)
	}
	return shares, nil
}
