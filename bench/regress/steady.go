package regress

import (
	"errors"
	"fmt"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/linkemu"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

var (
	firstDelay = figure{name: "first 2 s of load, longest delay", unit: "ms", lower: true}
	firstLost  = figure{name: "first 2 s of load, lost", unit: "of 10,000", lower: true, count: true}
	flapDelay  = figure{name: "a flapping link, longest delay", unit: "ms", lower: true}
	flapLost   = figure{name: "a flapping link, lost", unit: "of 30,000", lower: true, count: true}
	flapOrder  = figure{name: "a flapping link, out of order", unit: "of 30,000", lower: true, count: true}
)

const (
	steadyDelay = 5 * time.Millisecond // delay of each link in each direction
	steadyRest  = 2 * time.Second      // idle time before the load begins
	steadyFirst = 2 * time.Second
	flaps       = 10
	flapTime    = 300 * time.Millisecond // a spine is down for this time, and then up for this time
)

var steady = scene{
	name: "steady", says: "64 UDP flows, 5,000 packets/s, over four links of 5 ms: the first two seconds, then a link that flaps",
	figures: []figure{firstDelay, firstLost, flapDelay, flapLost, flapOrder},
	measure: func(r *run) error {
		f, err := r.network(fabric.Spec{Lines: true, Addrs: 4})
		if err != nil {
			return err
		}
		if err := r.delay(f, steadyDelay); err != nil {
			return err
		}
		if _, err := r.pair(f.A(1), f.B(1), tunnel.Config{}); err != nil {
			return err
		}
		time.Sleep(steadyRest)
		first, err := underLoad(f, func() error { time.Sleep(steadyFirst); return nil })
		if err != nil {
			return err
		}
		second, err := underLoad(f, func() error { return flap(f) })
		if err != nil {
			return err
		}
		r.set(firstDelay, first.oldest.Seconds()*1e3)
		r.set(firstLost, float64(first.lost))
		r.set(flapDelay, second.oldest.Seconds()*1e3)
		r.set(flapLost, float64(second.lost))
		r.set(flapOrder, float64(second.disordered))
		return nil
	},
}

// underLoad runs the UDP load, calls the function happens() meanwhile, and returns the packet
// counts of the load.
func underLoad(f *fabric.Fabric, happens func() error) (record, error) {
	load, err := startSteady(f.A(1), f.B(1))
	if err != nil {
		return record{}, err
	}
	defer load.close()
	err = happens()
	return load.rest(), err
}

// flap lets one spine fail and recover repeatedly.
func flap(f *fabric.Fabric) error {
	for range flaps {
		if err := f.Break(2); err != nil {
			return err
		}
		time.Sleep(flapTime)
		if err := f.Heal(); err != nil {
			return err
		}
		time.Sleep(flapTime)
	}
	return nil
}

// delay adds a one-way delay to both directions of each cable between leaf A and a spine.
func (r *run) delay(f *fabric.Fabric, d time.Duration) error {
	for i, n := range f.Lines {
		var lines [2]*linkemu.Line
		for k := range lines {
			var err error
			if lines[k], err = linkemu.NewLine(uint64(2*i+k+1), linkemu.Impairment{Delay: d}); err != nil {
				return err
			}
		}
		var c *linkemu.Cable
		join := func() (err error) { c, err = linkemu.Join("left", "right", lines[0], lines[1]); return err }
		if err := n.Do(join); err != nil {
			return errors.Join(fmt.Errorf("line %d", i+1), err)
		}
		r.atEnd(c.Close)
	}
	return f.Warm()
}
