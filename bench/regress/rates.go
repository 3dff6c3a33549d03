package regress

import (
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	rateTime = 3 * time.Second // for nine tenths of this time the flows are past slow start
	ratePort = 7300
)

// rateOf is a measurement with a given number of flows. It has two metrics: the rate and the
// processor time.
type rateOf struct {
	flows     int
	rate, cpu figure
}

// measureRates runs each measurement with its number of flows, and sets both metrics.
func measureRates(r *run, a, b *fabric.Host, all []rateOf, during time.Duration) error {
	for _, x := range all {
		got, err := sendAll([]*fabric.Host{a}, b, netip.AddrPortFrom(tunnel.Inner4(2), ratePort), x.flows, during)
		if err != nil {
			return err
		}
		r.set(x.rate, got.mbps())
		r.set(x.cpu, got.cpuPerGB())
	}
	return nil
}

func figuresOf(all []rateOf, more ...figure) (v []figure) {
	for _, x := range all {
		v = append(v, x.rate, x.cpu)
	}
	return append(v, more...)
}

var spineRates = []rateOf{
	{1, figure{name: "4 x 100, one flow", unit: "Mbit/s"}, figure{name: "4 x 100, one flow, CPU", unit: "s/GB", lower: true}},
	{8, figure{name: "4 x 100, 8 flows", unit: "Mbit/s"}, figure{name: "4 x 100, 8 flows, CPU", unit: "s/GB", lower: true}},
}

var spines = scene{
	name: "spines", says: "TCP over four spines of 100 Mbit/s", quick: true,
	figures: figuresOf(spineRates),
	measure: func(r *run) error {
		f, err := r.tunnelled(fabric.Spec{})
		if err != nil {
			return err
		}
		return measureRates(r, f.A(1), f.B(1), spineRates, rateTime)
	},
}

var manyRates = []rateOf{
	{200, figure{name: "4 x 100, 200 flows", unit: "Mbit/s"}, figure{name: "4 x 100, 200 flows, CPU", unit: "s/GB", lower: true}},
}

const (
	manyTime = 1500 * time.Millisecond
	// manyRest is how long the benchmark waits after a measurement, until queues are empty.
	manyRest = 100 * time.Millisecond
)

var many = scene{
	name: "many", says: "200 TCP flows at once over four spines of 100 Mbit/s", quick: true,
	figures: figuresOf(manyRates), rounds: 3,
	stand: func(r *run) (func() error, error) {
		f, err := r.tunnelled(fabric.Spec{})
		return func() error {
			defer time.Sleep(manyRest)
			return measureRates(r, f.A(1), f.B(1), manyRates, manyTime)
		}, err
	},
}

var (
	vethRates = []rateOf{
		{1, figure{name: "veth, one flow", unit: "Mbit/s"}, figure{name: "veth, one flow, CPU", unit: "s/GB", lower: true}},
		{8, figure{name: "veth, 8 flows", unit: "Mbit/s"}, figure{name: "veth, 8 flows, CPU", unit: "s/GB", lower: true}},
	}
	smallPackets = figure{name: "64-byte UDP", unit: "1,000/s"}
)

const (
	vethTime = 2 * time.Second
	// smallBytes is the payload of a small packet, in bytes.
	smallBytes = 64
)

var veth = scene{
	name: "veth", says: "one veth with packets of MTU size: TCP, small packets", quick: true,
	figures: figuresOf(vethRates, smallPackets),
	measure: func(r *run) error {
		d, _, err := r.tunnelledVeth()
		if err != nil {
			return err
		}
		if err := measureRates(r, d.A, d.B, vethRates, vethTime); err != nil {
			return err
		}
		t, err := meter.Iperf(d.B, d.A, tunnel.Inner4(2), "-u", "-l", "64", "-b", "0", "-t", "2", "-i", "0")
		if err != nil {
			return err
		}
		r.set(smallPackets, t.Forward/8/smallBytes/1e3)
		return nil
	},
}
